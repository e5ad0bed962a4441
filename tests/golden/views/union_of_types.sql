-- The sides are cast to the common type, so that a delta of one side has the type of the whole.
-- changes: r insert delete
SELECT a AS x FROM r UNION ALL SELECT c FROM s

-- generated --------------------------------------------------------------------------
-- bag extent, by x
SELECT
  `q`.`x_2` AS `x`
FROM (
  SELECT
    CAST(`r`.`a` AS BIGINT) AS `x_2`
  FROM `after`.`r` AS `r`
  UNION ALL
  SELECT
    `s`.`c` AS `x_2`
  FROM `after`.`s` AS `s`
) AS `q`;

-- readers
SELECT
  `__extent`.`x` AS `x`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_2`.`x` AS `x`,
  `q_2`.`__count` AS `__count`
FROM (
  SELECT
    `q`.`x_2` AS `x`,
    SUM(`q`.`__count`) AS `__count`
  FROM (
    SELECT
      CAST(`r`.`a` AS BIGINT) AS `x_2`,
      `r`.`__count` AS `__count`
    FROM `delta`.`r` AS `r`
  ) AS `q`
  GROUP BY
    `q`.`x_2`
) AS `q_2`
WHERE
  `q_2`.`__count` <> 0;

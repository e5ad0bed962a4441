-- Each changed side is a term; the other side is not read.
-- changes: r insert delete
SELECT a AS x FROM r UNION ALL SELECT b FROM s UNION ALL SELECT b FROM r

-- generated --------------------------------------------------------------------------
-- bag extent, by x
SELECT
  `q`.`x_2` AS `x`
FROM (
  SELECT
    `r`.`a` AS `x_2`
  FROM `after`.`r` AS `r`
  UNION ALL
  SELECT
    `s`.`b` AS `x_2`
  FROM `after`.`s` AS `s`
  UNION ALL
  SELECT
    `r_2`.`b` AS `x_2`
  FROM `after`.`r` AS `r_2`
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
      `r`.`a` AS `x_2`,
      `r`.`__count` AS `__count`
    FROM `delta`.`r` AS `r`
    UNION ALL
    SELECT
      `r_2`.`b` AS `x_2`,
      `r_2`.`__count` AS `__count`
    FROM `delta`.`r` AS `r_2`
  ) AS `q`
  GROUP BY
    `q`.`x_2`
) AS `q_2`
WHERE
  `q_2`.`__count` <> 0;

-- Kept by counts: a row goes when its last copy goes.
-- changes: r insert delete
SELECT DISTINCT a FROM r

-- generated --------------------------------------------------------------------------
-- aggregate extent, by a_3
SELECT
  `q`.`a_3` AS `a_3`,
  `q`.`__count` AS `__count`
FROM (
  SELECT
    `r`.`a` AS `a_3`,
    COUNT(*) AS `__count`
  FROM `after`.`r` AS `r`
  GROUP BY
    `r`.`a`
) AS `q`;

-- readers
SELECT
  `__extent`.`a_3` AS `a`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q`.`a_3` AS `a_3`,
  COALESCE(`q`.`__count`, 0) AS `__count`
FROM (
  SELECT
    `r`.`a` AS `a_3`,
    SUM(`r`.`__count`) AS `__count`
  FROM `delta`.`r` AS `r`
  GROUP BY
    `r`.`a`
) AS `q`
WHERE
  `q`.`__count` <> 0;

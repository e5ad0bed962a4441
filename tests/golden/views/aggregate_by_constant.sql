-- A constant key must not look like a position.
-- changes: r insert delete
SELECT 1 AS one, -2 AS two, a + 1 AS k, COUNT(*) AS n FROM r GROUP BY 1, 2, 3

-- generated --------------------------------------------------------------------------
-- aggregate extent, by k, k_2, k_3
SELECT
  `q`.`k` AS `k`,
  `q`.`k_2` AS `k_2`,
  `q`.`k_3` AS `k_3`,
  `q`.`__count` AS `__count`
FROM (
  SELECT
    COALESCE(1, 1) AS `k`,
    COALESCE(-2, -2) AS `k_2`,
    `r`.`a` + 1 AS `k_3`,
    COUNT(*) AS `__count`
  FROM `after`.`r` AS `r`
  GROUP BY
    COALESCE(1, 1),
    COALESCE(-2, -2),
    `r`.`a` + 1
) AS `q`;

-- readers
SELECT
  1 AS `one`,
  `__extent`.`k_2` AS `two`,
  `__extent`.`k_3` AS `k`,
  `__extent`.`__count` AS `n`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q`.`k` AS `k`,
  `q`.`k_2` AS `k_2`,
  `q`.`k_3` AS `k_3`,
  COALESCE(`q`.`__count`, 0) AS `__count`
FROM (
  SELECT
    COALESCE(1, 1) AS `k`,
    COALESCE(-2, -2) AS `k_2`,
    `r`.`a` + 1 AS `k_3`,
    SUM(`r`.`__count`) AS `__count`
  FROM `delta`.`r` AS `r`
  GROUP BY
    COALESCE(1, 1),
    COALESCE(-2, -2),
    `r`.`a` + 1
) AS `q`
WHERE
  `q`.`__count` <> 0;

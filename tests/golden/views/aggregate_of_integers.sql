-- AVG of integers sums decimals, which cannot overflow.
-- changes: r insert delete
SELECT a, SUM(b) AS total, AVG(b) AS average FROM r GROUP BY a

-- generated --------------------------------------------------------------------------
-- aggregate extent, by a_2
SELECT
  `q`.`a_2` AS `a_2`,
  `q`.`__count` AS `__count`,
  `q`.`__n_sum_b` AS `__n_sum_b`,
  COALESCE(`q`.`__sum_sum_b`, 0) AS `__sum_sum_b`,
  COALESCE(`q`.`__sum_avg_b`, 0) AS `__sum_avg_b`
FROM (
  SELECT
    `r`.`a` AS `a_2`,
    COUNT(*) AS `__count`,
    COUNT(`r`.`b`) AS `__n_sum_b`,
    SUM(`r`.`b`) AS `__sum_sum_b`,
    SUM(CAST(`r`.`b` AS DECIMAL(20, 0))) AS `__sum_avg_b`
  FROM `after`.`r` AS `r`
  GROUP BY
    `r`.`a`
) AS `q`;

-- readers
SELECT
  `__extent`.`a_2` AS `a`,
  CASE
    WHEN `__extent`.`__n_sum_b` = 0
    THEN NULL
    ELSE CAST(`__extent`.`__sum_sum_b` AS BIGINT)
  END AS `total`,
  CASE
    WHEN `__extent`.`__n_sum_b` = 0
    THEN NULL
    ELSE CAST(CAST(`__extent`.`__sum_avg_b` AS DOUBLE) / CAST(`__extent`.`__n_sum_b` AS DOUBLE) AS DOUBLE)
  END AS `average`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q`.`a_2` AS `a_2`,
  COALESCE(`q`.`__count`, 0) AS `__count`,
  COALESCE(`q`.`__n_sum_b`, 0) AS `__n_sum_b`,
  COALESCE(`q`.`__sum_sum_b`, 0) AS `__sum_sum_b`,
  COALESCE(`q`.`__sum_avg_b`, 0) AS `__sum_avg_b`
FROM (
  SELECT
    `r`.`a` AS `a_2`,
    SUM(`r`.`__count`) AS `__count`,
    SUM(IF(`r`.`b` IS NULL, 0, `r`.`__count`)) AS `__n_sum_b`,
    SUM(IF(`r`.`__count` < 0, -`r`.`b`, `r`.`b`)) AS `__sum_sum_b`,
    SUM(
      IF(`r`.`__count` < 0, -CAST(`r`.`b` AS DECIMAL(20, 0)), CAST(`r`.`b` AS DECIMAL(20, 0)))
    ) AS `__sum_avg_b`
  FROM `delta`.`r` AS `r`
  GROUP BY
    `r`.`a`
) AS `q`
WHERE
  `q`.`__count` <> 0
  OR `q`.`__n_sum_b` <> 0
  OR `q`.`__sum_sum_b` <> 0
  OR `q`.`__sum_avg_b` <> 0;

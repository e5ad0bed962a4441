-- A global aggregate is one row, also over no rows.
-- changes: r insert delete
SELECT COUNT(*) AS n, SUM(b) AS total FROM r

-- generated --------------------------------------------------------------------------
-- aggregate extent, by nothing
SELECT
  `q`.`__count` AS `__count`,
  `q`.`__n_sum_b` AS `__n_sum_b`,
  COALESCE(`q`.`__sum_sum_b`, 0) AS `__sum_sum_b`
FROM (
  SELECT
    COUNT(*) AS `__count`,
    COUNT(`r`.`b`) AS `__n_sum_b`,
    SUM(`r`.`b`) AS `__sum_sum_b`
  FROM `after`.`r` AS `r`
) AS `q`;

-- readers
SELECT
  `__extent`.`__count` AS `n`,
  CASE
    WHEN `__extent`.`__n_sum_b` = 0
    THEN NULL
    ELSE CAST(`__extent`.`__sum_sum_b` AS BIGINT)
  END AS `total`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  COALESCE(`q`.`__count`, 0) AS `__count`,
  COALESCE(`q`.`__n_sum_b`, 0) AS `__n_sum_b`,
  COALESCE(`q`.`__sum_sum_b`, 0) AS `__sum_sum_b`
FROM (
  SELECT
    SUM(`r`.`__count`) AS `__count`,
    SUM(IF(`r`.`b` IS NULL, 0, `r`.`__count`)) AS `__n_sum_b`,
    SUM(IF(`r`.`__count` < 0, -`r`.`b`, `r`.`b`)) AS `__sum_sum_b`
  FROM `delta`.`r` AS `r`
) AS `q`
WHERE
  `q`.`__count` <> 0 OR `q`.`__n_sum_b` <> 0 OR `q`.`__sum_sum_b` <> 0;

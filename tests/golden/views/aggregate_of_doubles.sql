-- NaN and infinities are counted apart, because no subtraction undoes them.
-- changes: sales insert delete update
SELECT store, SUM(weight) AS weight FROM sales GROUP BY store

-- generated --------------------------------------------------------------------------
-- aggregate extent, by store_2
-- note RV-FLOAT-SUM
SELECT
  `q`.`store_2` AS `store_2`,
  `q`.`__count` AS `__count`,
  `q`.`__n_sum_weight` AS `__n_sum_weight`,
  `q`.`__nan_sum_weight` AS `__nan_sum_weight`,
  `q`.`__inf_sum_weight` AS `__inf_sum_weight`,
  `q`.`__neginf_sum_weight` AS `__neginf_sum_weight`,
  COALESCE(`q`.`__sum_sum_weight`, 0) AS `__sum_sum_weight`
FROM (
  SELECT
    `sales`.`store` AS `store_2`,
    COUNT(*) AS `__count`,
    COUNT(`sales`.`weight`) AS `__n_sum_weight`,
    COUNT(IF(CAST(`sales`.`weight` AS DOUBLE) = CAST('NaN' AS DOUBLE), 1, NULL)) AS `__nan_sum_weight`,
    COUNT(IF(CAST(`sales`.`weight` AS DOUBLE) = CAST('Infinity' AS DOUBLE), 1, NULL)) AS `__inf_sum_weight`,
    COUNT(IF(CAST(`sales`.`weight` AS DOUBLE) = CAST('-Infinity' AS DOUBLE), 1, NULL)) AS `__neginf_sum_weight`,
    SUM(
      IF(
        CAST(`sales`.`weight` AS DOUBLE) = CAST('NaN' AS DOUBLE)
        OR CAST(`sales`.`weight` AS DOUBLE) = CAST('Infinity' AS DOUBLE)
        OR CAST(`sales`.`weight` AS DOUBLE) = CAST('-Infinity' AS DOUBLE),
        CAST(0 AS DOUBLE),
        CAST(`sales`.`weight` AS DOUBLE)
      )
    ) AS `__sum_sum_weight`
  FROM `after`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`;

-- readers
SELECT
  `__extent`.`store_2` AS `store`,
  CASE
    WHEN `__extent`.`__n_sum_weight` = 0
    THEN NULL
    ELSE CAST(CASE
      WHEN `__extent`.`__nan_sum_weight` > 0
      OR (
        `__extent`.`__inf_sum_weight` > 0 AND `__extent`.`__neginf_sum_weight` > 0
      )
      THEN CAST('NaN' AS DOUBLE)
      WHEN `__extent`.`__inf_sum_weight` > 0
      THEN CAST('Infinity' AS DOUBLE)
      WHEN `__extent`.`__neginf_sum_weight` > 0
      THEN CAST('-Infinity' AS DOUBLE)
      ELSE `__extent`.`__sum_sum_weight`
    END AS DOUBLE)
  END AS `weight`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q`.`store_2` AS `store_2`,
  COALESCE(`q`.`__count`, 0) AS `__count`,
  COALESCE(`q`.`__n_sum_weight`, 0) AS `__n_sum_weight`,
  COALESCE(`q`.`__nan_sum_weight`, 0) AS `__nan_sum_weight`,
  COALESCE(`q`.`__inf_sum_weight`, 0) AS `__inf_sum_weight`,
  COALESCE(`q`.`__neginf_sum_weight`, 0) AS `__neginf_sum_weight`,
  COALESCE(`q`.`__sum_sum_weight`, 0) AS `__sum_sum_weight`
FROM (
  SELECT
    `sales`.`store` AS `store_2`,
    SUM(`sales`.`__count`) AS `__count`,
    SUM(IF(`sales`.`weight` IS NULL, 0, `sales`.`__count`)) AS `__n_sum_weight`,
    SUM(
      IF(
        IF(CAST(`sales`.`weight` AS DOUBLE) = CAST('NaN' AS DOUBLE), 1, NULL) IS NULL,
        0,
        `sales`.`__count`
      )
    ) AS `__nan_sum_weight`,
    SUM(
      IF(
        IF(CAST(`sales`.`weight` AS DOUBLE) = CAST('Infinity' AS DOUBLE), 1, NULL) IS NULL,
        0,
        `sales`.`__count`
      )
    ) AS `__inf_sum_weight`,
    SUM(
      IF(
        IF(CAST(`sales`.`weight` AS DOUBLE) = CAST('-Infinity' AS DOUBLE), 1, NULL) IS NULL,
        0,
        `sales`.`__count`
      )
    ) AS `__neginf_sum_weight`,
    SUM(
      IF(
        `sales`.`__count` < 0,
        -IF(
          CAST(`sales`.`weight` AS DOUBLE) = CAST('NaN' AS DOUBLE)
          OR CAST(`sales`.`weight` AS DOUBLE) = CAST('Infinity' AS DOUBLE)
          OR CAST(`sales`.`weight` AS DOUBLE) = CAST('-Infinity' AS DOUBLE),
          CAST(0 AS DOUBLE),
          CAST(`sales`.`weight` AS DOUBLE)
        ),
        IF(
          CAST(`sales`.`weight` AS DOUBLE) = CAST('NaN' AS DOUBLE)
          OR CAST(`sales`.`weight` AS DOUBLE) = CAST('Infinity' AS DOUBLE)
          OR CAST(`sales`.`weight` AS DOUBLE) = CAST('-Infinity' AS DOUBLE),
          CAST(0 AS DOUBLE),
          CAST(`sales`.`weight` AS DOUBLE)
        )
      )
    ) AS `__sum_sum_weight`
  FROM `delta`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`
WHERE
  `q`.`__count` <> 0
  OR `q`.`__n_sum_weight` <> 0
  OR `q`.`__nan_sum_weight` <> 0
  OR `q`.`__inf_sum_weight` <> 0
  OR `q`.`__neginf_sum_weight` <> 0
  OR `q`.`__sum_sum_weight` <> 0;

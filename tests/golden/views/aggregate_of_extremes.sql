-- The change table tells which extremes were deleted; only their groups are re-derived.
-- changes: sales insert delete update
SELECT store, MIN(price) AS least, MAX(price) AS most, COUNT(*) AS n FROM sales GROUP BY store

-- generated --------------------------------------------------------------------------
-- aggregate extent, by store_2
SELECT
  `q`.`store_2` AS `store_2`,
  `q`.`__count` AS `__count`,
  `q`.`__n_min_price` AS `__n_min_price`,
  `q`.`__min_min_price` AS `__min_min_price`,
  `q`.`__max_max_price` AS `__max_max_price`
FROM (
  SELECT
    `sales`.`store` AS `store_2`,
    COUNT(*) AS `__count`,
    COUNT(`sales`.`price`) AS `__n_min_price`,
    MIN(`sales`.`price`) AS `__min_min_price`,
    MAX(`sales`.`price`) AS `__max_max_price`
  FROM `after`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`;

-- readers
SELECT
  `__extent`.`store_2` AS `store`,
  `__extent`.`__min_min_price` AS `least`,
  `__extent`.`__max_max_price` AS `most`,
  `__extent`.`__count` AS `n`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q`.`store_2` AS `store_2`,
  COALESCE(`q`.`__count`, 0) AS `__count`,
  COALESCE(`q`.`__n_min_price`, 0) AS `__n_min_price`,
  `q`.`__min_min_price` AS `__min_min_price`,
  `q`.`__max_max_price` AS `__max_max_price`,
  `q`.`__lost__min_min_price` AS `__lost__min_min_price`,
  `q`.`__lost__max_max_price` AS `__lost__max_max_price`
FROM (
  SELECT
    `sales`.`store` AS `store_2`,
    SUM(`sales`.`__count`) AS `__count`,
    SUM(IF(`sales`.`price` IS NULL, 0, `sales`.`__count`)) AS `__n_min_price`,
    MIN(IF(`sales`.`__count` > 0, `sales`.`price`, NULL)) AS `__min_min_price`,
    MAX(IF(`sales`.`__count` > 0, `sales`.`price`, NULL)) AS `__max_max_price`,
    MIN(IF(`sales`.`__count` < 0, `sales`.`price`, NULL)) AS `__lost__min_min_price`,
    MAX(IF(`sales`.`__count` < 0, `sales`.`price`, NULL)) AS `__lost__max_max_price`
  FROM `delta`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`
WHERE
  `q`.`__count` <> 0
  OR `q`.`__n_min_price` <> 0
  OR NOT `q`.`__min_min_price` IS NULL
  OR NOT `q`.`__max_max_price` IS NULL
  OR NOT `q`.`__lost__min_min_price` IS NULL
  OR NOT `q`.`__lost__max_max_price` IS NULL;

-- settled: the changed groups
SELECT
  `q_2`.`store_2` AS `store_2`,
  `q_2`.`__count` AS `__count`,
  `q_2`.`__n_min_price` AS `__n_min_price`,
  CASE WHEN `q_2`.`__n_min_price` = 0 THEN NULL ELSE `q_2`.`__min_min_price` END AS `__min_min_price`,
  CASE WHEN `q_2`.`__n_min_price` = 0 THEN NULL ELSE `q_2`.`__max_max_price` END AS `__max_max_price`,
  COALESCE(
    NOT `q_2`.`__n_min_price` = 0
    AND `q_2`.`__lost__min_min_price` = `q_2`.`__min_min_price`,
    FALSE
  )
  OR COALESCE(
    NOT `q_2`.`__n_min_price` = 0
    AND `q_2`.`__lost__max_max_price` = `q_2`.`__max_max_price`,
    FALSE
  ) AS `__suspect`
FROM (
  SELECT
    `q`.`store_2` AS `store_2`,
    SUM(`q`.`__count`) AS `__count`,
    SUM(`q`.`__n_min_price`) AS `__n_min_price`,
    MIN(`q`.`__min_min_price`) AS `__min_min_price`,
    MAX(`q`.`__max_max_price`) AS `__max_max_price`,
    MIN(`q`.`__lost__min_min_price`) AS `__lost__min_min_price`,
    MAX(`q`.`__lost__max_max_price`) AS `__lost__max_max_price`
  FROM (
    SELECT
      `__changed`.`store_2` AS `store_2`,
      `__changed`.`__count` AS `__count`,
      `__changed`.`__n_min_price` AS `__n_min_price`,
      `__changed`.`__min_min_price` AS `__min_min_price`,
      `__changed`.`__max_max_price` AS `__max_max_price`,
      `__changed`.`__lost__min_min_price` AS `__lost__min_min_price`,
      `__changed`.`__lost__max_max_price` AS `__lost__max_max_price`
    FROM `after`.`__changed` AS `__changed`
    UNION ALL
    SELECT
      `__extent`.`store_2` AS `store_2`,
      `__extent`.`__count` AS `__count`,
      `__extent`.`__n_min_price` AS `__n_min_price`,
      `__extent`.`__min_min_price` AS `__min_min_price`,
      `__extent`.`__max_max_price` AS `__max_max_price`,
      NULL AS `__lost__min_min_price`,
      NULL AS `__lost__max_max_price`
    FROM `__extent` AS `__extent`
    LEFT SEMI JOIN `after`.`__changed` AS `__changed_2`
      ON `__extent`.`store_2` IS NOT DISTINCT FROM `__changed_2`.`store_2`
  ) AS `q`
  GROUP BY
    `q`.`store_2`
) AS `q_2`;

-- fresh: the suspect groups
SELECT
  `q`.`store_2` AS `store_2`,
  `q`.`__count` AS `__count`,
  `q`.`__n_min_price` AS `__n_min_price`,
  `q`.`__min_min_price` AS `__min_min_price`,
  `q`.`__max_max_price` AS `__max_max_price`
FROM (
  SELECT
    `sales`.`store` AS `store_2`,
    COUNT(*) AS `__count`,
    COUNT(`sales`.`price`) AS `__n_min_price`,
    MIN(`sales`.`price`) AS `__min_min_price`,
    MAX(`sales`.`price`) AS `__max_max_price`
  FROM `after`.`sales` AS `sales`
  LEFT SEMI JOIN `after`.`__suspects` AS `__suspects`
    ON `sales`.`store` IS NOT DISTINCT FROM `__suspects`.`store_2`
  GROUP BY
    `sales`.`store`
) AS `q`;

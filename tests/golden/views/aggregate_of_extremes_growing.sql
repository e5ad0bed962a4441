-- Insertions alone can take no extreme away: LEAST and GREATEST, and nothing is re-derived.
-- changes: sales insert
SELECT store, MIN(price) AS least, MAX(price) AS most FROM sales GROUP BY store

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
  `__extent`.`__max_max_price` AS `most`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q`.`store_2` AS `store_2`,
  COALESCE(`q`.`__count`, 0) AS `__count`,
  COALESCE(`q`.`__n_min_price`, 0) AS `__n_min_price`,
  `q`.`__min_min_price` AS `__min_min_price`,
  `q`.`__max_max_price` AS `__max_max_price`
FROM (
  SELECT
    `sales`.`store` AS `store_2`,
    SUM(`sales`.`__count`) AS `__count`,
    SUM(IF(`sales`.`price` IS NULL, 0, `sales`.`__count`)) AS `__n_min_price`,
    MIN(IF(`sales`.`__count` > 0, `sales`.`price`, NULL)) AS `__min_min_price`,
    MAX(IF(`sales`.`__count` > 0, `sales`.`price`, NULL)) AS `__max_max_price`
  FROM `delta`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`
WHERE
  `q`.`__count` <> 0
  OR `q`.`__n_min_price` <> 0
  OR NOT `q`.`__min_min_price` IS NULL
  OR NOT `q`.`__max_max_price` IS NULL;

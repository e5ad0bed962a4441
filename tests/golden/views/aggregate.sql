-- States: the count of rows, and for each argument the count of its values and their sum.
-- changes: sales insert delete update
SELECT store, COUNT(*) AS sales, SUM(price) AS revenue, AVG(price) AS average, COUNT(price) AS priced
FROM sales GROUP BY store

-- generated --------------------------------------------------------------------------
-- aggregate extent, by store_2
SELECT
  `q`.`store_2` AS `store_2`,
  `q`.`__count` AS `__count`,
  `q`.`__n_sum_price` AS `__n_sum_price`,
  COALESCE(`q`.`__sum_sum_price`, 0) AS `__sum_sum_price`
FROM (
  SELECT
    `sales`.`store` AS `store_2`,
    COUNT(*) AS `__count`,
    COUNT(`sales`.`price`) AS `__n_sum_price`,
    SUM(`sales`.`price`) AS `__sum_sum_price`
  FROM `after`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`;

-- readers
SELECT
  `__extent`.`store_2` AS `store`,
  `__extent`.`__count` AS `sales`,
  CASE
    WHEN `__extent`.`__n_sum_price` = 0
    THEN NULL
    ELSE CAST(`__extent`.`__sum_sum_price` AS DECIMAL(20, 2))
  END AS `revenue`,
  CASE
    WHEN `__extent`.`__n_sum_price` = 0
    THEN NULL
    ELSE CAST(`__extent`.`__sum_sum_price` / CAST(`__extent`.`__n_sum_price` AS DECIMAL(20, 0)) AS DECIMAL(14, 6))
  END AS `average`,
  `__extent`.`__n_sum_price` AS `priced`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q`.`store_2` AS `store_2`,
  COALESCE(`q`.`__count`, 0) AS `__count`,
  COALESCE(`q`.`__n_sum_price`, 0) AS `__n_sum_price`,
  COALESCE(`q`.`__sum_sum_price`, 0) AS `__sum_sum_price`
FROM (
  SELECT
    `sales`.`store` AS `store_2`,
    SUM(`sales`.`__count`) AS `__count`,
    SUM(IF(`sales`.`price` IS NULL, 0, `sales`.`__count`)) AS `__n_sum_price`,
    SUM(IF(`sales`.`__count` < 0, -`sales`.`price`, `sales`.`price`)) AS `__sum_sum_price`
  FROM `delta`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`
WHERE
  `q`.`__count` <> 0 OR `q`.`__n_sum_price` <> 0 OR `q`.`__sum_sum_price` <> 0;

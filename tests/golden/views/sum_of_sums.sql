-- Gupta and Mumick's CitySales over SISales: one sum over the rows, as their change tables compose.
-- changes: sales insert delete update
WITH si_sales AS (SELECT store, item, SUM(price) AS total, COUNT(*) AS n FROM sales GROUP BY store, item)
SELECT city, SUM(total) AS total, SUM(n) AS n FROM si_sales JOIN stores ON si_sales.store = stores.id GROUP BY city

-- generated --------------------------------------------------------------------------
-- aggregate extent, by city_2
SELECT
  `q`.`city_2` AS `city_2`,
  `q`.`__count` AS `__count`,
  `q`.`__n_sum_total` AS `__n_sum_total`,
  COALESCE(`q`.`__sum_sum_total`, 0) AS `__sum_sum_total`
FROM (
  SELECT
    `stores`.`city` AS `city_2`,
    COUNT(*) AS `__count`,
    COUNT(`sales`.`price`) AS `__n_sum_total`,
    SUM(`sales`.`price`) AS `__sum_sum_total`
  FROM `after`.`sales` AS `sales`
  JOIN `after`.`stores` AS `stores`
    ON `sales`.`store` = `stores`.`id`
  GROUP BY
    `stores`.`city`
) AS `q`;

-- readers
SELECT
  `__extent`.`city_2` AS `city`,
  CAST(CASE
    WHEN `__extent`.`__n_sum_total` = 0
    THEN NULL
    ELSE CAST(`__extent`.`__sum_sum_total` AS DECIMAL(20, 2))
  END AS DECIMAL(30, 2)) AS `total`,
  CASE
    WHEN `__extent`.`__count` = 0
    THEN NULL
    ELSE CAST(`__extent`.`__count` * CAST(1 AS BIGINT) AS BIGINT)
  END AS `n`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q`.`city_2` AS `city_2`,
  COALESCE(`q`.`__count`, 0) AS `__count`,
  COALESCE(`q`.`__n_sum_total`, 0) AS `__n_sum_total`,
  COALESCE(`q`.`__sum_sum_total`, 0) AS `__sum_sum_total`
FROM (
  SELECT
    `stores`.`city` AS `city_2`,
    SUM(`sales`.`__count`) AS `__count`,
    SUM(IF(`sales`.`price` IS NULL, 0, `sales`.`__count`)) AS `__n_sum_total`,
    SUM(IF(`sales`.`__count` < 0, -`sales`.`price`, `sales`.`price`)) AS `__sum_sum_total`
  FROM `delta`.`sales` AS `sales`
  JOIN `after`.`stores` AS `stores`
    ON `sales`.`store` = `stores`.`id`
  GROUP BY
    `stores`.`city`
) AS `q`
WHERE
  `q`.`__count` <> 0 OR `q`.`__n_sum_total` <> 0 OR `q`.`__sum_sum_total` <> 0;

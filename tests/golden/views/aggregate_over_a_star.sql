-- The change table of a join: sales is read through its delta only.
-- changes: sales insert delete update, stores insert
SELECT t.city, SUM(s.price) AS revenue, COUNT(*) AS n
FROM sales s JOIN stores t ON s.store = t.id GROUP BY t.city

-- generated --------------------------------------------------------------------------
-- aggregate extent, by city_2
SELECT
  `q`.`city_2` AS `city_2`,
  `q`.`__count` AS `__count`,
  `q`.`__n_sum_price` AS `__n_sum_price`,
  COALESCE(`q`.`__sum_sum_price`, 0) AS `__sum_sum_price`
FROM (
  SELECT
    `stores`.`city` AS `city_2`,
    COUNT(*) AS `__count`,
    COUNT(`sales`.`price`) AS `__n_sum_price`,
    SUM(`sales`.`price`) AS `__sum_sum_price`
  FROM `after`.`sales` AS `sales`
  JOIN `after`.`stores` AS `stores`
    ON `sales`.`store` = `stores`.`id`
  GROUP BY
    `stores`.`city`
) AS `q`;

-- readers
SELECT
  `__extent`.`city_2` AS `city`,
  CASE
    WHEN `__extent`.`__n_sum_price` = 0
    THEN NULL
    ELSE CAST(`__extent`.`__sum_sum_price` AS DECIMAL(20, 2))
  END AS `revenue`,
  `__extent`.`__count` AS `n`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q`.`city_2` AS `city_2`,
  COALESCE(`q`.`__count`, 0) AS `__count`,
  COALESCE(`q`.`__n_sum_price`, 0) AS `__n_sum_price`,
  COALESCE(`q`.`__sum_sum_price`, 0) AS `__sum_sum_price`
FROM (
  SELECT
    `stores`.`city` AS `city_2`,
    SUM(`sales`.`__count`) AS `__count`,
    SUM(IF(`sales`.`price` IS NULL, 0, `sales`.`__count`)) AS `__n_sum_price`,
    SUM(IF(`sales`.`__count` < 0, -`sales`.`price`, `sales`.`price`)) AS `__sum_sum_price`
  FROM `delta`.`sales` AS `sales`
  JOIN `after`.`stores` AS `stores`
    ON `sales`.`store` = `stores`.`id`
  GROUP BY
    `stores`.`city`
) AS `q`
WHERE
  `q`.`__count` <> 0 OR `q`.`__n_sum_price` <> 0 OR `q`.`__sum_sum_price` <> 0;

-- A median has no update function: the changed groups are re-derived from what the tables hold after the span.
-- changes: sales insert delete update
SELECT city, MEDIAN(price) AS middle, SUM(price) AS total FROM sales JOIN stores ON sales.store = stores.id GROUP BY city

-- generated --------------------------------------------------------------------------
-- aggregate extent, by city_2
SELECT
  `q`.`city_2` AS `city_2`,
  `q`.`__count` AS `__count`,
  `q`.`__value_median` AS `__value_median`,
  `q`.`__n_sum_price` AS `__n_sum_price`,
  COALESCE(`q`.`__sum_sum_price`, 0) AS `__sum_sum_price`
FROM (
  SELECT
    `stores`.`city` AS `city_2`,
    COUNT(*) AS `__count`,
    MEDIAN(`sales`.`price`) AS `__value_median`,
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
  `__extent`.`__value_median` AS `middle`,
  CASE
    WHEN `__extent`.`__n_sum_price` = 0
    THEN NULL
    ELSE CAST(`__extent`.`__sum_sum_price` AS DECIMAL(20, 2))
  END AS `total`
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
) AS `q`;

-- settled: the changed groups
SELECT
  `q_2`.`city_2` AS `city_2`,
  `q_2`.`__count` AS `__count`,
  `q_2`.`__n_sum_price` AS `__n_sum_price`,
  `q_2`.`__sum_sum_price` AS `__sum_sum_price`,
  NOT `q_2`.`__count` = 0 AS `__suspect`
FROM (
  SELECT
    `q`.`city_2` AS `city_2`,
    SUM(`q`.`__count`) AS `__count`,
    SUM(`q`.`__n_sum_price`) AS `__n_sum_price`,
    SUM(`q`.`__sum_sum_price`) AS `__sum_sum_price`
  FROM (
    SELECT
      `__changed`.`city_2` AS `city_2`,
      `__changed`.`__count` AS `__count`,
      `__changed`.`__n_sum_price` AS `__n_sum_price`,
      `__changed`.`__sum_sum_price` AS `__sum_sum_price`
    FROM `after`.`__changed` AS `__changed`
    UNION ALL
    SELECT
      `__extent`.`city_2` AS `city_2`,
      `__extent`.`__count` AS `__count`,
      `__extent`.`__n_sum_price` AS `__n_sum_price`,
      `__extent`.`__sum_sum_price` AS `__sum_sum_price`
    FROM `__extent` AS `__extent`
    LEFT SEMI JOIN `after`.`__changed` AS `__changed_2`
      ON `__extent`.`city_2` IS NOT DISTINCT FROM `__changed_2`.`city_2`
  ) AS `q`
  GROUP BY
    `q`.`city_2`
) AS `q_2`;

-- fresh: the suspect groups
SELECT
  `q`.`city_2` AS `city_2`,
  `q`.`__count` AS `__count`,
  `q`.`__value_median` AS `__value_median`,
  `q`.`__n_sum_price` AS `__n_sum_price`,
  COALESCE(`q`.`__sum_sum_price`, 0) AS `__sum_sum_price`
FROM (
  SELECT
    `stores`.`city` AS `city_2`,
    COUNT(*) AS `__count`,
    MEDIAN(`sales`.`price`) AS `__value_median`,
    COUNT(`sales`.`price`) AS `__n_sum_price`,
    SUM(`sales`.`price`) AS `__sum_sum_price`
  FROM `after`.`sales` AS `sales`
  JOIN `after`.`stores` AS `stores`
    ON `sales`.`store` = `stores`.`id`
  LEFT SEMI JOIN `after`.`__suspects` AS `__suspects`
    ON `stores`.`city` IS NOT DISTINCT FROM `__suspects`.`city_2`
  GROUP BY
    `stores`.`city`
) AS `q`;

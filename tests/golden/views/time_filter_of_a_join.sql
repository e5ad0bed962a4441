-- Filters of several inputs meet the clock once, above the join, which keeps its foreign key.
-- changes: stores update, __clock insert delete
SELECT city, SUM(price) AS total
FROM (SELECT * FROM sales WHERE day > current_date) s
JOIN stores ON s.store = stores.id AND s.day BETWEEN curdate() AND now()
GROUP BY city

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
  LEFT SEMI JOIN `after`.`__clock` AS `__clock`
    ON `sales`.`day` >= `__clock`.`today`
    AND `sales`.`day` <= `__clock`.`now`
    AND `sales`.`day` > `__clock`.`today`
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
  END AS `total`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q_2`.`city_2` AS `city_2`,
  COALESCE(`q_2`.`__count`, 0) AS `__count`,
  COALESCE(`q_2`.`__n_sum_price`, 0) AS `__n_sum_price`,
  COALESCE(`q_2`.`__sum_sum_price`, 0) AS `__sum_sum_price`
FROM (
  SELECT
    `q`.`city` AS `city_2`,
    SUM(`q`.`__count`) AS `__count`,
    SUM(IF(`q`.`price` IS NULL, 0, `q`.`__count`)) AS `__n_sum_price`,
    SUM(IF(`q`.`__count` < 0, -`q`.`price`, `q`.`price`)) AS `__sum_sum_price`
  FROM (
    SELECT
      `sales`.`store` AS `store`,
      `sales`.`day` AS `day`,
      `sales`.`price` AS `price`,
      `stores`.`id` AS `id_3`,
      `stores`.`city` AS `city`,
      `stores`.`__count` AS `__count`
    FROM `updates`.`stores` AS `stores`
    JOIN `after`.`sales` AS `sales`
      ON `sales`.`store` = `stores`.`id`
    LEFT SEMI JOIN `after`.`__clock` AS `__clock`
      ON `sales`.`day` >= `__clock`.`today`
      AND `sales`.`day` <= `__clock`.`now`
      AND `sales`.`day` > `__clock`.`today`
    UNION ALL
    SELECT
      `sales_2`.`store` AS `store`,
      `sales_2`.`day` AS `day`,
      `sales_2`.`price` AS `price`,
      `stores_2`.`id` AS `id_3`,
      `stores_2`.`city` AS `city`,
      IF(
        `sales_2`.`day` >= `__clock_3`.`today`
        AND `sales_2`.`day` <= `__clock_3`.`now`
        AND `sales_2`.`day` > `__clock_3`.`today`,
        1,
        -1
      ) AS `__count`
    FROM `after`.`sales` AS `sales_2`
    JOIN `before`.`stores` AS `stores_2`
      ON `sales_2`.`store` = `stores_2`.`id`
    CROSS JOIN `before`.`__clock` AS `__clock_2`
    CROSS JOIN `after`.`__clock` AS `__clock_3`
    WHERE
      (
        `sales_2`.`day` >= `__clock_3`.`today`
        AND `sales_2`.`day` <= `__clock_3`.`now`
        AND `sales_2`.`day` > `__clock_3`.`today`
        AND (
          `sales_2`.`day` < `__clock_2`.`today`
          OR `sales_2`.`day` > `__clock_2`.`now`
          OR `sales_2`.`day` <= `__clock_2`.`today`
        )
      )
      OR (
        `sales_2`.`day` >= `__clock_2`.`today`
        AND `sales_2`.`day` <= `__clock_2`.`now`
        AND `sales_2`.`day` > `__clock_2`.`today`
        AND (
          `sales_2`.`day` < `__clock_3`.`today`
          OR `sales_2`.`day` > `__clock_3`.`now`
          OR `sales_2`.`day` <= `__clock_3`.`today`
        )
      )
  ) AS `q`
  GROUP BY
    `q`.`city`
) AS `q_2`
WHERE
  `q_2`.`__count` <> 0 OR `q_2`.`__n_sum_price` <> 0 OR `q_2`.`__sum_sum_price` <> 0;

-- A time window is a generator: the changed rows alone are put into theirs.
-- changes: sales insert delete
SELECT window.start AS week, store, SUM(price) AS total FROM sales GROUP BY window(day, '7 days'), store

-- generated --------------------------------------------------------------------------
-- aggregate extent, by window_2, store_2
SELECT
  `q_2`.`window_2` AS `window_2`,
  `q_2`.`store_2` AS `store_2`,
  `q_2`.`__count` AS `__count`,
  `q_2`.`__n_sum_price` AS `__n_sum_price`,
  COALESCE(`q_2`.`__sum_sum_price`, 0) AS `__sum_sum_price`
FROM (
  SELECT
    `q`.`window` AS `window_2`,
    `q`.`store` AS `store_2`,
    COUNT(*) AS `__count`,
    COUNT(`q`.`price`) AS `__n_sum_price`,
    SUM(`q`.`price`) AS `__sum_sum_price`
  FROM (
    SELECT
      `sales`.`store` AS `store`,
      `sales`.`day` AS `day`,
      `sales`.`price` AS `price`,
      WINDOW(`sales`.`day`, '7 days') AS `window`
    FROM `after`.`sales` AS `sales`
  ) AS `q`
  GROUP BY
    `q`.`window`,
    `q`.`store`
) AS `q_2`;

-- readers
SELECT
  (
    `__extent`.`window_2`.`start`
  ) AS `week`,
  `__extent`.`store_2` AS `store`,
  CASE
    WHEN `__extent`.`__n_sum_price` = 0
    THEN NULL
    ELSE CAST(`__extent`.`__sum_sum_price` AS DECIMAL(20, 2))
  END AS `total`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q_2`.`window_2` AS `window_2`,
  `q_2`.`store_2` AS `store_2`,
  COALESCE(`q_2`.`__count`, 0) AS `__count`,
  COALESCE(`q_2`.`__n_sum_price`, 0) AS `__n_sum_price`,
  COALESCE(`q_2`.`__sum_sum_price`, 0) AS `__sum_sum_price`
FROM (
  SELECT
    `q`.`window` AS `window_2`,
    `q`.`store` AS `store_2`,
    SUM(`q`.`__count`) AS `__count`,
    SUM(IF(`q`.`price` IS NULL, 0, `q`.`__count`)) AS `__n_sum_price`,
    SUM(IF(`q`.`__count` < 0, -`q`.`price`, `q`.`price`)) AS `__sum_sum_price`
  FROM (
    SELECT
      `sales`.`store` AS `store`,
      `sales`.`day` AS `day`,
      `sales`.`price` AS `price`,
      `sales`.`__count` AS `__count`,
      WINDOW(`sales`.`day`, '7 days') AS `window`
    FROM `delta`.`sales` AS `sales`
  ) AS `q`
  GROUP BY
    `q`.`window`,
    `q`.`store`
) AS `q_2`
WHERE
  `q_2`.`__count` <> 0 OR `q_2`.`__n_sum_price` <> 0 OR `q_2`.`__sum_sum_price` <> 0;

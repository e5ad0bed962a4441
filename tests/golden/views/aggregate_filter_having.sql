-- FILTER becomes CASE in the argument; HAVING is the reader's.
-- changes: sales insert delete update
SELECT store, SUM(price) FILTER (WHERE item = 1) AS tea, COUNT(*) AS n
FROM sales GROUP BY store HAVING COUNT(*) > 1

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
    COUNT(CASE WHEN (
      `sales`.`item` = 1
    ) THEN `sales`.`price` END) AS `__n_sum_price`,
    SUM(CASE WHEN (
      `sales`.`item` = 1
    ) THEN `sales`.`price` END) AS `__sum_sum_price`
  FROM `after`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`;

-- readers
SELECT
  `__extent`.`store_2` AS `store`,
  CASE
    WHEN `__extent`.`__n_sum_price` = 0
    THEN NULL
    ELSE CAST(`__extent`.`__sum_sum_price` AS DECIMAL(20, 2))
  END AS `tea`,
  `__extent`.`__count` AS `n`
FROM `__extent` AS `__extent`
WHERE
  `__extent`.`__count` > 1;

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
    SUM(
      IF(
        CASE WHEN (
          `sales`.`item` = 1
        ) THEN `sales`.`price` END IS NULL,
        0,
        `sales`.`__count`
      )
    ) AS `__n_sum_price`,
    SUM(
      IF(
        `sales`.`__count` < 0,
        -CASE WHEN (
          `sales`.`item` = 1
        ) THEN `sales`.`price` END,
        CASE WHEN (
          `sales`.`item` = 1
        ) THEN `sales`.`price` END
      )
    ) AS `__sum_sum_price`
  FROM `delta`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`
WHERE
  `q`.`__count` <> 0 OR `q`.`__n_sum_price` <> 0 OR `q`.`__sum_sum_price` <> 0;

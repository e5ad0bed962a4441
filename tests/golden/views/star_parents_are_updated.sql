-- Only updated parents start a term of their own.
-- changes: sales insert, stores update
SELECT s.id, t.city, s.price FROM sales s JOIN stores t ON s.store = t.id

-- generated --------------------------------------------------------------------------
-- keyed extent, by id
SELECT
  `sales`.`id` AS `id`,
  `stores`.`city` AS `city`,
  `sales`.`price` AS `price`
FROM `after`.`sales` AS `sales`
JOIN `after`.`stores` AS `stores`
  ON `sales`.`store` = `stores`.`id`;

-- readers
SELECT
  `__extent`.`id` AS `id`,
  `__extent`.`city` AS `city`,
  `__extent`.`price` AS `price`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_2`.`id` AS `id`,
  `q_2`.`city` AS `city`,
  `q_2`.`price` AS `price`,
  `q_2`.`__count` AS `__count`
FROM (
  SELECT
    `q`.`id` AS `id`,
    `q`.`city` AS `city`,
    `q`.`price` AS `price`,
    SUM(`q`.`__count`) AS `__count`
  FROM (
    SELECT
      `sales`.`id` AS `id`,
      `sales`.`store` AS `store`,
      `sales`.`price` AS `price`,
      `stores`.`id` AS `id_2`,
      `stores`.`city` AS `city`,
      `stores`.`__count` AS `__count`
    FROM `updates`.`stores` AS `stores`
    JOIN `before`.`sales` AS `sales`
      ON `sales`.`store` = `stores`.`id`
    UNION ALL
    SELECT
      `sales_2`.`id` AS `id`,
      `sales_2`.`store` AS `store`,
      `sales_2`.`price` AS `price`,
      `stores_2`.`id` AS `id_2`,
      `stores_2`.`city` AS `city`,
      `sales_2`.`__count` AS `__count`
    FROM `delta`.`sales` AS `sales_2`
    JOIN `after`.`stores` AS `stores_2`
      ON `sales_2`.`store` = `stores_2`.`id`
  ) AS `q`
  GROUP BY
    `q`.`id`,
    `q`.`city`,
    `q`.`price`
) AS `q_2`
WHERE
  `q_2`.`__count` <> 0;

-- Rows of sales that lose or find their store; the key of stores says that there is at most one.
-- changes: sales insert delete update, stores insert delete update
SELECT sales.id, sales.price, stores.city FROM sales LEFT JOIN stores ON sales.store = stores.id

-- generated --------------------------------------------------------------------------
-- keyed extent, by id
SELECT
  `sales`.`id` AS `id`,
  `sales`.`price` AS `price`,
  `stores`.`city` AS `city`
FROM `after`.`sales` AS `sales`
LEFT OUTER JOIN `after`.`stores` AS `stores`
  ON `sales`.`store` = `stores`.`id`;

-- readers
SELECT
  `__extent`.`id` AS `id`,
  `__extent`.`price` AS `price`,
  `__extent`.`city` AS `city`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_6`.`id` AS `id`,
  `q_6`.`price` AS `price`,
  `q_6`.`city` AS `city`,
  `q_6`.`__count` AS `__count`
FROM (
  SELECT
    `q_5`.`id` AS `id`,
    `q_5`.`price` AS `price`,
    `q_5`.`city` AS `city`,
    SUM(`q_5`.`__count`) AS `__count`
  FROM (
    SELECT
      `sales`.`id` AS `id`,
      `sales`.`store` AS `store`,
      `sales`.`price` AS `price`,
      `q_2`.`id_2` AS `id_2`,
      `q_2`.`city` AS `city`,
      `q_2`.`__count` AS `__count`
    FROM (
      SELECT
        `stores`.`id` AS `__met_0`,
        `stores`.`id` AS `id_2`,
        `stores`.`city` AS `city`,
        `stores`.`__count` AS `__count`
      FROM `delta`.`stores` AS `stores`
      UNION ALL
      SELECT
        `q`.`__met_0` AS `__met_0`,
        NULL AS `id_2`,
        NULL AS `city`,
        -`q`.`__moved` AS `__count`
      FROM (
        SELECT
          `stores_2`.`id` AS `__met_0`,
          SUM(`stores_2`.`__count`) AS `__moved`
        FROM `delta`.`stores` AS `stores_2`
        GROUP BY
          `stores_2`.`id`
      ) AS `q`
      WHERE
        `q`.`__moved` <> 0
    ) AS `q_2`
    JOIN `before`.`sales` AS `sales`
      ON `sales`.`store` = `q_2`.`__met_0`
    UNION ALL
    SELECT
      `sales_2`.`id` AS `id`,
      `sales_2`.`store` AS `store`,
      `sales_2`.`price` AS `price`,
      `q_4`.`id_2` AS `id_2`,
      `q_4`.`city` AS `city`,
      `sales_2`.`__count` AS `__count`
    FROM `delta`.`sales` AS `sales_2`
    LEFT OUTER JOIN (
      SELECT
        `stores_3`.`id` AS `id_2`,
        `stores_3`.`city` AS `city`
      FROM (
        SELECT
          `sales_3`.`store` AS `__near_0`
        FROM `delta`.`sales` AS `sales_3`
        GROUP BY
          `sales_3`.`store`
      ) AS `q_3`
      JOIN `after`.`stores` AS `stores_3`
        ON `q_3`.`__near_0` = `stores_3`.`id`
    ) AS `q_4`
      ON `sales_2`.`store` = `q_4`.`id_2`
  ) AS `q_5`
  GROUP BY
    `q_5`.`id`,
    `q_5`.`price`,
    `q_5`.`city`
) AS `q_6`
WHERE
  `q_6`.`__count` <> 0;

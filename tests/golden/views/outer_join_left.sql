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
  `q_5`.`id` AS `id`,
  `q_5`.`price` AS `price`,
  `q_5`.`city` AS `city`,
  `q_5`.`__count` AS `__count`
FROM (
  SELECT
    `q_4`.`id` AS `id`,
    `q_4`.`price` AS `price`,
    `q_4`.`city` AS `city`,
    SUM(`q_4`.`__count`) AS `__count`
  FROM (
    SELECT
      `sales`.`id` AS `id`,
      `sales`.`store` AS `store`,
      `sales`.`price` AS `price`,
      `stores`.`id` AS `id_2`,
      `stores`.`city` AS `city`,
      `stores`.`__count` AS `__count`
    FROM `delta`.`stores` AS `stores`
    JOIN `before`.`sales` AS `sales`
      ON `sales`.`store` = `stores`.`id`
    UNION ALL
    SELECT
      `sales_2`.`id` AS `id`,
      `sales_2`.`store` AS `store`,
      `sales_2`.`price` AS `price`,
      NULL AS `id_2`,
      NULL AS `city`,
      (
        -`q`.`__moved`
      ) AS `__count`
    FROM (
      SELECT
        `stores_2`.`id` AS `__partner_0`,
        SUM(`stores_2`.`__count`) AS `__moved`
      FROM `delta`.`stores` AS `stores_2`
      GROUP BY
        `stores_2`.`id`
    ) AS `q`
    JOIN `before`.`sales` AS `sales_2`
      ON `sales_2`.`store` = `q`.`__partner_0`
    WHERE
      `q`.`__moved` <> 0
    UNION ALL
    SELECT
      `sales_3`.`id` AS `id`,
      `sales_3`.`store` AS `store`,
      `sales_3`.`price` AS `price`,
      `q_3`.`id_2` AS `id_2`,
      `q_3`.`city` AS `city`,
      `sales_3`.`__count` AS `__count`
    FROM `delta`.`sales` AS `sales_3`
    LEFT OUTER JOIN (
      SELECT
        `stores_3`.`id` AS `id_2`,
        `stores_3`.`city` AS `city`
      FROM (
        SELECT
          `sales_4`.`store` AS `__near_0`
        FROM `delta`.`sales` AS `sales_4`
        GROUP BY
          `sales_4`.`store`
      ) AS `q_2`
      JOIN `after`.`stores` AS `stores_3`
        ON `q_2`.`__near_0` = `stores_3`.`id`
    ) AS `q_3`
      ON `sales_3`.`store` = `q_3`.`id_2`
  ) AS `q_4`
  GROUP BY
    `q_4`.`id`,
    `q_4`.`price`,
    `q_4`.`city`
) AS `q_5`
WHERE
  `q_5`.`__count` <> 0;

-- Only the partitions that the change names are derived again, in both states.
-- changes: sales insert delete update
SELECT id, store, price, SUM(price) OVER (PARTITION BY store) AS total, ROW_NUMBER() OVER (PARTITION BY store ORDER BY price DESC, id) AS place FROM sales

-- generated --------------------------------------------------------------------------
-- keyed extent, by id
SELECT
  `q`.`id` AS `id`,
  `q`.`store` AS `store`,
  `q`.`price` AS `price`,
  `q`.`sum` AS `total`,
  `q`.`row_number` AS `place`
FROM (
  SELECT
    `sales`.`id` AS `id`,
    `sales`.`store` AS `store`,
    `sales`.`price` AS `price`,
    SUM(`sales`.`price`) OVER (PARTITION BY `sales`.`store`) AS `sum`,
    ROW_NUMBER() OVER (PARTITION BY `sales`.`store` ORDER BY `sales`.`price` DESC, `sales`.`id`) AS `row_number`
  FROM `after`.`sales` AS `sales`
) AS `q`;

-- readers
SELECT
  `__extent`.`id` AS `id`,
  `__extent`.`store` AS `store`,
  `__extent`.`price` AS `price`,
  `__extent`.`total` AS `total`,
  `__extent`.`place` AS `place`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
WITH `__part` AS (
  SELECT
    `sales`.`store` AS `__affected_0`
  FROM `delta`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
)
SELECT
  `q_4`.`id` AS `id`,
  `q_4`.`store` AS `store`,
  `q_4`.`price` AS `price`,
  `q_4`.`total` AS `total`,
  `q_4`.`place` AS `place`,
  `q_4`.`__count` AS `__count`
FROM (
  SELECT
    `q_3`.`id` AS `id`,
    `q_3`.`store` AS `store`,
    `q_3`.`price` AS `price`,
    `q_3`.`sum` AS `total`,
    `q_3`.`row_number` AS `place`,
    SUM(`q_3`.`__count`) AS `__count`
  FROM (
    SELECT
      `q`.`id` AS `id`,
      `q`.`store` AS `store`,
      `q`.`price` AS `price`,
      `q`.`sum` AS `sum`,
      `q`.`row_number` AS `row_number`,
      -1 AS `__count`
    FROM (
      SELECT
        `sales_2`.`id` AS `id`,
        `sales_2`.`store` AS `store`,
        `sales_2`.`price` AS `price`,
        SUM(`sales_2`.`price`) OVER (PARTITION BY `sales_2`.`store`) AS `sum`,
        ROW_NUMBER() OVER (PARTITION BY `sales_2`.`store` ORDER BY `sales_2`.`price` DESC, `sales_2`.`id`) AS `row_number`
      FROM `before`.`sales` AS `sales_2`
      LEFT SEMI JOIN `__part` AS `p`
        ON `sales_2`.`store` IS NOT DISTINCT FROM `p`.`__affected_0`
    ) AS `q`
    UNION ALL
    SELECT
      `q_2`.`id` AS `id`,
      `q_2`.`store` AS `store`,
      `q_2`.`price` AS `price`,
      `q_2`.`sum` AS `sum`,
      `q_2`.`row_number` AS `row_number`,
      1 AS `__count`
    FROM (
      SELECT
        `sales_3`.`id` AS `id`,
        `sales_3`.`store` AS `store`,
        `sales_3`.`price` AS `price`,
        SUM(`sales_3`.`price`) OVER (PARTITION BY `sales_3`.`store`) AS `sum`,
        ROW_NUMBER() OVER (PARTITION BY `sales_3`.`store` ORDER BY `sales_3`.`price` DESC, `sales_3`.`id`) AS `row_number`
      FROM `after`.`sales` AS `sales_3`
      LEFT SEMI JOIN `__part` AS `p_2`
        ON `sales_3`.`store` IS NOT DISTINCT FROM `p_2`.`__affected_0`
    ) AS `q_2`
  ) AS `q_3`
  GROUP BY
    `q_3`.`id`,
    `q_3`.`store`,
    `q_3`.`price`,
    `q_3`.`sum`,
    `q_3`.`row_number`
) AS `q_4`
WHERE
  `q_4`.`__count` <> 0;

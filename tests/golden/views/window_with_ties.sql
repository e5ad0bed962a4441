-- ORDER BY leaves open which row is first; it is completed by the key.
-- changes: sales insert
SELECT store, id FROM sales QUALIFY ROW_NUMBER() OVER (PARTITION BY store ORDER BY price) = 1

-- generated --------------------------------------------------------------------------
-- keyed extent, by store
-- note RV-TIES
-- note RV-QUALIFY
SELECT
  `q`.`store` AS `store`,
  `q`.`id` AS `id`
FROM (
  SELECT
    `sales`.`id` AS `id`,
    `sales`.`store` AS `store`,
    `sales`.`price` AS `price`,
    ROW_NUMBER() OVER (PARTITION BY `sales`.`store` ORDER BY `sales`.`price`, `sales`.`id` ASC) AS `row_number`
  FROM `after`.`sales` AS `sales`
) AS `q`
WHERE
  `q`.`row_number` = 1;

-- readers
SELECT
  `__extent`.`store` AS `store`,
  `__extent`.`id` AS `id`
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
  `q_4`.`store` AS `store`,
  `q_4`.`id` AS `id`,
  `q_4`.`__count` AS `__count`
FROM (
  SELECT
    `q_3`.`store` AS `store`,
    `q_3`.`id` AS `id`,
    SUM(`q_3`.`__count`) AS `__count`
  FROM (
    SELECT
      `q`.`id` AS `id`,
      `q`.`store` AS `store`,
      `q`.`price` AS `price`,
      `q`.`row_number` AS `row_number`,
      -1 AS `__count`
    FROM (
      SELECT
        `sales_2`.`id` AS `id`,
        `sales_2`.`store` AS `store`,
        `sales_2`.`price` AS `price`,
        ROW_NUMBER() OVER (PARTITION BY `sales_2`.`store` ORDER BY `sales_2`.`price`, `sales_2`.`id` ASC) AS `row_number`
      FROM `before`.`sales` AS `sales_2`
      WHERE
        EXISTS(
          SELECT
            1 AS `one`
          FROM `__part` AS `p`
          WHERE
            `sales_2`.`store` IS NOT DISTINCT FROM `p`.`__affected_0`
        )
    ) AS `q`
    UNION ALL
    SELECT
      `q_2`.`id` AS `id`,
      `q_2`.`store` AS `store`,
      `q_2`.`price` AS `price`,
      `q_2`.`row_number` AS `row_number`,
      1 AS `__count`
    FROM (
      SELECT
        `sales_3`.`id` AS `id`,
        `sales_3`.`store` AS `store`,
        `sales_3`.`price` AS `price`,
        ROW_NUMBER() OVER (PARTITION BY `sales_3`.`store` ORDER BY `sales_3`.`price`, `sales_3`.`id` ASC) AS `row_number`
      FROM `after`.`sales` AS `sales_3`
      WHERE
        EXISTS(
          SELECT
            1 AS `one`
          FROM `__part` AS `p_2`
          WHERE
            `sales_3`.`store` IS NOT DISTINCT FROM `p_2`.`__affected_0`
        )
    ) AS `q_2`
  ) AS `q_3`
  WHERE
    `q_3`.`row_number` = 1
  GROUP BY
    `q_3`.`store`,
    `q_3`.`id`
) AS `q_4`
WHERE
  `q_4`.`__count` <> 0;

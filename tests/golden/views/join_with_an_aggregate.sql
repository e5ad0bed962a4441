-- A join on an aggregate's result is a singular point: the affected groups are derived anew, before and after.
-- changes: sales insert delete update
SELECT t.city, x.n FROM stores t JOIN (SELECT store, COUNT(*) AS n FROM sales GROUP BY store) x ON t.id = x.store

-- generated --------------------------------------------------------------------------
-- keyed extent, by __key_id
SELECT
  `stores`.`city` AS `city`,
  `q`.`count` AS `n`,
  `stores`.`id` AS `__key_id`
FROM `after`.`stores` AS `stores`
JOIN (
  SELECT
    `sales`.`store` AS `store_2`,
    COUNT(*) AS `count`
  FROM `after`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`
  ON `stores`.`id` = `q`.`store_2`;

-- readers
SELECT
  `__extent`.`city` AS `city`,
  `__extent`.`n` AS `n`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
WITH `__part` AS (
  SELECT
    `sales`.`store` AS `__affected_store_2`
  FROM `delta`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
)
SELECT
  `q_4`.`city` AS `city`,
  `q_4`.`n` AS `n`,
  `q_4`.`__key_id` AS `__key_id`,
  `q_4`.`__count` AS `__count`
FROM (
  SELECT
    `stores`.`city` AS `city`,
    `q_3`.`count` AS `n`,
    `stores`.`id` AS `__key_id`,
    SUM(`q_3`.`__count`) AS `__count`
  FROM (
    SELECT
      `q`.`store_2` AS `store_2`,
      `q`.`count` AS `count`,
      -1 AS `__count`
    FROM (
      SELECT
        `sales_2`.`store` AS `store_2`,
        COUNT(*) AS `count`
      FROM `before`.`sales` AS `sales_2`
      WHERE
        EXISTS(
          SELECT
            1 AS `one`
          FROM `__part` AS `p`
          WHERE
            `sales_2`.`store` IS NOT DISTINCT FROM `p`.`__affected_store_2`
        )
      GROUP BY
        `sales_2`.`store`
    ) AS `q`
    UNION ALL
    SELECT
      `q_2`.`store_2` AS `store_2`,
      `q_2`.`count` AS `count`,
      1 AS `__count`
    FROM (
      SELECT
        `sales_3`.`store` AS `store_2`,
        COUNT(*) AS `count`
      FROM `after`.`sales` AS `sales_3`
      WHERE
        EXISTS(
          SELECT
            1 AS `one`
          FROM `__part` AS `p_2`
          WHERE
            `sales_3`.`store` IS NOT DISTINCT FROM `p_2`.`__affected_store_2`
        )
      GROUP BY
        `sales_3`.`store`
    ) AS `q_2`
  ) AS `q_3`
  JOIN `after`.`stores` AS `stores`
    ON `stores`.`id` = `q_3`.`store_2`
  GROUP BY
    `stores`.`city`,
    `q_3`.`count`,
    `stores`.`id`
) AS `q_4`
WHERE
  `q_4`.`__count` <> 0;

-- A left join with the groups; COUNT of none is 0.
-- changes: sales insert delete
SELECT id, city, (SELECT COUNT(*) FROM sales WHERE sales.store = stores.id) AS n FROM stores

-- generated --------------------------------------------------------------------------
-- keyed extent, by id
SELECT
  `stores`.`id` AS `id`,
  `stores`.`city` AS `city`,
  COALESCE(`q`.`count`, 0) AS `n`
FROM `after`.`stores` AS `stores`
LEFT OUTER JOIN (
  SELECT
    `sales`.`store` AS `k`,
    COUNT(*) AS `count`
  FROM `after`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`
  ON `stores`.`id` = `q`.`k`;

-- readers
SELECT
  `__extent`.`id` AS `id`,
  `__extent`.`city` AS `city`,
  `__extent`.`n` AS `n`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
WITH `__part` AS (
  SELECT
    `sales`.`store` AS `__affected_k`
  FROM `delta`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
), `__part_2` AS (
  SELECT
    `q`.`k` AS `k`,
    `q`.`count` AS `count`,
    -1 AS `__count`
  FROM (
    SELECT
      `sales_2`.`store` AS `k`,
      COUNT(*) AS `count`
    FROM `before`.`sales` AS `sales_2`
    WHERE
      EXISTS(
        SELECT
          1 AS `one`
        FROM `__part` AS `p`
        WHERE
          `sales_2`.`store` IS NOT DISTINCT FROM `p`.`__affected_k`
      )
    GROUP BY
      `sales_2`.`store`
  ) AS `q`
  UNION ALL
  SELECT
    `q_2`.`k` AS `k`,
    `q_2`.`count` AS `count`,
    1 AS `__count`
  FROM (
    SELECT
      `sales_3`.`store` AS `k`,
      COUNT(*) AS `count`
    FROM `after`.`sales` AS `sales_3`
    WHERE
      EXISTS(
        SELECT
          1 AS `one`
        FROM `__part` AS `p_2`
        WHERE
          `sales_3`.`store` IS NOT DISTINCT FROM `p_2`.`__affected_k`
      )
    GROUP BY
      `sales_3`.`store`
  ) AS `q_2`
)
SELECT
  `q_5`.`id` AS `id`,
  `q_5`.`city` AS `city`,
  `q_5`.`n` AS `n`,
  `q_5`.`__count` AS `__count`
FROM (
  SELECT
    `q_4`.`id` AS `id`,
    `q_4`.`city` AS `city`,
    COALESCE(`q_4`.`count`, 0) AS `n`,
    SUM(`q_4`.`__count`) AS `__count`
  FROM (
    SELECT
      `stores`.`id` AS `id`,
      `stores`.`city` AS `city`,
      `p_3`.`k` AS `k`,
      `p_3`.`count` AS `count`,
      `p_3`.`__count` AS `__count`
    FROM `__part_2` AS `p_3`
    JOIN `after`.`stores` AS `stores`
      ON `stores`.`id` = `p_3`.`k`
    UNION ALL
    SELECT
      `stores_2`.`id` AS `id`,
      `stores_2`.`city` AS `city`,
      NULL AS `k`,
      NULL AS `count`,
      (
        -`q_3`.`__moved`
      ) AS `__count`
    FROM (
      SELECT
        `p_4`.`k` AS `__partner_0`,
        SUM(`p_4`.`__count`) AS `__moved`
      FROM `__part_2` AS `p_4`
      GROUP BY
        `p_4`.`k`
    ) AS `q_3`
    JOIN `after`.`stores` AS `stores_2`
      ON `stores_2`.`id` = `q_3`.`__partner_0`
    WHERE
      `q_3`.`__moved` <> 0
  ) AS `q_4`
  GROUP BY
    `q_4`.`id`,
    `q_4`.`city`,
    COALESCE(`q_4`.`count`, 0)
) AS `q_5`
WHERE
  `q_5`.`__count` <> 0;

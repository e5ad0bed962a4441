-- A left join with the groups; COUNT of none is 0.
-- changes: sales insert delete
SELECT id, city, (SELECT COUNT(*) FROM sales WHERE sales.store = stores.id) AS n FROM stores

-- generated --------------------------------------------------------------------------
-- keyed extent, by id
SELECT
  `stores`.`id` AS `id`,
  `stores`.`city` AS `city`,
  COALESCE(`q`.`__rows_count`, 0) AS `n`
FROM `after`.`stores` AS `stores`
LEFT OUTER JOIN (
  SELECT
    `sales`.`store` AS `k`,
    COUNT(*) AS `__rows_count`
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
    `q_3`.`k` AS `k`,
    `q_3`.`__after___rows_count` AS `__after___rows_count`,
    `q_3`.`__change___rows_count` AS `__change___rows_count`,
    `q_3`.`__values___rows_count` AS `__values___rows_count`,
    `q_3`.`__rows_after` AS `__rows_after`,
    `q_3`.`__rows_before` AS `__rows_before`,
    `g`.`__count` AS `__count`
  FROM (
    SELECT
      `q_2`.`k` AS `k`,
      SUM(IF(`q_2`.`__is_after` = 1, `q_2`.`__value___rows_count`, NULL)) AS `__after___rows_count`,
      SUM(IF(`q_2`.`__is_after` = 0, `q_2`.`__value___rows_count`, NULL)) AS `__change___rows_count`,
      SUM(IF(`q_2`.`__value___rows_count` IS NULL, 0, `q_2`.`__sign`)) AS `__values___rows_count`,
      SUM(`q_2`.`__is_after`) AS `__rows_after`,
      SUM(`q_2`.`__sign`) AS `__rows_before`
    FROM (
      SELECT
        `sales`.`store` AS `k`,
        1 AS `__value___rows_count`,
        1 AS `__is_after`,
        1 AS `__sign`
      FROM `after`.`sales` AS `sales`
      LEFT SEMI JOIN (
        SELECT
          `sales_2`.`store` AS `__affected_k`
        FROM `delta`.`sales` AS `sales_2`
        GROUP BY
          `sales_2`.`store`
      ) AS `q`
        ON `sales`.`store` IS NOT DISTINCT FROM `q`.`__affected_k`
      UNION ALL
      SELECT
        `sales_3`.`store` AS `k`,
        `sales_3`.`__count` AS `__value___rows_count`,
        0 AS `__is_after`,
        -`sales_3`.`__count` AS `__sign`
      FROM `delta`.`sales` AS `sales_3`
    ) AS `q_2`
    GROUP BY
      `q_2`.`k`
  ) AS `q_3`
  LATERAL VIEW
  EXPLODE(ARRAY(-1, 1)) g AS `__count`
)
SELECT
  `q_6`.`id` AS `id`,
  `q_6`.`city` AS `city`,
  `q_6`.`n` AS `n`,
  `q_6`.`__count` AS `__count`
FROM (
  SELECT
    `stores`.`id` AS `id`,
    `stores`.`city` AS `city`,
    COALESCE(`q_5`.`__rows_count`, 0) AS `n`,
    SUM(`q_5`.`__count`) AS `__count`
  FROM (
    SELECT
      `p`.`k` AS `__met_0`,
      `p`.`k` AS `k`,
      IF(
        `p`.`__count` < 0,
        COALESCE(`p`.`__after___rows_count`, 0) - COALESCE(`p`.`__change___rows_count`, 0),
        COALESCE(`p`.`__after___rows_count`, 0)
      ) AS `__rows_count`,
      `p`.`__count` AS `__count`
    FROM `__part` AS `p`
    WHERE
      IF(`p`.`__count` < 0, `p`.`__rows_before`, `p`.`__rows_after`) <> 0
    UNION ALL
    SELECT
      `q_4`.`__met_0` AS `__met_0`,
      NULL AS `k`,
      NULL AS `__rows_count`,
      -`q_4`.`__moved` AS `__count`
    FROM (
      SELECT
        `p_2`.`k` AS `__met_0`,
        SUM(`p_2`.`__count`) AS `__moved`
      FROM `__part` AS `p_2`
      WHERE
        IF(`p_2`.`__count` < 0, `p_2`.`__rows_before`, `p_2`.`__rows_after`) <> 0
      GROUP BY
        `p_2`.`k`
    ) AS `q_4`
    WHERE
      `q_4`.`__moved` <> 0
  ) AS `q_5`
  JOIN `after`.`stores` AS `stores`
    ON `stores`.`id` = `q_5`.`__met_0`
  GROUP BY
    `stores`.`id`,
    `stores`.`city`,
    COALESCE(`q_5`.`__rows_count`, 0)
) AS `q_6`
WHERE
  `q_6`.`__count` <> 0;

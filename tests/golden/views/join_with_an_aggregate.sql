-- A join on an aggregate's result is a singular point: the affected groups are derived anew, before and after.
-- changes: sales insert delete update
SELECT t.city, x.n FROM stores t JOIN (SELECT store, COUNT(*) AS n FROM sales GROUP BY store) x ON t.id = x.store

-- generated --------------------------------------------------------------------------
-- keyed extent, by __key_id
SELECT
  `stores`.`city` AS `city`,
  `q`.`__rows_count` AS `n`,
  `stores`.`id` AS `__key_id`
FROM `after`.`stores` AS `stores`
JOIN (
  SELECT
    `sales`.`store` AS `store_2`,
    COUNT(*) AS `__rows_count`
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
SELECT
  `q_5`.`city` AS `city`,
  `q_5`.`n` AS `n`,
  `q_5`.`__key_id` AS `__key_id`,
  `q_5`.`__count` AS `__count`
FROM (
  SELECT
    `stores`.`city` AS `city`,
    IF(
      `q_4`.`__count` < 0,
      COALESCE(`q_4`.`__after___rows_count`, 0) - COALESCE(`q_4`.`__change___rows_count`, 0),
      COALESCE(`q_4`.`__after___rows_count`, 0)
    ) AS `n`,
    `stores`.`id` AS `__key_id`,
    SUM(`q_4`.`__count`) AS `__count`
  FROM (
    SELECT
      `q_3`.`store_2` AS `store_2`,
      `q_3`.`__after___rows_count` AS `__after___rows_count`,
      `q_3`.`__change___rows_count` AS `__change___rows_count`,
      `q_3`.`__values___rows_count` AS `__values___rows_count`,
      `q_3`.`__rows_after` AS `__rows_after`,
      `q_3`.`__rows_before` AS `__rows_before`,
      `g`.`__count` AS `__count`
    FROM (
      SELECT
        `q_2`.`store_2` AS `store_2`,
        SUM(IF(`q_2`.`__is_after` = 1, `q_2`.`__value___rows_count`, NULL)) AS `__after___rows_count`,
        SUM(IF(`q_2`.`__is_after` = 0, `q_2`.`__value___rows_count`, NULL)) AS `__change___rows_count`,
        SUM(IF(`q_2`.`__value___rows_count` IS NULL, 0, `q_2`.`__sign`)) AS `__values___rows_count`,
        SUM(`q_2`.`__is_after`) AS `__rows_after`,
        SUM(`q_2`.`__sign`) AS `__rows_before`
      FROM (
        SELECT
          `sales`.`store` AS `store_2`,
          1 AS `__value___rows_count`,
          1 AS `__is_after`,
          1 AS `__sign`
        FROM `after`.`sales` AS `sales`
        LEFT SEMI JOIN (
          SELECT
            `sales_2`.`store` AS `__affected_store_2`
          FROM `delta`.`sales` AS `sales_2`
          GROUP BY
            `sales_2`.`store`
        ) AS `q`
          ON `sales`.`store` IS NOT DISTINCT FROM `q`.`__affected_store_2`
        UNION ALL
        SELECT
          `sales_3`.`store` AS `store_2`,
          `sales_3`.`__count` AS `__value___rows_count`,
          0 AS `__is_after`,
          -`sales_3`.`__count` AS `__sign`
        FROM `delta`.`sales` AS `sales_3`
      ) AS `q_2`
      GROUP BY
        `q_2`.`store_2`
    ) AS `q_3`
    LATERAL VIEW
    EXPLODE(ARRAY(-1, 1)) g AS `__count`
  ) AS `q_4`
  JOIN `after`.`stores` AS `stores`
    ON `stores`.`id` = `q_4`.`store_2`
  WHERE
    IF(`q_4`.`__count` < 0, `q_4`.`__rows_before`, `q_4`.`__rows_after`) <> 0
  GROUP BY
    `stores`.`city`,
    IF(
      `q_4`.`__count` < 0,
      COALESCE(`q_4`.`__after___rows_count`, 0) - COALESCE(`q_4`.`__change___rows_count`, 0),
      COALESCE(`q_4`.`__after___rows_count`, 0)
    ),
    `stores`.`id`
) AS `q_5`
WHERE
  `q_5`.`__count` <> 0;

-- ORDER BY leaves open which row is first; it is completed by the key.
-- changes: sales insert
SELECT store, id FROM sales QUALIFY ROW_NUMBER() OVER (PARTITION BY store ORDER BY price) = 1

-- generated --------------------------------------------------------------------------
-- keyed extent, by store, id
-- note RV-TIES
-- note RV-QUALIFY
SELECT
  `q`.`store` AS `store`,
  `q`.`id` AS `id`,
  `q`.`__order0` AS `__order0`
FROM (
  SELECT
    `sales`.`store` AS `store`,
    `sales`.`id` AS `id`,
    `sales`.`price` AS `__order0`,
    RANK() OVER (PARTITION BY `sales`.`store` ORDER BY `sales`.`price`, `sales`.`id` ASC) AS `__place`
  FROM `after`.`sales` AS `sales`
) AS `q`
WHERE
  `q`.`__place` <= 4;

-- readers
SELECT
  `q`.`store` AS `store`,
  `q`.`id` AS `id`
FROM (
  SELECT
    `__extent`.`store` AS `store`,
    `__extent`.`id` AS `id`,
    `__extent`.`__order0` AS `__order0`,
    ROW_NUMBER() OVER (
      PARTITION BY `__extent`.`store`
      ORDER BY `__extent`.`__order0`, `__extent`.`id` ASC
    ) AS `__place`
  FROM `__extent` AS `__extent`
) AS `q`
WHERE
  `q`.`__place` = 1;

-- maintenance: net delta
SELECT
  `q`.`store` AS `store`,
  `q`.`id` AS `id`,
  `q`.`__order0` AS `__order0`,
  `q`.`__count` AS `__count`
FROM (
  SELECT
    `sales`.`store` AS `store`,
    `sales`.`id` AS `id`,
    `sales`.`price` AS `__order0`,
    SUM(`sales`.`__count`) AS `__count`
  FROM `delta`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`,
    `sales`.`id`,
    `sales`.`price`
) AS `q`
WHERE
  `q`.`__count` <> 0;

-- what of it is stored
SELECT
  `q_3`.`store` AS `store`,
  `q_3`.`id` AS `id`,
  `q_3`.`__order0` AS `__order0`,
  `q_3`.`__count` AS `__count`,
  COALESCE(`q_3`.`__rows`, 0) >= 1
  AND COALESCE(`q_3`.`__rows`, 0) + `q_3`.`__moved` < 1 AS `__suspect`,
  COALESCE(`q_3`.`__rows`, 0) + `q_3`.`__moved` > 16 AS `__crowded`
FROM (
  SELECT
    `__changed`.`store` AS `store`,
    `__changed`.`id` AS `id`,
    `__changed`.`__order0` AS `__order0`,
    `__changed`.`__count` AS `__count`,
    `q_2`.`__of_store` AS `__of_store`,
    `q_2`.`__last___order0` AS `__last___order0`,
    `q_2`.`__last_id` AS `__last_id`,
    `q_2`.`__rows` AS `__rows`,
    SUM(`__changed`.`__count`) OVER (PARTITION BY `__changed`.`store`) AS `__moved`
  FROM `after`.`__changed` AS `__changed`
  LEFT OUTER JOIN (
    SELECT
      `q`.`store` AS `__of_store`,
      `q`.`__order0` AS `__last___order0`,
      `q`.`id` AS `__last_id`,
      `q`.`__rows` AS `__rows`
    FROM (
      SELECT
        `__extent`.`store` AS `store`,
        `__extent`.`__order0` AS `__order0`,
        `__extent`.`id` AS `id`,
        ROW_NUMBER() OVER (
          PARTITION BY `__extent`.`store`
          ORDER BY `__extent`.`__order0` DESC, `__extent`.`id` DESC
        ) AS `__last`,
        COUNT(*) OVER (PARTITION BY `__extent`.`store`) AS `__rows`
      FROM `__extent` AS `__extent`
      LEFT SEMI JOIN `after`.`__changed` AS `__changed_2`
        ON `__extent`.`store` IS NOT DISTINCT FROM `__changed_2`.`store`
    ) AS `q`
    WHERE
      `q`.`__last` <= 1
  ) AS `q_2`
    ON `__changed`.`store` IS NOT DISTINCT FROM `q_2`.`__of_store`
  WHERE
    COALESCE(`q_2`.`__rows`, 0) < 1
    OR (
      `__changed`.`__order0` IS NULL
      AND NOT `q_2`.`__last___order0` IS NULL
      OR `__changed`.`__order0` < `q_2`.`__last___order0`
      OR `__changed`.`__order0` IS NOT DISTINCT FROM `q_2`.`__last___order0`
      AND (
        `__changed`.`id` IS NULL
        AND NOT `q_2`.`__last_id` IS NULL
        OR `__changed`.`id` < `q_2`.`__last_id`
        OR `__changed`.`id` IS NOT DISTINCT FROM `q_2`.`__last_id`
      )
    )
) AS `q_3`;

-- fresh: the suspect groups
SELECT
  `q`.`store` AS `store`,
  `q`.`id` AS `id`,
  `q`.`__order0` AS `__order0`
FROM (
  SELECT
    `sales`.`store` AS `store`,
    `sales`.`id` AS `id`,
    `sales`.`price` AS `__order0`,
    RANK() OVER (PARTITION BY `sales`.`store` ORDER BY `sales`.`price`, `sales`.`id` ASC) AS `__place`
  FROM `after`.`sales` AS `sales`
  LEFT SEMI JOIN `after`.`__suspects` AS `__suspects`
    ON `sales`.`store` IS NOT DISTINCT FROM `__suspects`.`store`
) AS `q`
WHERE
  `q`.`__place` <= 4;

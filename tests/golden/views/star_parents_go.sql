-- Parents that go are still looked up by the children that go with them: mid = after and what was removed.
-- changes: sales delete, stores delete
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
    `sales`.`id` AS `id`,
    `q`.`city` AS `city`,
    `sales`.`price` AS `price`,
    SUM(`sales`.`__count`) AS `__count`
  FROM `delta`.`sales` AS `sales`
  JOIN (
    SELECT
      `stores`.`id` AS `id_2`,
      `stores`.`city` AS `city`
    FROM `after`.`stores` AS `stores`
    UNION ALL
    SELECT
      `stores_2`.`id` AS `id_2`,
      `stores_2`.`city` AS `city`
    FROM `removed`.`stores` AS `stores_2`
  ) AS `q`
    ON `sales`.`store` = `q`.`id_2`
  GROUP BY
    `sales`.`id`,
    `q`.`city`,
    `sales`.`price`
) AS `q_2`
WHERE
  `q_2`.`__count` <> 0;

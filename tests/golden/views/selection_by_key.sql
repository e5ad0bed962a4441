-- A view that shows the key of its table is stored by that key.
-- changes: stores insert delete update
SELECT id AS store, upper(city) AS city FROM stores WHERE region = 'S'

-- generated --------------------------------------------------------------------------
-- keyed extent, by store
SELECT
  `stores`.`id` AS `store`,
  UPPER(`stores`.`city`) AS `city`
FROM `after`.`stores` AS `stores`
WHERE
  `stores`.`region` = 'S';

-- readers
SELECT
  `__extent`.`store` AS `store`,
  `__extent`.`city` AS `city`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q`.`store` AS `store`,
  `q`.`city` AS `city`,
  `q`.`__count` AS `__count`
FROM (
  SELECT
    `stores`.`id` AS `store`,
    UPPER(`stores`.`city`) AS `city`,
    SUM(`stores`.`__count`) AS `__count`
  FROM `delta`.`stores` AS `stores`
  WHERE
    `stores`.`region` = 'S'
  GROUP BY
    `stores`.`id`,
    UPPER(`stores`.`city`)
) AS `q`
WHERE
  `q`.`__count` <> 0;

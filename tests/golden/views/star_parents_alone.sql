-- Nobody can refer to a new store yet, so nothing is to be done.
-- changes: stores insert
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

-- maintenance: none: no row can change

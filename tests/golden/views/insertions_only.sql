-- Where only insertions can occur nothing is netted: the change is appended.
-- changes: sales insert
SELECT id, price * 2 AS twice FROM sales WHERE price > 1

-- generated --------------------------------------------------------------------------
-- keyed extent, by id
SELECT
  `sales`.`id` AS `id`,
  (
    `sales`.`price` * 2
  ) AS `twice`
FROM `after`.`sales` AS `sales`
WHERE
  `sales`.`price` > 1;

-- readers
SELECT
  `__extent`.`id` AS `id`,
  `__extent`.`twice` AS `twice`
FROM `__extent` AS `__extent`;

-- maintenance: insertions
SELECT
  `sales`.`id` AS `id`,
  (
    `sales`.`price` * 2
  ) AS `twice`,
  `sales`.`__count` AS `__count`
FROM `delta`.`sales` AS `sales`
WHERE
  `sales`.`price` > 1;

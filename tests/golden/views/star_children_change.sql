-- Parents that only come cannot meet old children: ΔStores is no term. The sale's key is the view's key.
-- changes: sales insert delete update, stores insert
SELECT s.id, t.city, i.category, s.price
FROM sales s JOIN stores t ON s.store = t.id JOIN items i ON s.item = i.id

-- generated --------------------------------------------------------------------------
-- keyed extent, by id
SELECT
  `sales`.`id` AS `id`,
  `stores`.`city` AS `city`,
  `items`.`category` AS `category`,
  `sales`.`price` AS `price`
FROM `after`.`sales` AS `sales`
JOIN `after`.`stores` AS `stores`
  ON `sales`.`store` = `stores`.`id`
JOIN `after`.`items` AS `items`
  ON `sales`.`item` = `items`.`id`;

-- readers
SELECT
  `__extent`.`id` AS `id`,
  `__extent`.`city` AS `city`,
  `__extent`.`category` AS `category`,
  `__extent`.`price` AS `price`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q`.`id` AS `id`,
  `q`.`city` AS `city`,
  `q`.`category` AS `category`,
  `q`.`price` AS `price`,
  `q`.`__count` AS `__count`
FROM (
  SELECT
    `sales`.`id` AS `id`,
    `stores`.`city` AS `city`,
    `items`.`category` AS `category`,
    `sales`.`price` AS `price`,
    SUM(`sales`.`__count`) AS `__count`
  FROM `delta`.`sales` AS `sales`
  JOIN `after`.`stores` AS `stores`
    ON `sales`.`store` = `stores`.`id`
  JOIN `after`.`items` AS `items`
    ON `sales`.`item` = `items`.`id`
  GROUP BY
    `sales`.`id`,
    `stores`.`city`,
    `items`.`category`,
    `sales`.`price`
) AS `q`
WHERE
  `q`.`__count` <> 0;

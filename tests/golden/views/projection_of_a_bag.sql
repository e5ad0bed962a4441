-- A projection that shows no key is stored as a bag; the delta is netted on the columns shown.
-- changes: stores insert delete update
SELECT city, region FROM stores

-- generated --------------------------------------------------------------------------
-- bag extent, by city, region
SELECT
  `stores`.`city` AS `city`,
  `stores`.`region` AS `region`
FROM `after`.`stores` AS `stores`;

-- readers
SELECT
  `__extent`.`city` AS `city`,
  `__extent`.`region` AS `region`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q`.`city` AS `city`,
  `q`.`region` AS `region`,
  `q`.`__count` AS `__count`
FROM (
  SELECT
    `stores`.`city` AS `city`,
    `stores`.`region` AS `region`,
    SUM(`stores`.`__count`) AS `__count`
  FROM `delta`.`stores` AS `stores`
  GROUP BY
    `stores`.`city`,
    `stores`.`region`
) AS `q`
WHERE
  `q`.`__count` <> 0;

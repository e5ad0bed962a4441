-- More rows are stored than are shown, up to a bound in their order; changes beyond it do not matter.
-- changes: sales insert delete update
SELECT id, price FROM sales WHERE store > 0 ORDER BY price DESC, day NULLS LAST LIMIT 2 OFFSET 1

-- generated --------------------------------------------------------------------------
-- keyed extent, by id
-- note RV-TIES
SELECT
  `q`.`id` AS `id`,
  `q`.`price` AS `price`,
  `q`.`__order1` AS `__order1`
FROM (
  SELECT
    `sales`.`id` AS `id`,
    `sales`.`price` AS `price`,
    `sales`.`day` AS `__order1`,
    RANK() OVER (ORDER BY `sales`.`price` DESC, `sales`.`day` NULLS LAST, `sales`.`id` ASC) AS `__place`
  FROM `after`.`sales` AS `sales`
  WHERE
    `sales`.`store` > 0
) AS `q`
WHERE
  `q`.`__place` <= 103;

-- readers
SELECT
  `q`.`id` AS `id`,
  `q`.`price` AS `price`
FROM (
  SELECT
    `__extent`.`id` AS `id`,
    `__extent`.`price` AS `price`,
    `__extent`.`__order1` AS `__order1`,
    ROW_NUMBER() OVER (
      ORDER BY `__extent`.`price` DESC, `__extent`.`__order1` NULLS LAST, `__extent`.`id` ASC
    ) AS `__place`
  FROM `__extent` AS `__extent`
) AS `q`
WHERE
  `q`.`__place` > 1 AND `q`.`__place` <= 3;

-- maintenance: net delta
SELECT
  `q`.`id` AS `id`,
  `q`.`price` AS `price`,
  `q`.`__order1` AS `__order1`,
  `q`.`__count` AS `__count`
FROM (
  SELECT
    `sales`.`id` AS `id`,
    `sales`.`price` AS `price`,
    `sales`.`day` AS `__order1`,
    SUM(`sales`.`__count`) AS `__count`
  FROM `delta`.`sales` AS `sales`
  WHERE
    `sales`.`store` > 0
    AND (
      `sales`.`price` > :bound1
      OR `sales`.`price` = :bound1
      AND (
        `sales`.`day` < :bound2
        OR `sales`.`day` = :bound2
        AND (
          `sales`.`id` IS NULL OR `sales`.`id` < :bound3 OR `sales`.`id` = :bound3
        )
      )
    )
  GROUP BY
    `sales`.`id`,
    `sales`.`price`,
    `sales`.`day`
) AS `q`
WHERE
  `q`.`__count` <> 0;

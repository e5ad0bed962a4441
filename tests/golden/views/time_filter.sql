-- A time filter: what comes and goes as the clock moves is found by comparisons with both of its readings.
-- changes: sales insert, __clock insert delete
SELECT id, day, price FROM sales WHERE day >= current_date AND price > 1

-- generated --------------------------------------------------------------------------
-- keyed extent, by id
SELECT
  `sales`.`id` AS `id`,
  `sales`.`day` AS `day`,
  `sales`.`price` AS `price`
FROM `after`.`sales` AS `sales`
LEFT SEMI JOIN `after`.`__clock` AS `__clock`
  ON `sales`.`day` >= `__clock`.`today`
WHERE
  `sales`.`price` > 1;

-- readers
SELECT
  `__extent`.`id` AS `id`,
  `__extent`.`day` AS `day`,
  `__extent`.`price` AS `price`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_2`.`id` AS `id`,
  `q_2`.`day` AS `day`,
  `q_2`.`price` AS `price`,
  `q_2`.`__count` AS `__count`
FROM (
  SELECT
    `q`.`id` AS `id`,
    `q`.`day` AS `day`,
    `q`.`price` AS `price`,
    SUM(`q`.`__count`) AS `__count`
  FROM (
    SELECT
      `sales`.`id` AS `id`,
      `sales`.`day` AS `day`,
      `sales`.`price` AS `price`,
      `sales`.`__count` AS `__count`
    FROM `delta`.`sales` AS `sales`
    LEFT SEMI JOIN `after`.`__clock` AS `__clock`
      ON `sales`.`day` >= `__clock`.`today`
    WHERE
      `sales`.`price` > 1
    UNION ALL
    SELECT
      `sales_2`.`id` AS `id`,
      `sales_2`.`day` AS `day`,
      `sales_2`.`price` AS `price`,
      IF(`sales_2`.`day` >= `__clock_3`.`today`, 1, -1) AS `__count`
    FROM `before`.`sales` AS `sales_2`
    CROSS JOIN `before`.`__clock` AS `__clock_2`
    CROSS JOIN `after`.`__clock` AS `__clock_3`
    WHERE
      `sales_2`.`price` > 1
      AND (
        (
          `sales_2`.`day` >= `__clock_3`.`today` AND `sales_2`.`day` < `__clock_2`.`today`
        )
        OR (
          `sales_2`.`day` >= `__clock_2`.`today` AND `sales_2`.`day` < `__clock_3`.`today`
        )
      )
  ) AS `q`
  GROUP BY
    `q`.`id`,
    `q`.`day`,
    `q`.`price`
) AS `q_2`
WHERE
  `q_2`.`__count` <> 0;

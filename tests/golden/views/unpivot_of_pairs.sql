-- UNPIVOT is a generator: the changed rows alone are turned. A pair is left out if both of its columns are NULL.
-- changes: sales insert delete
SELECT k, v, w FROM sales UNPIVOT ((v, w) FOR k IN ((price, weight), (weight, price) AS turned))

-- generated --------------------------------------------------------------------------
-- bag extent, by k, v, w
SELECT
  `q`.`k` AS `k`,
  `q`.`v` AS `v`,
  `q`.`w` AS `w`
FROM (
  SELECT
    `sales`.`price` AS `price`,
    `sales`.`weight` AS `weight`,
    `g`.`k` AS `k`,
    `g`.`v` AS `v`,
    `g`.`w` AS `w`
  FROM `after`.`sales` AS `sales`
  LATERAL VIEW
  STACK(
    2,
    'price_weight',
    CAST(`sales`.`price` AS DOUBLE),
    `sales`.`weight`,
    'turned',
    `sales`.`weight`,
    CAST(`sales`.`price` AS DOUBLE)
  ) g AS `k`, `v`, `w`
) AS `q`
WHERE
  NOT (
    `q`.`v` IS NULL AND `q`.`w` IS NULL
  );

-- readers
SELECT
  `__extent`.`k` AS `k`,
  `__extent`.`v` AS `v`,
  `__extent`.`w` AS `w`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_2`.`k` AS `k`,
  `q_2`.`v` AS `v`,
  `q_2`.`w` AS `w`,
  `q_2`.`__count` AS `__count`
FROM (
  SELECT
    `q`.`k` AS `k`,
    `q`.`v` AS `v`,
    `q`.`w` AS `w`,
    SUM(`q`.`__count`) AS `__count`
  FROM (
    SELECT
      `sales`.`price` AS `price`,
      `sales`.`weight` AS `weight`,
      `sales`.`__count` AS `__count`,
      `g`.`k` AS `k`,
      `g`.`v` AS `v`,
      `g`.`w` AS `w`
    FROM `delta`.`sales` AS `sales`
    LATERAL VIEW
    STACK(
      2,
      'price_weight',
      CAST(`sales`.`price` AS DOUBLE),
      `sales`.`weight`,
      'turned',
      `sales`.`weight`,
      CAST(`sales`.`price` AS DOUBLE)
    ) g AS `k`, `v`, `w`
  ) AS `q`
  WHERE
    NOT (
      `q`.`v` IS NULL AND `q`.`w` IS NULL
    )
  GROUP BY
    `q`.`k`,
    `q`.`v`,
    `q`.`w`
) AS `q_2`
WHERE
  `q_2`.`__count` <> 0;

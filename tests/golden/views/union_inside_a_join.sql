-- A union below a join changes as a whole.
-- changes: r insert delete, s insert delete
SELECT u.x, t.city FROM (SELECT a AS x FROM r UNION ALL SELECT b FROM s) u JOIN stores t ON u.x = t.id

-- generated --------------------------------------------------------------------------
-- bag extent, by x, city
SELECT
  `q`.`x_2` AS `x`,
  `stores`.`city` AS `city`
FROM (
  SELECT
    `r`.`a` AS `x_2`
  FROM `after`.`r` AS `r`
  UNION ALL
  SELECT
    `s`.`b` AS `x_2`
  FROM `after`.`s` AS `s`
) AS `q`
JOIN `after`.`stores` AS `stores`
  ON `q`.`x_2` = `stores`.`id`;

-- readers
SELECT
  `__extent`.`x` AS `x`,
  `__extent`.`city` AS `city`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_2`.`x` AS `x`,
  `q_2`.`city` AS `city`,
  `q_2`.`__count` AS `__count`
FROM (
  SELECT
    `q`.`x_2` AS `x`,
    `stores`.`city` AS `city`,
    SUM(`q`.`__count`) AS `__count`
  FROM (
    SELECT
      `r`.`a` AS `x_2`,
      `r`.`__count` AS `__count`
    FROM `delta`.`r` AS `r`
    UNION ALL
    SELECT
      `s`.`b` AS `x_2`,
      `s`.`__count` AS `__count`
    FROM `delta`.`s` AS `s`
  ) AS `q`
  JOIN `after`.`stores` AS `stores`
    ON `q`.`x_2` = `stores`.`id`
  GROUP BY
    `q`.`x_2`,
    `stores`.`city`
) AS `q_2`
WHERE
  `q_2`.`__count` <> 0;

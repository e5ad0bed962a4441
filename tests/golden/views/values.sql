-- Constant rows have no delta.
-- changes: r insert delete
SELECT r.a, v.label FROM r JOIN VALUES (1, 'one'), (2, 'two') AS v(b, label) ON r.b = v.b

-- generated --------------------------------------------------------------------------
-- bag extent, by a, label
SELECT
  `r`.`a` AS `a`,
  `v`.`label` AS `label`
FROM `after`.`r` AS `r`
JOIN VALUES
  (1, 'one'),
  (2, 'two') AS `v`(`b_2`, `label`)
  ON `r`.`b` = `v`.`b_2`;

-- readers
SELECT
  `__extent`.`a` AS `a`,
  `__extent`.`label` AS `label`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q`.`a` AS `a`,
  `q`.`label` AS `label`,
  `q`.`__count` AS `__count`
FROM (
  SELECT
    `r`.`a` AS `a`,
    `v`.`label` AS `label`,
    SUM(`r`.`__count`) AS `__count`
  FROM `delta`.`r` AS `r`
  JOIN VALUES
    (1, 'one'),
    (2, 'two') AS `v`(`b_2`, `label`)
    ON `r`.`b` = `v`.`b_2`
  GROUP BY
    `r`.`a`,
    `v`.`label`
) AS `q`
WHERE
  `q`.`__count` <> 0;

-- One table, two occurrences: its change is a term for each.
-- changes: r insert delete
SELECT x.a AS left_a, y.a AS right_a FROM r x JOIN r y ON x.b = y.a

-- generated --------------------------------------------------------------------------
-- bag extent, by left_a, right_a
SELECT
  `r`.`a` AS `left_a`,
  `r_2`.`a` AS `right_a`
FROM `after`.`r` AS `r`
JOIN `after`.`r` AS `r_2`
  ON `r`.`b` = `r_2`.`a`;

-- readers
SELECT
  `__extent`.`left_a` AS `left_a`,
  `__extent`.`right_a` AS `right_a`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_2`.`left_a` AS `left_a`,
  `q_2`.`right_a` AS `right_a`,
  `q_2`.`__count` AS `__count`
FROM (
  SELECT
    `q`.`a` AS `left_a`,
    `q`.`a_2` AS `right_a`,
    SUM(`q`.`__count`) AS `__count`
  FROM (
    SELECT
      `r`.`a` AS `a`,
      `r`.`b` AS `b`,
      `r_2`.`a` AS `a_2`,
      `r`.`__count` AS `__count`
    FROM `delta`.`r` AS `r`
    JOIN `before`.`r` AS `r_2`
      ON `r`.`b` = `r_2`.`a`
    UNION ALL
    SELECT
      `r_4`.`a` AS `a`,
      `r_4`.`b` AS `b`,
      `r_3`.`a` AS `a_2`,
      `r_3`.`__count` AS `__count`
    FROM `delta`.`r` AS `r_3`
    JOIN `after`.`r` AS `r_4`
      ON `r_4`.`b` = `r_3`.`a`
  ) AS `q`
  GROUP BY
    `q`.`a`,
    `q`.`a_2`
) AS `q_2`
WHERE
  `q_2`.`__count` <> 0;

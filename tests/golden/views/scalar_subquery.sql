-- Uncorrelated: a cross join with one row.
-- changes: r insert delete
SELECT b, c FROM s WHERE c > (SELECT SUM(a) FROM r)

-- generated --------------------------------------------------------------------------
-- bag extent, by b, c
SELECT
  `s`.`b` AS `b`,
  `s`.`c` AS `c`
FROM `after`.`s` AS `s`
JOIN (
  SELECT
    SUM(`r`.`a`) AS `sum_a`
  FROM `after`.`r` AS `r`
) AS `q`
  ON `s`.`c` > `q`.`sum_a`;

-- readers
SELECT
  `__extent`.`b` AS `b`,
  `__extent`.`c` AS `c`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_4`.`b` AS `b`,
  `q_4`.`c` AS `c`,
  `q_4`.`__count` AS `__count`
FROM (
  SELECT
    `s`.`b` AS `b`,
    `s`.`c` AS `c`,
    SUM(`q_3`.`__count`) AS `__count`
  FROM (
    SELECT
      `q`.`sum_a` AS `sum_a`,
      -1 AS `__count`
    FROM (
      SELECT
        SUM(`r`.`a`) AS `sum_a`
      FROM `before`.`r` AS `r`
    ) AS `q`
    UNION ALL
    SELECT
      `q_2`.`sum_a` AS `sum_a`,
      1 AS `__count`
    FROM (
      SELECT
        SUM(`r_2`.`a`) AS `sum_a`
      FROM `after`.`r` AS `r_2`
    ) AS `q_2`
  ) AS `q_3`
  JOIN `after`.`s` AS `s`
    ON `s`.`c` > `q_3`.`sum_a`
  GROUP BY
    `s`.`b`,
    `s`.`c`
) AS `q_4`
WHERE
  `q_4`.`__count` <> 0;

-- Two changed inputs, two terms: ΔR with S before, and R after with ΔS.
-- changes: r insert delete, s insert delete
SELECT r.a, s.c FROM r JOIN s ON r.b = s.b

-- generated --------------------------------------------------------------------------
-- bag extent, by a, c
SELECT
  `r`.`a` AS `a`,
  `s`.`c` AS `c`
FROM `after`.`r` AS `r`
JOIN `after`.`s` AS `s`
  ON `r`.`b` = `s`.`b`;

-- readers
SELECT
  `__extent`.`a` AS `a`,
  `__extent`.`c` AS `c`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_2`.`a` AS `a`,
  `q_2`.`c` AS `c`,
  `q_2`.`__count` AS `__count`
FROM (
  SELECT
    `q`.`a` AS `a`,
    `q`.`c` AS `c`,
    SUM(`q`.`__count`) AS `__count`
  FROM (
    SELECT
      `r`.`a` AS `a`,
      `r`.`b` AS `b`,
      `s`.`b` AS `b_2`,
      `s`.`c` AS `c`,
      `r`.`__count` AS `__count`
    FROM `delta`.`r` AS `r`
    JOIN `before`.`s` AS `s`
      ON `r`.`b` = `s`.`b`
    UNION ALL
    SELECT
      `r_2`.`a` AS `a`,
      `r_2`.`b` AS `b`,
      `s_2`.`b` AS `b_2`,
      `s_2`.`c` AS `c`,
      `s_2`.`__count` AS `__count`
    FROM `delta`.`s` AS `s_2`
    JOIN `after`.`r` AS `r_2`
      ON `r_2`.`b` = `s_2`.`b`
  ) AS `q`
  GROUP BY
    `q`.`a`,
    `q`.`c`
) AS `q_2`
WHERE
  `q_2`.`__count` <> 0;

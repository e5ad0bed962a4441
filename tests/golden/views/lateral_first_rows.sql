-- The first rows of s for every row of r: an equality tells which, so r is not read for it.
-- changes: s insert delete
SELECT r.a, q.c FROM r, LATERAL (SELECT c FROM s WHERE s.b = r.b ORDER BY c NULLS FIRST LIMIT 2) q

-- generated --------------------------------------------------------------------------
-- bag extent, by a, c
-- note RV-LIMIT-INSIDE
SELECT
  `r`.`a` AS `a`,
  `q`.`c_2` AS `c`
FROM `after`.`r` AS `r`
JOIN (
  SELECT
    `s`.`b` AS `b_3`,
    `s`.`c` AS `c_2`,
    ROW_NUMBER() OVER (PARTITION BY `s`.`b` ORDER BY `s`.`c`) AS `place`
  FROM `after`.`s` AS `s`
  WHERE
    `s`.`b` = `s`.`b`
) AS `q`
  ON `r`.`b` = `q`.`b_3`
WHERE
  `q`.`place` <= 2;

-- readers
SELECT
  `__extent`.`a` AS `a`,
  `__extent`.`c` AS `c`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
WITH `__part` AS (
  SELECT
    `s`.`b` AS `__affected_0`
  FROM `delta`.`s` AS `s`
  WHERE
    `s`.`b` = `s`.`b`
  GROUP BY
    `s`.`b`
)
SELECT
  `q_4`.`a` AS `a`,
  `q_4`.`c` AS `c`,
  `q_4`.`__count` AS `__count`
FROM (
  SELECT
    `r`.`a` AS `a`,
    `q_3`.`c_2` AS `c`,
    SUM(`q_3`.`__count`) AS `__count`
  FROM (
    SELECT
      `q`.`b_3` AS `b_3`,
      `q`.`c_2` AS `c_2`,
      `q`.`place` AS `place`,
      -1 AS `__count`
    FROM (
      SELECT
        `s_2`.`b` AS `b_3`,
        `s_2`.`c` AS `c_2`,
        ROW_NUMBER() OVER (PARTITION BY `s_2`.`b` ORDER BY `s_2`.`c`) AS `place`
      FROM `before`.`s` AS `s_2`
      LEFT SEMI JOIN `__part` AS `p`
        ON `s_2`.`b` IS NOT DISTINCT FROM `p`.`__affected_0`
      WHERE
        `s_2`.`b` = `s_2`.`b`
    ) AS `q`
    UNION ALL
    SELECT
      `q_2`.`b_3` AS `b_3`,
      `q_2`.`c_2` AS `c_2`,
      `q_2`.`place` AS `place`,
      1 AS `__count`
    FROM (
      SELECT
        `s_3`.`b` AS `b_3`,
        `s_3`.`c` AS `c_2`,
        ROW_NUMBER() OVER (PARTITION BY `s_3`.`b` ORDER BY `s_3`.`c`) AS `place`
      FROM `after`.`s` AS `s_3`
      LEFT SEMI JOIN `__part` AS `p_2`
        ON `s_3`.`b` IS NOT DISTINCT FROM `p_2`.`__affected_0`
      WHERE
        `s_3`.`b` = `s_3`.`b`
    ) AS `q_2`
  ) AS `q_3`
  JOIN `after`.`r` AS `r`
    ON `r`.`b` = `q_3`.`b_3`
  WHERE
    `q_3`.`place` <= 2
  GROUP BY
    `r`.`a`,
    `q_3`.`c_2`
) AS `q_4`
WHERE
  `q_4`.`__count` <> 0;

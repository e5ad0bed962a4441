-- No equality: partners are counted by the values that the condition reads.
-- changes: s insert delete
SELECT r.a, s.c FROM r LEFT JOIN s ON r.b < s.b

-- generated --------------------------------------------------------------------------
-- bag extent, by a, c
SELECT
  `r`.`a` AS `a`,
  `s`.`c` AS `c`
FROM `after`.`r` AS `r`
LEFT OUTER JOIN `after`.`s` AS `s`
  ON `r`.`b` < `s`.`b`;

-- readers
SELECT
  `__extent`.`a` AS `a`,
  `__extent`.`c` AS `c`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
WITH `__part` AS (
  SELECT
    `r`.`b` AS `b`
  FROM `delta`.`s` AS `s`
  JOIN `after`.`r` AS `r`
    ON `r`.`b` < `s`.`b`
  GROUP BY
    `r`.`b`
)
SELECT
  `q_4`.`a` AS `a`,
  `q_4`.`c` AS `c`,
  `q_4`.`__count` AS `__count`
FROM (
  SELECT
    `q_3`.`a` AS `a`,
    `q_3`.`c` AS `c`,
    SUM(`q_3`.`__count`) AS `__count`
  FROM (
    SELECT
      `r_2`.`a` AS `a`,
      `r_2`.`b` AS `b`,
      `s_2`.`b` AS `b_2`,
      `s_2`.`c` AS `c`,
      `s_2`.`__count` AS `__count`
    FROM `delta`.`s` AS `s_2`
    JOIN `after`.`r` AS `r_2`
      ON `r_2`.`b` < `s_2`.`b`
    UNION ALL
    SELECT
      `r_3`.`a` AS `a`,
      `r_3`.`b` AS `b`,
      NULL AS `b_2`,
      NULL AS `c`,
      IF(`q_2`.`__now` = 0, 1, -1) AS `__count`
    FROM (
      SELECT
        `q`.`__partner_0` AS `__partner_0`,
        SUM(`q`.`__now`) AS `__now`,
        SUM(`q`.`__moved`) AS `__moved`
      FROM (
        SELECT
          `p`.`b` AS `__partner_0`,
          0 AS `__now`,
          `s_3`.`__count` AS `__moved`
        FROM `__part` AS `p`
        JOIN `delta`.`s` AS `s_3`
          ON `p`.`b` < `s_3`.`b`
        UNION ALL
        SELECT
          `p_2`.`b` AS `__partner_0`,
          1 AS `__now`,
          0 AS `__moved`
        FROM `__part` AS `p_2`
        JOIN `after`.`s` AS `s_4`
          ON `p_2`.`b` < `s_4`.`b`
      ) AS `q`
      GROUP BY
        `q`.`__partner_0`
    ) AS `q_2`
    JOIN `after`.`r` AS `r_3`
      ON `r_3`.`b` IS NOT DISTINCT FROM `q_2`.`__partner_0`
    WHERE
      (
        `q_2`.`__now` = 0 AND `q_2`.`__moved` < 0
      )
      OR (
        `q_2`.`__now` > 0 AND `q_2`.`__now` = `q_2`.`__moved`
      )
  ) AS `q_3`
  GROUP BY
    `q_3`.`a`,
    `q_3`.`c`
) AS `q_4`
WHERE
  `q_4`.`__count` <> 0;

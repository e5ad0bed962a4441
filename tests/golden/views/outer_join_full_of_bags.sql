-- Partners are counted by value; each side is read once after, or once before.
-- changes: r insert delete, s insert delete
SELECT r.a, s.c FROM r FULL JOIN s ON r.b = s.b

-- generated --------------------------------------------------------------------------
-- bag extent, by a, c
SELECT
  `r`.`a` AS `a`,
  `s`.`c` AS `c`
FROM `after`.`r` AS `r`
FULL OUTER JOIN `after`.`s` AS `s`
  ON `r`.`b` = `s`.`b`;

-- readers
SELECT
  `__extent`.`a` AS `a`,
  `__extent`.`c` AS `c`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_12`.`a` AS `a`,
  `q_12`.`c` AS `c`,
  `q_12`.`__count` AS `__count`
FROM (
  SELECT
    `q_11`.`a` AS `a`,
    `q_11`.`c` AS `c`,
    SUM(`q_11`.`__count`) AS `__count`
  FROM (
    SELECT
      `q_2`.`a` AS `a`,
      `q_2`.`b` AS `b`,
      `s`.`b` AS `b_2`,
      `s`.`c` AS `c`,
      `s`.`__count` AS `__count`
    FROM `delta`.`s` AS `s`
    LEFT OUTER JOIN (
      SELECT
        `r`.`a` AS `a`,
        `r`.`b` AS `b`
      FROM (
        SELECT
          `s_2`.`b` AS `__near_0`
        FROM `delta`.`s` AS `s_2`
        GROUP BY
          `s_2`.`b`
      ) AS `q`
      JOIN `before`.`r` AS `r`
        ON `q`.`__near_0` = `r`.`b`
    ) AS `q_2`
      ON `q_2`.`b` = `s`.`b`
    UNION ALL
    SELECT
      `r_2`.`a` AS `a`,
      `r_2`.`b` AS `b`,
      NULL AS `b_2`,
      NULL AS `c`,
      IF(`q_5`.`__now` = 0, 1, -1) AS `__count`
    FROM (
      SELECT
        `q_4`.`__partner_0` AS `__partner_0`,
        SUM(`q_4`.`__now`) AS `__now`,
        SUM(`q_4`.`__moved`) AS `__moved`
      FROM (
        SELECT
          `s_3`.`b` AS `__partner_0`,
          0 AS `__now`,
          `s_3`.`__count` AS `__moved`
        FROM `delta`.`s` AS `s_3`
        UNION ALL
        SELECT
          `s_5`.`b` AS `__partner_0`,
          1 AS `__now`,
          0 AS `__moved`
        FROM (
          SELECT
            `s_4`.`b` AS `__sought_0`
          FROM `delta`.`s` AS `s_4`
          GROUP BY
            `s_4`.`b`
        ) AS `q_3`
        JOIN `after`.`s` AS `s_5`
          ON `q_3`.`__sought_0` = `s_5`.`b`
      ) AS `q_4`
      GROUP BY
        `q_4`.`__partner_0`
    ) AS `q_5`
    JOIN `before`.`r` AS `r_2`
      ON `r_2`.`b` = `q_5`.`__partner_0`
    WHERE
      (
        `q_5`.`__now` = 0 AND `q_5`.`__moved` < 0
      )
      OR (
        `q_5`.`__now` > 0 AND `q_5`.`__now` = `q_5`.`__moved`
      )
    UNION ALL
    SELECT
      `r_3`.`a` AS `a`,
      `r_3`.`b` AS `b`,
      `q_7`.`b_2` AS `b_2`,
      `q_7`.`c` AS `c`,
      `r_3`.`__count` AS `__count`
    FROM `delta`.`r` AS `r_3`
    LEFT OUTER JOIN (
      SELECT
        `s_6`.`b` AS `b_2`,
        `s_6`.`c` AS `c`
      FROM (
        SELECT
          `r_4`.`b` AS `__near_0`
        FROM `delta`.`r` AS `r_4`
        GROUP BY
          `r_4`.`b`
      ) AS `q_6`
      JOIN `after`.`s` AS `s_6`
        ON `q_6`.`__near_0` = `s_6`.`b`
    ) AS `q_7`
      ON `r_3`.`b` = `q_7`.`b_2`
    UNION ALL
    SELECT
      NULL AS `a`,
      NULL AS `b`,
      `s_7`.`b` AS `b_2`,
      `s_7`.`c` AS `c`,
      IF(`q_10`.`__now` = 0, 1, -1) AS `__count`
    FROM (
      SELECT
        `q_9`.`__partner_0` AS `__partner_0`,
        SUM(`q_9`.`__now`) AS `__now`,
        SUM(`q_9`.`__moved`) AS `__moved`
      FROM (
        SELECT
          `r_5`.`b` AS `__partner_0`,
          0 AS `__now`,
          `r_5`.`__count` AS `__moved`
        FROM `delta`.`r` AS `r_5`
        UNION ALL
        SELECT
          `r_7`.`b` AS `__partner_0`,
          1 AS `__now`,
          0 AS `__moved`
        FROM (
          SELECT
            `r_6`.`b` AS `__sought_0`
          FROM `delta`.`r` AS `r_6`
          GROUP BY
            `r_6`.`b`
        ) AS `q_8`
        JOIN `after`.`r` AS `r_7`
          ON `q_8`.`__sought_0` = `r_7`.`b`
      ) AS `q_9`
      GROUP BY
        `q_9`.`__partner_0`
    ) AS `q_10`
    JOIN `after`.`s` AS `s_7`
      ON `s_7`.`b` = `q_10`.`__partner_0`
    WHERE
      (
        `q_10`.`__now` = 0 AND `q_10`.`__moved` < 0
      )
      OR (
        `q_10`.`__now` > 0 AND `q_10`.`__now` = `q_10`.`__moved`
      )
  ) AS `q_11`
  GROUP BY
    `q_11`.`a`,
    `q_11`.`c`
) AS `q_12`
WHERE
  `q_12`.`__count` <> 0;

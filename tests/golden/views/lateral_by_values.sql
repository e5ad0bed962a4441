-- No equality tells which rows of s belong to one of r, so they are found for all values that r has.
-- changes: s insert
SELECT r.a, q.n FROM r LEFT JOIN LATERAL (SELECT s.c, COUNT(*) AS n FROM s WHERE s.c < r.b GROUP BY s.c) q ON TRUE

-- generated --------------------------------------------------------------------------
-- bag extent, by a, n
SELECT
  `r`.`a` AS `a`,
  `q_2`.`__rows_count` AS `n`
FROM `after`.`r` AS `r`
LEFT OUTER JOIN (
  SELECT
    `s`.`c` AS `c_3`,
    `q`.`b_4` AS `k`,
    COUNT(*) AS `__rows_count`
  FROM `after`.`s` AS `s`
  JOIN (
    SELECT
      `r_2`.`b` AS `b_4`
    FROM `after`.`r` AS `r_2`
    GROUP BY
      `r_2`.`b`
  ) AS `q`
    ON `s`.`c` < `q`.`b_4`
  GROUP BY
    `s`.`c`,
    `q`.`b_4`
) AS `q_2`
  ON `r`.`b` IS NOT DISTINCT FROM `q_2`.`k` AND TRUE;

-- readers
SELECT
  `__extent`.`a` AS `a`,
  `__extent`.`n` AS `n`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
WITH `__part` AS (
  SELECT
    `r`.`b` AS `b_4`
  FROM `after`.`r` AS `r`
  GROUP BY
    `r`.`b`
), `__part_2` AS (
  SELECT
    `q_3`.`c_3` AS `c_3`,
    `q_3`.`k` AS `k`,
    `q_3`.`__after___rows_count` AS `__after___rows_count`,
    `q_3`.`__change___rows_count` AS `__change___rows_count`,
    `q_3`.`__values___rows_count` AS `__values___rows_count`,
    `q_3`.`__rows_after` AS `__rows_after`,
    `q_3`.`__rows_before` AS `__rows_before`,
    `g`.`__count` AS `__count`
  FROM (
    SELECT
      `q_2`.`c_3` AS `c_3`,
      `q_2`.`k` AS `k`,
      SUM(IF(`q_2`.`__is_after` = 1, `q_2`.`__value___rows_count`, NULL)) AS `__after___rows_count`,
      SUM(IF(`q_2`.`__is_after` = 0, `q_2`.`__value___rows_count`, NULL)) AS `__change___rows_count`,
      SUM(IF(`q_2`.`__value___rows_count` IS NULL, 0, `q_2`.`__sign`)) AS `__values___rows_count`,
      SUM(`q_2`.`__is_after`) AS `__rows_after`,
      SUM(`q_2`.`__sign`) AS `__rows_before`
    FROM (
      SELECT
        `s`.`c` AS `c_3`,
        `p`.`b_4` AS `k`,
        1 AS `__value___rows_count`,
        1 AS `__is_after`,
        1 AS `__sign`
      FROM `after`.`s` AS `s`
      JOIN `__part` AS `p`
        ON `s`.`c` < `p`.`b_4`
      LEFT SEMI JOIN (
        SELECT
          `s_2`.`c` AS `__affected_c_3`,
          `p_2`.`b_4` AS `__affected_k`
        FROM `delta`.`s` AS `s_2`
        JOIN `__part` AS `p_2`
          ON `s_2`.`c` < `p_2`.`b_4`
        GROUP BY
          `s_2`.`c`,
          `p_2`.`b_4`
      ) AS `q`
        ON `s`.`c` IS NOT DISTINCT FROM `q`.`__affected_c_3`
        AND `p`.`b_4` IS NOT DISTINCT FROM `q`.`__affected_k`
      UNION ALL
      SELECT
        `s_3`.`c` AS `c_3`,
        `p_3`.`b_4` AS `k`,
        `s_3`.`__count` AS `__value___rows_count`,
        0 AS `__is_after`,
        -`s_3`.`__count` AS `__sign`
      FROM `delta`.`s` AS `s_3`
      JOIN `__part` AS `p_3`
        ON `s_3`.`c` < `p_3`.`b_4`
    ) AS `q_2`
    GROUP BY
      `q_2`.`c_3`,
      `q_2`.`k`
  ) AS `q_3`
  LATERAL VIEW
  EXPLODE(ARRAY(-1, 1)) g AS `__count`
), `__part_3` AS (
  SELECT
    `p_4`.`k` AS `__sought_0`
  FROM `__part_2` AS `p_4`
  WHERE
    IF(`p_4`.`__count` < 0, `p_4`.`__rows_before`, `p_4`.`__rows_after`) <> 0
    AND TRUE
  GROUP BY
    `p_4`.`k`
), `__part_4` AS (
  SELECT
    `p_5`.`__sought_0` AS `__group_0`
  FROM `__part_3` AS `p_5`
  GROUP BY
    `p_5`.`__sought_0`
)
SELECT
  `q_10`.`a` AS `a`,
  `q_10`.`n` AS `n`,
  `q_10`.`__count` AS `__count`
FROM (
  SELECT
    `q_9`.`a` AS `a`,
    `q_9`.`__rows_count` AS `n`,
    SUM(`q_9`.`__count`) AS `__count`
  FROM (
    SELECT
      `r_2`.`a` AS `a`,
      `r_2`.`b` AS `b`,
      `p_6`.`c_3` AS `c_3`,
      `p_6`.`k` AS `k`,
      IF(
        `p_6`.`__count` < 0,
        COALESCE(`p_6`.`__after___rows_count`, 0) - COALESCE(`p_6`.`__change___rows_count`, 0),
        COALESCE(`p_6`.`__after___rows_count`, 0)
      ) AS `__rows_count`,
      `p_6`.`__count` AS `__count`
    FROM `__part_2` AS `p_6`
    JOIN `after`.`r` AS `r_2`
      ON `r_2`.`b` IS NOT DISTINCT FROM `p_6`.`k` AND TRUE
    WHERE
      IF(`p_6`.`__count` < 0, `p_6`.`__rows_before`, `p_6`.`__rows_after`) <> 0
    UNION ALL
    SELECT
      `r_4`.`a` AS `a`,
      `r_4`.`b` AS `b`,
      NULL AS `c_3`,
      NULL AS `k`,
      NULL AS `__rows_count`,
      IF(`q_8`.`__now` = 0, 1, -1) AS `__count`
    FROM (
      SELECT
        `q_7`.`__partner_0` AS `__partner_0`,
        SUM(`q_7`.`__now`) AS `__now`,
        SUM(`q_7`.`__moved`) AS `__moved`
      FROM (
        SELECT
          `p_7`.`k` AS `__partner_0`,
          0 AS `__now`,
          `p_7`.`__count` AS `__moved`
        FROM `__part_2` AS `p_7`
        WHERE
          IF(`p_7`.`__count` < 0, `p_7`.`__rows_before`, `p_7`.`__rows_after`) <> 0
          AND TRUE
        UNION ALL
        SELECT
          `q_6`.`k` AS `__partner_0`,
          1 AS `__now`,
          0 AS `__moved`
        FROM `__part_3` AS `p_8`
        JOIN (
          SELECT
            `s_4`.`c` AS `c_3`,
            `q_5`.`b_4` AS `k`,
            COUNT(*) AS `__rows_count`
          FROM `__part_4` AS `p_9`
          JOIN (
            SELECT
              `r_3`.`b` AS `b_4`
            FROM (
              SELECT
                `p_10`.`__group_0` AS `__group_0`
              FROM `__part_4` AS `p_10`
              GROUP BY
                `p_10`.`__group_0`
            ) AS `q_4`
            JOIN `after`.`r` AS `r_3`
              ON `q_4`.`__group_0` IS NOT DISTINCT FROM `r_3`.`b`
            GROUP BY
              `r_3`.`b`
          ) AS `q_5`
            ON `p_9`.`__group_0` IS NOT DISTINCT FROM `q_5`.`b_4`
          JOIN `after`.`s` AS `s_4`
            ON `s_4`.`c` < `q_5`.`b_4`
          GROUP BY
            `s_4`.`c`,
            `q_5`.`b_4`
        ) AS `q_6`
          ON `p_8`.`__sought_0` IS NOT DISTINCT FROM `q_6`.`k`
        WHERE
          TRUE
      ) AS `q_7`
      GROUP BY
        `q_7`.`__partner_0`
    ) AS `q_8`
    JOIN `after`.`r` AS `r_4`
      ON `r_4`.`b` IS NOT DISTINCT FROM `q_8`.`__partner_0`
    WHERE
      (
        `q_8`.`__now` = 0 AND `q_8`.`__moved` < 0
      )
      OR (
        `q_8`.`__now` > 0 AND `q_8`.`__now` = `q_8`.`__moved`
      )
  ) AS `q_9`
  GROUP BY
    `q_9`.`a`,
    `q_9`.`__rows_count`
) AS `q_10`
WHERE
  `q_10`.`__count` <> 0;

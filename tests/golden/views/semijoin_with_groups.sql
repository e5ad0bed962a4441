-- changes: r insert
SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s GROUP BY c HAVING COUNT(*) = r.b)

-- generated --------------------------------------------------------------------------
-- bag extent, by a
SELECT
  `r`.`a` AS `a`
FROM `after`.`r` AS `r`
LEFT SEMI JOIN (
  SELECT
    `q_2`.`c_6` AS `c_6`,
    `q_2`.`k` AS `k`,
    `q_2`.`__rows_count_3` AS `__rows_count_3`
  FROM (
    SELECT
      `s`.`c` AS `c_6`,
      `q`.`b_5` AS `k`,
      COUNT(*) AS `__rows_count_3`
    FROM `after`.`s` AS `s`
    CROSS JOIN (
      SELECT
        `r_2`.`b` AS `b_5`
      FROM `after`.`r` AS `r_2`
      GROUP BY
        `r_2`.`b`
    ) AS `q`
    GROUP BY
      `s`.`c`,
      `q`.`b_5`
  ) AS `q_2`
  WHERE
    `q_2`.`__rows_count_3` = `q_2`.`k`
) AS `q_3`
  ON `r`.`b` IS NOT DISTINCT FROM `q_3`.`k`;

-- readers
SELECT
  `__extent`.`a` AS `a`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
WITH `__part` AS (
  SELECT
    `r`.`b` AS `__near_0`
  FROM `delta`.`r` AS `r`
  GROUP BY
    `r`.`b`
), `__part_2` AS (
  SELECT
    `p`.`__near_0` AS `__group_0`
  FROM `__part` AS `p`
  GROUP BY
    `p`.`__near_0`
), `__part_3` AS (
  SELECT
    `r_2`.`b` AS `__affected_b_5`
  FROM `delta`.`r` AS `r_2`
  GROUP BY
    `r_2`.`b`
), `__part_4` AS (
  SELECT
    `q`.`b_5` AS `b_5`,
    -1 AS `__count`
  FROM (
    SELECT
      `r_3`.`b` AS `b_5`
    FROM `before`.`r` AS `r_3`
    LEFT SEMI JOIN `__part_3` AS `p_2`
      ON `r_3`.`b` IS NOT DISTINCT FROM `p_2`.`__affected_b_5`
    GROUP BY
      `r_3`.`b`
  ) AS `q`
  UNION ALL
  SELECT
    `q_2`.`b_5` AS `b_5`,
    1 AS `__count`
  FROM (
    SELECT
      `r_4`.`b` AS `b_5`
    FROM `after`.`r` AS `r_4`
    LEFT SEMI JOIN `__part_3` AS `p_3`
      ON `r_4`.`b` IS NOT DISTINCT FROM `p_3`.`__affected_b_5`
    GROUP BY
      `r_4`.`b`
  ) AS `q_2`
), `__part_5` AS (
  SELECT
    `q_6`.`c_6` AS `c_6`,
    `q_6`.`k` AS `k`,
    `q_6`.`__after___rows_count_3` AS `__after___rows_count_3`,
    `q_6`.`__change___rows_count_3` AS `__change___rows_count_3`,
    `q_6`.`__values___rows_count_3` AS `__values___rows_count_3`,
    `q_6`.`__rows_after` AS `__rows_after`,
    `q_6`.`__rows_before` AS `__rows_before`,
    `g`.`__count` AS `__count`
  FROM (
    SELECT
      `q_5`.`c_6` AS `c_6`,
      `q_5`.`k` AS `k`,
      SUM(IF(`q_5`.`__is_after` = 1, `q_5`.`__value___rows_count_3`, NULL)) AS `__after___rows_count_3`,
      SUM(IF(`q_5`.`__is_after` = 0, `q_5`.`__value___rows_count_3`, NULL)) AS `__change___rows_count_3`,
      SUM(IF(`q_5`.`__value___rows_count_3` IS NULL, 0, `q_5`.`__sign`)) AS `__values___rows_count_3`,
      SUM(`q_5`.`__is_after`) AS `__rows_after`,
      SUM(`q_5`.`__sign`) AS `__rows_before`
    FROM (
      SELECT
        `s`.`c` AS `c_6`,
        `q_3`.`b_5` AS `k`,
        1 AS `__value___rows_count_3`,
        1 AS `__is_after`,
        1 AS `__sign`
      FROM `after`.`s` AS `s`
      CROSS JOIN (
        SELECT
          `r_5`.`b` AS `b_5`
        FROM `after`.`r` AS `r_5`
        GROUP BY
          `r_5`.`b`
      ) AS `q_3`
      LEFT SEMI JOIN (
        SELECT
          `s_2`.`c` AS `__affected_c_6`,
          `p_4`.`b_5` AS `__affected_k`
        FROM `__part_4` AS `p_4`
        CROSS JOIN `after`.`s` AS `s_2`
        GROUP BY
          `s_2`.`c`,
          `p_4`.`b_5`
      ) AS `q_4`
        ON `s`.`c` IS NOT DISTINCT FROM `q_4`.`__affected_c_6`
        AND `q_3`.`b_5` IS NOT DISTINCT FROM `q_4`.`__affected_k`
      UNION ALL
      SELECT
        `s_3`.`c` AS `c_6`,
        `p_5`.`b_5` AS `k`,
        `p_5`.`__count` AS `__value___rows_count_3`,
        0 AS `__is_after`,
        -`p_5`.`__count` AS `__sign`
      FROM `__part_4` AS `p_5`
      CROSS JOIN `after`.`s` AS `s_3`
    ) AS `q_5`
    GROUP BY
      `q_5`.`c_6`,
      `q_5`.`k`
  ) AS `q_6`
  LATERAL VIEW
  EXPLODE(ARRAY(-1, 1)) g AS `__count`
), `__part_6` AS (
  SELECT
    `p_6`.`k` AS `__sought_0`
  FROM `__part_5` AS `p_6`
  WHERE
    IF(`p_6`.`__count` < 0, `p_6`.`__rows_before`, `p_6`.`__rows_after`) <> 0
    AND IF(
      `p_6`.`__count` < 0,
      COALESCE(`p_6`.`__after___rows_count_3`, 0) - COALESCE(`p_6`.`__change___rows_count_3`, 0),
      COALESCE(`p_6`.`__after___rows_count_3`, 0)
    ) = `p_6`.`k`
  GROUP BY
    `p_6`.`k`
), `__part_7` AS (
  SELECT
    `p_7`.`__sought_0` AS `__group_0`
  FROM `__part_6` AS `p_7`
  GROUP BY
    `p_7`.`__sought_0`
)
SELECT
  `q_17`.`a` AS `a`,
  `q_17`.`__count` AS `__count`
FROM (
  SELECT
    `q_16`.`a` AS `a`,
    SUM(`q_16`.`__count`) AS `__count`
  FROM (
    SELECT
      `r_6`.`a` AS `a`,
      `r_6`.`b` AS `b`,
      `r_6`.`__count` AS `__count`
    FROM `delta`.`r` AS `r_6`
    LEFT SEMI JOIN (
      SELECT
        `q_9`.`c_6` AS `c_6`,
        `q_9`.`k` AS `k`,
        `q_9`.`__rows_count_3` AS `__rows_count_3`
      FROM `__part` AS `p_8`
      JOIN (
        SELECT
          `s_4`.`c` AS `c_6`,
          `q_8`.`b_5` AS `k`,
          COUNT(*) AS `__rows_count_3`
        FROM `__part_2` AS `p_9`
        JOIN (
          SELECT
            `r_7`.`b` AS `b_5`
          FROM (
            SELECT
              `p_10`.`__group_0` AS `__group_0`
            FROM `__part_2` AS `p_10`
            GROUP BY
              `p_10`.`__group_0`
          ) AS `q_7`
          JOIN `after`.`r` AS `r_7`
            ON `q_7`.`__group_0` IS NOT DISTINCT FROM `r_7`.`b`
          GROUP BY
            `r_7`.`b`
        ) AS `q_8`
          ON `p_9`.`__group_0` IS NOT DISTINCT FROM `q_8`.`b_5`
        CROSS JOIN `after`.`s` AS `s_4`
        GROUP BY
          `s_4`.`c`,
          `q_8`.`b_5`
      ) AS `q_9`
        ON `p_8`.`__near_0` IS NOT DISTINCT FROM `q_9`.`k`
      WHERE
        `q_9`.`__rows_count_3` = `q_9`.`k`
    ) AS `q_10`
      ON `r_6`.`b` IS NOT DISTINCT FROM `q_10`.`k`
    UNION ALL
    SELECT
      `r_9`.`a` AS `a`,
      `r_9`.`b` AS `b`,
      -IF(`q_15`.`__now` = 0, 1, -1) AS `__count`
    FROM (
      SELECT
        `q_14`.`__partner_0` AS `__partner_0`,
        SUM(`q_14`.`__now`) AS `__now`,
        SUM(`q_14`.`__moved`) AS `__moved`
      FROM (
        SELECT
          `p_11`.`k` AS `__partner_0`,
          0 AS `__now`,
          `p_11`.`__count` AS `__moved`
        FROM `__part_5` AS `p_11`
        WHERE
          IF(`p_11`.`__count` < 0, `p_11`.`__rows_before`, `p_11`.`__rows_after`) <> 0
          AND IF(
            `p_11`.`__count` < 0,
            COALESCE(`p_11`.`__after___rows_count_3`, 0) - COALESCE(`p_11`.`__change___rows_count_3`, 0),
            COALESCE(`p_11`.`__after___rows_count_3`, 0)
          ) = `p_11`.`k`
        UNION ALL
        SELECT
          `q_13`.`k` AS `__partner_0`,
          1 AS `__now`,
          0 AS `__moved`
        FROM `__part_6` AS `p_12`
        JOIN (
          SELECT
            `s_5`.`c` AS `c_6`,
            `q_12`.`b_5` AS `k`,
            COUNT(*) AS `__rows_count_3`
          FROM `__part_7` AS `p_13`
          JOIN (
            SELECT
              `r_8`.`b` AS `b_5`
            FROM (
              SELECT
                `p_14`.`__group_0` AS `__group_0`
              FROM `__part_7` AS `p_14`
              GROUP BY
                `p_14`.`__group_0`
            ) AS `q_11`
            JOIN `after`.`r` AS `r_8`
              ON `q_11`.`__group_0` IS NOT DISTINCT FROM `r_8`.`b`
            GROUP BY
              `r_8`.`b`
          ) AS `q_12`
            ON `p_13`.`__group_0` IS NOT DISTINCT FROM `q_12`.`b_5`
          CROSS JOIN `after`.`s` AS `s_5`
          GROUP BY
            `s_5`.`c`,
            `q_12`.`b_5`
        ) AS `q_13`
          ON `p_12`.`__sought_0` IS NOT DISTINCT FROM `q_13`.`k`
        WHERE
          `q_13`.`__rows_count_3` = `q_13`.`k`
      ) AS `q_14`
      GROUP BY
        `q_14`.`__partner_0`
    ) AS `q_15`
    JOIN `before`.`r` AS `r_9`
      ON `r_9`.`b` IS NOT DISTINCT FROM `q_15`.`__partner_0`
    WHERE
      (
        `q_15`.`__now` = 0 AND `q_15`.`__moved` < 0
      )
      OR (
        `q_15`.`__now` > 0 AND `q_15`.`__now` = `q_15`.`__moved`
      )
  ) AS `q_16`
  GROUP BY
    `q_16`.`a`
) AS `q_17`
WHERE
  `q_17`.`__count` <> 0;

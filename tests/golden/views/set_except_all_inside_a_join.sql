-- Below the top: the affected groups, in both states.
-- changes: r insert delete
SELECT s.c, w.a FROM s JOIN (SELECT a FROM r EXCEPT ALL SELECT b FROM r) w ON w.a = s.b

-- generated --------------------------------------------------------------------------
-- bag extent, by c, a
SELECT
  `s`.`c` AS `c`,
  `q_3`.`a_5` AS `a`
FROM `after`.`s` AS `s`
JOIN (
  SELECT
    `q_2`.`a_5` AS `a_5`,
    `q_2`.`__rows_rows` AS `__rows_rows`,
    `q_2`.`__n_lefts` AS `__n_lefts`,
    `g`.`copy` AS `copy`
  FROM (
    SELECT
      `q`.`a_4` AS `a_5`,
      COUNT(*) AS `__rows_rows`,
      COUNT(`q`.`left`) AS `__n_lefts`
    FROM (
      SELECT
        `r`.`a` AS `a_4`,
        1 AS `left`
      FROM `after`.`r` AS `r`
      UNION ALL
      SELECT
        `r_2`.`b` AS `a_4`,
        CAST(NULL AS INT) AS `left`
      FROM `after`.`r` AS `r_2`
    ) AS `q`
    GROUP BY
      `q`.`a_4`
  ) AS `q_2`
  LATERAL VIEW
  EXPLODE(
    ARRAY_REPEAT(
      1,
      CAST(CASE
        WHEN (
          `q_2`.`__n_lefts` + `q_2`.`__n_lefts` - `q_2`.`__rows_rows`
        ) > 0
        THEN `q_2`.`__n_lefts` + `q_2`.`__n_lefts` - `q_2`.`__rows_rows`
        ELSE 0
      END AS INT)
    )
  ) g AS `copy`
) AS `q_3`
  ON `q_3`.`a_5` = `s`.`b`;

-- readers
SELECT
  `__extent`.`c` AS `c`,
  `__extent`.`a` AS `a`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
WITH `__part` AS (
  SELECT
    `r`.`a` AS `a_4`,
    1 AS `left`,
    `r`.`__count` AS `__count`
  FROM `delta`.`r` AS `r`
  UNION ALL
  SELECT
    `r_2`.`b` AS `a_4`,
    CAST(NULL AS INT) AS `left`,
    `r_2`.`__count` AS `__count`
  FROM `delta`.`r` AS `r_2`
)
SELECT
  `q_7`.`c` AS `c`,
  `q_7`.`a` AS `a`,
  `q_7`.`__count` AS `__count`
FROM (
  SELECT
    `s`.`c` AS `c`,
    `q_6`.`a_5` AS `a`,
    SUM(`q_6`.`__count`) AS `__count`
  FROM (
    SELECT
      `q_5`.`a_5` AS `a_5`,
      IF(
        `q_5`.`__count` < 0,
        COALESCE(`q_5`.`__after___rows_rows`, 0) - COALESCE(`q_5`.`__change___rows_rows`, 0),
        COALESCE(`q_5`.`__after___rows_rows`, 0)
      ) AS `__rows_rows`,
      IF(
        `q_5`.`__count` < 0,
        COALESCE(`q_5`.`__after___n_lefts`, 0) - COALESCE(`q_5`.`__change___n_lefts`, 0),
        COALESCE(`q_5`.`__after___n_lefts`, 0)
      ) AS `__n_lefts`,
      `q_5`.`__count` AS `__count`,
      `g_2`.`copy` AS `copy`
    FROM (
      SELECT
        `q_4`.`a_5` AS `a_5`,
        `q_4`.`__after___rows_rows` AS `__after___rows_rows`,
        `q_4`.`__change___rows_rows` AS `__change___rows_rows`,
        `q_4`.`__values___rows_rows` AS `__values___rows_rows`,
        `q_4`.`__after___n_lefts` AS `__after___n_lefts`,
        `q_4`.`__change___n_lefts` AS `__change___n_lefts`,
        `q_4`.`__values___n_lefts` AS `__values___n_lefts`,
        `q_4`.`__rows_after` AS `__rows_after`,
        `q_4`.`__rows_before` AS `__rows_before`,
        `g`.`__count` AS `__count`
      FROM (
        SELECT
          `q_3`.`a_5` AS `a_5`,
          SUM(IF(`q_3`.`__is_after` = 1, `q_3`.`__value___rows_rows`, NULL)) AS `__after___rows_rows`,
          SUM(IF(`q_3`.`__is_after` = 0, `q_3`.`__value___rows_rows`, NULL)) AS `__change___rows_rows`,
          SUM(IF(`q_3`.`__value___rows_rows` IS NULL, 0, `q_3`.`__sign`)) AS `__values___rows_rows`,
          SUM(IF(`q_3`.`__is_after` = 1, `q_3`.`__value___n_lefts`, NULL)) AS `__after___n_lefts`,
          SUM(IF(`q_3`.`__is_after` = 0, `q_3`.`__value___n_lefts`, NULL)) AS `__change___n_lefts`,
          SUM(IF(`q_3`.`__value___n_lefts` IS NULL, 0, `q_3`.`__sign`)) AS `__values___n_lefts`,
          SUM(`q_3`.`__is_after`) AS `__rows_after`,
          SUM(`q_3`.`__sign`) AS `__rows_before`
        FROM (
          SELECT
            `q`.`a_4` AS `a_5`,
            1 AS `__value___rows_rows`,
            IF(`q`.`left` IS NULL, 0, 1) AS `__value___n_lefts`,
            1 AS `__is_after`,
            1 AS `__sign`
          FROM (
            SELECT
              `r_3`.`a` AS `a_4`,
              1 AS `left`
            FROM `after`.`r` AS `r_3`
            UNION ALL
            SELECT
              `r_4`.`b` AS `a_4`,
              CAST(NULL AS INT) AS `left`
            FROM `after`.`r` AS `r_4`
          ) AS `q`
          LEFT SEMI JOIN (
            SELECT
              `p`.`a_4` AS `__affected_a_5`
            FROM `__part` AS `p`
            GROUP BY
              `p`.`a_4`
          ) AS `q_2`
            ON `q`.`a_4` IS NOT DISTINCT FROM `q_2`.`__affected_a_5`
          UNION ALL
          SELECT
            `p_2`.`a_4` AS `a_5`,
            `p_2`.`__count` AS `__value___rows_rows`,
            IF(`p_2`.`left` IS NULL, 0, `p_2`.`__count`) AS `__value___n_lefts`,
            0 AS `__is_after`,
            -`p_2`.`__count` AS `__sign`
          FROM `__part` AS `p_2`
        ) AS `q_3`
        GROUP BY
          `q_3`.`a_5`
      ) AS `q_4`
      LATERAL VIEW
      EXPLODE(ARRAY(-1, 1)) g AS `__count`
    ) AS `q_5`
    LATERAL VIEW
    EXPLODE(
      ARRAY_REPEAT(
        1,
        CAST(CASE
          WHEN (
            IF(
              `q_5`.`__count` < 0,
              COALESCE(`q_5`.`__after___n_lefts`, 0) - COALESCE(`q_5`.`__change___n_lefts`, 0),
              COALESCE(`q_5`.`__after___n_lefts`, 0)
            ) + IF(
              `q_5`.`__count` < 0,
              COALESCE(`q_5`.`__after___n_lefts`, 0) - COALESCE(`q_5`.`__change___n_lefts`, 0),
              COALESCE(`q_5`.`__after___n_lefts`, 0)
            ) - IF(
              `q_5`.`__count` < 0,
              COALESCE(`q_5`.`__after___rows_rows`, 0) - COALESCE(`q_5`.`__change___rows_rows`, 0),
              COALESCE(`q_5`.`__after___rows_rows`, 0)
            )
          ) > 0
          THEN IF(
            `q_5`.`__count` < 0,
            COALESCE(`q_5`.`__after___n_lefts`, 0) - COALESCE(`q_5`.`__change___n_lefts`, 0),
            COALESCE(`q_5`.`__after___n_lefts`, 0)
          ) + IF(
            `q_5`.`__count` < 0,
            COALESCE(`q_5`.`__after___n_lefts`, 0) - COALESCE(`q_5`.`__change___n_lefts`, 0),
            COALESCE(`q_5`.`__after___n_lefts`, 0)
          ) - IF(
            `q_5`.`__count` < 0,
            COALESCE(`q_5`.`__after___rows_rows`, 0) - COALESCE(`q_5`.`__change___rows_rows`, 0),
            COALESCE(`q_5`.`__after___rows_rows`, 0)
          )
          ELSE 0
        END AS INT)
      )
    ) g_2 AS `copy`
    WHERE
      IF(`q_5`.`__count` < 0, `q_5`.`__rows_before`, `q_5`.`__rows_after`) <> 0
  ) AS `q_6`
  JOIN `after`.`s` AS `s`
    ON `q_6`.`a_5` = `s`.`b`
  GROUP BY
    `s`.`c`,
    `q_6`.`a_5`
) AS `q_7`
WHERE
  `q_7`.`__count` <> 0;

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
    `q_2`.`rows` AS `rows`,
    `q_2`.`lefts` AS `lefts`,
    `g`.`copy` AS `copy`
  FROM (
    SELECT
      `q`.`a_4` AS `a_5`,
      COUNT(*) AS `rows`,
      COUNT(`q`.`left`) AS `lefts`
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
          `q_2`.`lefts` + `q_2`.`lefts` - `q_2`.`rows`
        ) > 0
        THEN `q_2`.`lefts` + `q_2`.`lefts` - `q_2`.`rows`
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
    `q`.`a_4` AS `__affected_a_5`
  FROM (
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
  ) AS `q`
  GROUP BY
    `q`.`a_4`
)
SELECT
  `q_8`.`c` AS `c`,
  `q_8`.`a` AS `a`,
  `q_8`.`__count` AS `__count`
FROM (
  SELECT
    `s`.`c` AS `c`,
    `q_7`.`a_5` AS `a`,
    SUM(`q_7`.`__count`) AS `__count`
  FROM (
    SELECT
      `q_6`.`a_5` AS `a_5`,
      `q_6`.`rows` AS `rows`,
      `q_6`.`lefts` AS `lefts`,
      `q_6`.`__count` AS `__count`,
      `g`.`copy` AS `copy`
    FROM (
      SELECT
        `q_3`.`a_5` AS `a_5`,
        `q_3`.`rows` AS `rows`,
        `q_3`.`lefts` AS `lefts`,
        -1 AS `__count`
      FROM (
        SELECT
          `q_2`.`a_4` AS `a_5`,
          COUNT(*) AS `rows`,
          COUNT(`q_2`.`left`) AS `lefts`
        FROM (
          SELECT
            `r_3`.`a` AS `a_4`,
            1 AS `left`
          FROM `before`.`r` AS `r_3`
          UNION ALL
          SELECT
            `r_4`.`b` AS `a_4`,
            CAST(NULL AS INT) AS `left`
          FROM `before`.`r` AS `r_4`
        ) AS `q_2`
        WHERE
          EXISTS(
            SELECT
              1 AS `one`
            FROM `__part` AS `p`
            WHERE
              `q_2`.`a_4` IS NOT DISTINCT FROM `p`.`__affected_a_5`
          )
        GROUP BY
          `q_2`.`a_4`
      ) AS `q_3`
      UNION ALL
      SELECT
        `q_5`.`a_5` AS `a_5`,
        `q_5`.`rows` AS `rows`,
        `q_5`.`lefts` AS `lefts`,
        1 AS `__count`
      FROM (
        SELECT
          `q_4`.`a_4` AS `a_5`,
          COUNT(*) AS `rows`,
          COUNT(`q_4`.`left`) AS `lefts`
        FROM (
          SELECT
            `r_5`.`a` AS `a_4`,
            1 AS `left`
          FROM `after`.`r` AS `r_5`
          UNION ALL
          SELECT
            `r_6`.`b` AS `a_4`,
            CAST(NULL AS INT) AS `left`
          FROM `after`.`r` AS `r_6`
        ) AS `q_4`
        WHERE
          EXISTS(
            SELECT
              1 AS `one`
            FROM `__part` AS `p_2`
            WHERE
              `q_4`.`a_4` IS NOT DISTINCT FROM `p_2`.`__affected_a_5`
          )
        GROUP BY
          `q_4`.`a_4`
      ) AS `q_5`
    ) AS `q_6`
    LATERAL VIEW
    EXPLODE(
      ARRAY_REPEAT(
        1,
        CAST(CASE
          WHEN (
            `q_6`.`lefts` + `q_6`.`lefts` - `q_6`.`rows`
          ) > 0
          THEN `q_6`.`lefts` + `q_6`.`lefts` - `q_6`.`rows`
          ELSE 0
        END AS INT)
      )
    ) g AS `copy`
  ) AS `q_7`
  JOIN `after`.`s` AS `s`
    ON `q_7`.`a_5` = `s`.`b`
  GROUP BY
    `s`.`c`,
    `q_7`.`a_5`
) AS `q_8`
WHERE
  `q_8`.`__count` <> 0;

-- A new change table starts above the singular point.
-- changes: r insert delete
SELECT n, COUNT(*) AS groups FROM (SELECT a, COUNT(*) AS n FROM r GROUP BY a) x WHERE n > 1 GROUP BY n

-- generated --------------------------------------------------------------------------
-- aggregate extent, by n_2
SELECT
  `q_2`.`n_2` AS `n_2`,
  `q_2`.`__count` AS `__count`
FROM (
  SELECT
    `q`.`__rows_count` AS `n_2`,
    COUNT(*) AS `__count`
  FROM (
    SELECT
      `r`.`a` AS `a_2`,
      COUNT(*) AS `__rows_count`
    FROM `after`.`r` AS `r`
    GROUP BY
      `r`.`a`
  ) AS `q`
  WHERE
    `q`.`__rows_count` > 1
  GROUP BY
    `q`.`__rows_count`
) AS `q_2`;

-- readers
SELECT
  `__extent`.`n_2` AS `n`,
  `__extent`.`__count` AS `groups`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q_5`.`n_2` AS `n_2`,
  COALESCE(`q_5`.`__count`, 0) AS `__count`
FROM (
  SELECT
    IF(
      `q_4`.`__count` < 0,
      COALESCE(`q_4`.`__after___rows_count`, 0) - COALESCE(`q_4`.`__change___rows_count`, 0),
      COALESCE(`q_4`.`__after___rows_count`, 0)
    ) AS `n_2`,
    SUM(`q_4`.`__count`) AS `__count`
  FROM (
    SELECT
      `q_3`.`a_2` AS `a_2`,
      `q_3`.`__after___rows_count` AS `__after___rows_count`,
      `q_3`.`__change___rows_count` AS `__change___rows_count`,
      `q_3`.`__values___rows_count` AS `__values___rows_count`,
      `q_3`.`__rows_after` AS `__rows_after`,
      `q_3`.`__rows_before` AS `__rows_before`,
      `g`.`__count` AS `__count`
    FROM (
      SELECT
        `q_2`.`a_2` AS `a_2`,
        SUM(IF(`q_2`.`__is_after` = 1, `q_2`.`__value___rows_count`, NULL)) AS `__after___rows_count`,
        SUM(IF(`q_2`.`__is_after` = 0, `q_2`.`__value___rows_count`, NULL)) AS `__change___rows_count`,
        SUM(IF(`q_2`.`__value___rows_count` IS NULL, 0, `q_2`.`__sign`)) AS `__values___rows_count`,
        SUM(`q_2`.`__is_after`) AS `__rows_after`,
        SUM(`q_2`.`__sign`) AS `__rows_before`
      FROM (
        SELECT
          `r`.`a` AS `a_2`,
          1 AS `__value___rows_count`,
          1 AS `__is_after`,
          1 AS `__sign`
        FROM `after`.`r` AS `r`
        LEFT SEMI JOIN (
          SELECT
            `r_2`.`a` AS `__affected_a_2`
          FROM `delta`.`r` AS `r_2`
          GROUP BY
            `r_2`.`a`
        ) AS `q`
          ON `r`.`a` IS NOT DISTINCT FROM `q`.`__affected_a_2`
        UNION ALL
        SELECT
          `r_3`.`a` AS `a_2`,
          `r_3`.`__count` AS `__value___rows_count`,
          0 AS `__is_after`,
          -`r_3`.`__count` AS `__sign`
        FROM `delta`.`r` AS `r_3`
      ) AS `q_2`
      GROUP BY
        `q_2`.`a_2`
    ) AS `q_3`
    LATERAL VIEW
    EXPLODE(ARRAY(-1, 1)) g AS `__count`
  ) AS `q_4`
  WHERE
    IF(`q_4`.`__count` < 0, `q_4`.`__rows_before`, `q_4`.`__rows_after`) <> 0
    AND IF(
      `q_4`.`__count` < 0,
      COALESCE(`q_4`.`__after___rows_count`, 0) - COALESCE(`q_4`.`__change___rows_count`, 0),
      COALESCE(`q_4`.`__after___rows_count`, 0)
    ) > 1
  GROUP BY
    IF(
      `q_4`.`__count` < 0,
      COALESCE(`q_4`.`__after___rows_count`, 0) - COALESCE(`q_4`.`__change___rows_count`, 0),
      COALESCE(`q_4`.`__after___rows_count`, 0)
    )
) AS `q_5`
WHERE
  `q_5`.`__count` <> 0;

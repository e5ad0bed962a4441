-- Readers repeat each row as often as both sides have it.
-- changes: r insert delete, s insert delete
SELECT a, b FROM r INTERSECT ALL SELECT b, b FROM s

-- generated --------------------------------------------------------------------------
-- aggregate extent, by a_4, b_7
SELECT
  `q_2`.`a_4` AS `a_4`,
  `q_2`.`b_7` AS `b_7`,
  `q_2`.`__count` AS `__count`,
  `q_2`.`__n_lefts` AS `__n_lefts`
FROM (
  SELECT
    `q`.`a_3` AS `a_4`,
    `q`.`b_6` AS `b_7`,
    COUNT(*) AS `__count`,
    COUNT(`q`.`left`) AS `__n_lefts`
  FROM (
    SELECT
      `r`.`a` AS `a_3`,
      `r`.`b` AS `b_6`,
      1 AS `left`
    FROM `after`.`r` AS `r`
    UNION ALL
    SELECT
      `s`.`b` AS `a_3`,
      `s`.`b` AS `b_6`,
      CAST(NULL AS INT) AS `left`
    FROM `after`.`s` AS `s`
  ) AS `q`
  GROUP BY
    `q`.`a_3`,
    `q`.`b_6`
) AS `q_2`;

-- readers
SELECT
  `q`.`a_4` AS `a`,
  `q`.`b_7` AS `b`
FROM (
  SELECT
    `__extent`.`a_4` AS `a_4`,
    `__extent`.`b_7` AS `b_7`,
    `__extent`.`__count` AS `__count`,
    `__extent`.`__n_lefts` AS `__n_lefts`,
    `g`.`copy` AS `copy`
  FROM `__extent` AS `__extent`
  LATERAL VIEW
  EXPLODE(
    ARRAY_REPEAT(
      1,
      CAST(CASE
        WHEN `__extent`.`__n_lefts` < `__extent`.`__count` - `__extent`.`__n_lefts`
        THEN `__extent`.`__n_lefts`
        ELSE `__extent`.`__count` - `__extent`.`__n_lefts`
      END AS INT)
    )
  ) g AS `copy`
) AS `q`;

-- maintenance: change table
SELECT
  `q_2`.`a_4` AS `a_4`,
  `q_2`.`b_7` AS `b_7`,
  COALESCE(`q_2`.`__count`, 0) AS `__count`,
  COALESCE(`q_2`.`__n_lefts`, 0) AS `__n_lefts`
FROM (
  SELECT
    `q`.`a_3` AS `a_4`,
    `q`.`b_6` AS `b_7`,
    SUM(`q`.`__count`) AS `__count`,
    SUM(IF(`q`.`left` IS NULL, 0, `q`.`__count`)) AS `__n_lefts`
  FROM (
    SELECT
      `r`.`a` AS `a_3`,
      `r`.`b` AS `b_6`,
      1 AS `left`,
      `r`.`__count` AS `__count`
    FROM `delta`.`r` AS `r`
    UNION ALL
    SELECT
      `s`.`b` AS `a_3`,
      `s`.`b` AS `b_6`,
      CAST(NULL AS INT) AS `left`,
      `s`.`__count` AS `__count`
    FROM `delta`.`s` AS `s`
  ) AS `q`
  GROUP BY
    `q`.`a_3`,
    `q`.`b_6`
) AS `q_2`
WHERE
  `q_2`.`__count` <> 0 OR `q_2`.`__n_lefts` <> 0;

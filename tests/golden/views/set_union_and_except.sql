-- Both sides are grouped at once, tagged; readers select by the counts.
-- changes: r insert delete, s insert
SELECT a AS x FROM r UNION SELECT b FROM r EXCEPT SELECT b FROM s

-- generated --------------------------------------------------------------------------
-- aggregate extent, by x_5
SELECT
  `q_4`.`x_5` AS `x_5`,
  `q_4`.`__count` AS `__count`,
  `q_4`.`__n_lefts` AS `__n_lefts`
FROM (
  SELECT
    `q_3`.`x_4` AS `x_5`,
    COUNT(*) AS `__count`,
    COUNT(`q_3`.`left`) AS `__n_lefts`
  FROM (
    SELECT
      `q_2`.`x_3` AS `x_4`,
      1 AS `left`
    FROM (
      SELECT
        `q`.`x_2` AS `x_3`
      FROM (
        SELECT
          `r`.`a` AS `x_2`
        FROM `after`.`r` AS `r`
        UNION ALL
        SELECT
          `r_2`.`b` AS `x_2`
        FROM `after`.`r` AS `r_2`
      ) AS `q`
      GROUP BY
        `q`.`x_2`
    ) AS `q_2`
    UNION ALL
    SELECT
      `s`.`b` AS `x_4`,
      CAST(NULL AS INT) AS `left`
    FROM `after`.`s` AS `s`
  ) AS `q_3`
  GROUP BY
    `q_3`.`x_4`
) AS `q_4`;

-- readers
SELECT
  `__extent`.`x_5` AS `x`
FROM `__extent` AS `__extent`
WHERE
  `__extent`.`__n_lefts` = `__extent`.`__count`;

-- maintenance: change table
WITH `__part` AS (
  SELECT
    `q`.`x_2` AS `__affected_x_3`
  FROM (
    SELECT
      `r`.`a` AS `x_2`,
      `r`.`__count` AS `__count`
    FROM `delta`.`r` AS `r`
    UNION ALL
    SELECT
      `r_2`.`b` AS `x_2`,
      `r_2`.`__count` AS `__count`
    FROM `delta`.`r` AS `r_2`
  ) AS `q`
  GROUP BY
    `q`.`x_2`
)
SELECT
  `q_8`.`x_5` AS `x_5`,
  COALESCE(`q_8`.`__count`, 0) AS `__count`,
  COALESCE(`q_8`.`__n_lefts`, 0) AS `__n_lefts`
FROM (
  SELECT
    `q_7`.`x_4` AS `x_5`,
    SUM(`q_7`.`__count`) AS `__count`,
    SUM(IF(`q_7`.`left` IS NULL, 0, `q_7`.`__count`)) AS `__n_lefts`
  FROM (
    SELECT
      `q_6`.`x_3` AS `x_4`,
      1 AS `left`,
      `q_6`.`__count` AS `__count`
    FROM (
      SELECT
        `q_3`.`x_3` AS `x_3`,
        -1 AS `__count`
      FROM (
        SELECT
          `q_2`.`x_2` AS `x_3`
        FROM (
          SELECT
            `r_3`.`a` AS `x_2`
          FROM `before`.`r` AS `r_3`
          UNION ALL
          SELECT
            `r_4`.`b` AS `x_2`
          FROM `before`.`r` AS `r_4`
        ) AS `q_2`
        LEFT SEMI JOIN `__part` AS `p`
          ON `q_2`.`x_2` IS NOT DISTINCT FROM `p`.`__affected_x_3`
        GROUP BY
          `q_2`.`x_2`
      ) AS `q_3`
      UNION ALL
      SELECT
        `q_5`.`x_3` AS `x_3`,
        1 AS `__count`
      FROM (
        SELECT
          `q_4`.`x_2` AS `x_3`
        FROM (
          SELECT
            `r_5`.`a` AS `x_2`
          FROM `after`.`r` AS `r_5`
          UNION ALL
          SELECT
            `r_6`.`b` AS `x_2`
          FROM `after`.`r` AS `r_6`
        ) AS `q_4`
        LEFT SEMI JOIN `__part` AS `p_2`
          ON `q_4`.`x_2` IS NOT DISTINCT FROM `p_2`.`__affected_x_3`
        GROUP BY
          `q_4`.`x_2`
      ) AS `q_5`
    ) AS `q_6`
    UNION ALL
    SELECT
      `s`.`b` AS `x_4`,
      CAST(NULL AS INT) AS `left`,
      `s`.`__count` AS `__count`
    FROM `delta`.`s` AS `s`
  ) AS `q_7`
  GROUP BY
    `q_7`.`x_4`
) AS `q_8`
WHERE
  `q_8`.`__count` <> 0 OR `q_8`.`__n_lefts` <> 0;

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
    `q`.`count` AS `n_2`,
    COUNT(*) AS `__count`
  FROM (
    SELECT
      `r`.`a` AS `a_2`,
      COUNT(*) AS `count`
    FROM `after`.`r` AS `r`
    GROUP BY
      `r`.`a`
  ) AS `q`
  WHERE
    `q`.`count` > 1
  GROUP BY
    `q`.`count`
) AS `q_2`;

-- readers
SELECT
  `__extent`.`n_2` AS `n`,
  `__extent`.`__count` AS `groups`
FROM `__extent` AS `__extent`;

-- maintenance: change table
WITH `__part` AS (
  SELECT
    `r`.`a` AS `__affected_a_2`
  FROM `delta`.`r` AS `r`
  GROUP BY
    `r`.`a`
)
SELECT
  `q_4`.`n_2` AS `n_2`,
  COALESCE(`q_4`.`__count`, 0) AS `__count`
FROM (
  SELECT
    `q_3`.`count` AS `n_2`,
    SUM(`q_3`.`__count`) AS `__count`
  FROM (
    SELECT
      `q`.`a_2` AS `a_2`,
      `q`.`count` AS `count`,
      -1 AS `__count`
    FROM (
      SELECT
        `r_2`.`a` AS `a_2`,
        COUNT(*) AS `count`
      FROM `before`.`r` AS `r_2`
      WHERE
        EXISTS(
          SELECT
            1 AS `one`
          FROM `__part` AS `p`
          WHERE
            `r_2`.`a` IS NOT DISTINCT FROM `p`.`__affected_a_2`
        )
      GROUP BY
        `r_2`.`a`
    ) AS `q`
    UNION ALL
    SELECT
      `q_2`.`a_2` AS `a_2`,
      `q_2`.`count` AS `count`,
      1 AS `__count`
    FROM (
      SELECT
        `r_3`.`a` AS `a_2`,
        COUNT(*) AS `count`
      FROM `after`.`r` AS `r_3`
      WHERE
        EXISTS(
          SELECT
            1 AS `one`
          FROM `__part` AS `p_2`
          WHERE
            `r_3`.`a` IS NOT DISTINCT FROM `p_2`.`__affected_a_2`
        )
      GROUP BY
        `r_3`.`a`
    ) AS `q_2`
  ) AS `q_3`
  WHERE
    `q_3`.`count` > 1
  GROUP BY
    `q_3`.`count`
) AS `q_4`
WHERE
  `q_4`.`__count` <> 0;

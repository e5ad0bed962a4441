-- Below OR the subquery is a column.
-- changes: r insert delete, s insert delete
SELECT a FROM r WHERE a = 3 OR b IN (SELECT b FROM s)

-- generated --------------------------------------------------------------------------
-- bag extent, by a
SELECT
  `q`.`a` AS `a`
FROM (
  SELECT
    `r`.`a` AS `a`,
    `r`.`b` AS `b`,
    EXISTS(
      SELECT
        1 AS `one`
      FROM `after`.`s` AS `s`
      WHERE
        `r`.`b` = `s`.`b`
    ) AS `mark`
  FROM `after`.`r` AS `r`
) AS `q`
WHERE
  `q`.`a` = 3 OR `q`.`mark`;

-- readers
SELECT
  `__extent`.`a` AS `a`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
WITH `__part` AS (
  SELECT
    `q_2`.`__partner_0` AS `__partner_0`,
    SUM(`q_2`.`__now`) AS `__now`,
    SUM(`q_2`.`__moved`) AS `__moved`
  FROM (
    SELECT
      `s`.`b` AS `__partner_0`,
      0 AS `__now`,
      `s`.`__count` AS `__moved`
    FROM `delta`.`s` AS `s`
    UNION ALL
    SELECT
      `s_3`.`b` AS `__partner_0`,
      1 AS `__now`,
      0 AS `__moved`
    FROM (
      SELECT
        `s_2`.`b` AS `__sought_0`
      FROM `delta`.`s` AS `s_2`
      GROUP BY
        `s_2`.`b`
    ) AS `q`
    JOIN `after`.`s` AS `s_3`
      ON `q`.`__sought_0` = `s_3`.`b`
  ) AS `q_2`
  GROUP BY
    `q_2`.`__partner_0`
)
SELECT
  `q_6`.`a` AS `a`,
  `q_6`.`__count` AS `__count`
FROM (
  SELECT
    `q_5`.`a` AS `a`,
    SUM(`q_5`.`__count`) AS `__count`
  FROM (
    SELECT
      `q_4`.`a` AS `a`,
      `q_4`.`b` AS `b`,
      `q_4`.`mark` AS `mark`,
      `q_4`.`__count` AS `__count`
    FROM (
      SELECT
        `r`.`a` AS `a`,
        `r`.`b` AS `b`,
        `r`.`__count` AS `__count`,
        EXISTS(
          SELECT
            1 AS `one`
          FROM (
            SELECT
              `r_2`.`b` AS `__near_0`
            FROM `delta`.`r` AS `r_2`
            GROUP BY
              `r_2`.`b`
          ) AS `q_3`
          JOIN `after`.`s` AS `s_4`
            ON `q_3`.`__near_0` = `s_4`.`b`
          WHERE
            `r`.`b` = `s_4`.`b`
        ) AS `mark`
      FROM `delta`.`r` AS `r`
    ) AS `q_4`
    UNION ALL
    SELECT
      `r_3`.`a` AS `a`,
      `r_3`.`b` AS `b`,
      FALSE AS `mark`,
      IF(`p`.`__now` = 0, 1, -1) AS `__count`
    FROM `__part` AS `p`
    JOIN `before`.`r` AS `r_3`
      ON `r_3`.`b` = `p`.`__partner_0`
    WHERE
      (
        `p`.`__now` = 0 AND `p`.`__moved` < 0
      )
      OR (
        `p`.`__now` > 0 AND `p`.`__now` = `p`.`__moved`
      )
    UNION ALL
    SELECT
      `r_4`.`a` AS `a`,
      `r_4`.`b` AS `b`,
      TRUE AS `mark`,
      (
        -IF(`p_2`.`__now` = 0, 1, -1)
      ) AS `__count`
    FROM `__part` AS `p_2`
    JOIN `before`.`r` AS `r_4`
      ON `r_4`.`b` = `p_2`.`__partner_0`
    WHERE
      (
        `p_2`.`__now` = 0 AND `p_2`.`__moved` < 0
      )
      OR (
        `p_2`.`__now` > 0 AND `p_2`.`__now` = `p_2`.`__moved`
      )
  ) AS `q_5`
  WHERE
    `q_5`.`a` = 3 OR `q_5`.`mark`
  GROUP BY
    `q_5`.`a`
) AS `q_6`
WHERE
  `q_6`.`__count` <> 0;

-- NOT IN with NULLs: whatever may be equal is a partner.
-- changes: s insert delete
SELECT a, b FROM r WHERE b NOT IN (SELECT b FROM s)

-- generated --------------------------------------------------------------------------
-- bag extent, by a, b
SELECT
  `r`.`a` AS `a`,
  `r`.`b` AS `b`
FROM `after`.`r` AS `r`
LEFT ANTI JOIN `after`.`s` AS `s`
  ON `r`.`b` = `s`.`b` OR (
    `r`.`b` = `s`.`b`
  ) IS NULL;

-- readers
SELECT
  `__extent`.`a` AS `a`,
  `__extent`.`b` AS `b`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
WITH `__part` AS (
  SELECT
    `r`.`b` AS `b`
  FROM `delta`.`s` AS `s`
  JOIN `after`.`r` AS `r`
    ON `r`.`b` = `s`.`b` OR (
      `r`.`b` = `s`.`b`
    ) IS NULL
  GROUP BY
    `r`.`b`
)
SELECT
  `q_3`.`a` AS `a`,
  `q_3`.`b` AS `b`,
  `q_3`.`__count` AS `__count`
FROM (
  SELECT
    `r_2`.`a` AS `a`,
    `r_2`.`b` AS `b`,
    SUM(IF(`q_2`.`__now` = 0, 1, -1)) AS `__count`
  FROM (
    SELECT
      `q`.`__partner_0` AS `__partner_0`,
      SUM(`q`.`__now`) AS `__now`,
      SUM(`q`.`__moved`) AS `__moved`
    FROM (
      SELECT
        `p`.`b` AS `__partner_0`,
        0 AS `__now`,
        `s_2`.`__count` AS `__moved`
      FROM `__part` AS `p`
      JOIN `delta`.`s` AS `s_2`
        ON `p`.`b` = `s_2`.`b` OR (
          `p`.`b` = `s_2`.`b`
        ) IS NULL
      UNION ALL
      SELECT
        `p_2`.`b` AS `__partner_0`,
        1 AS `__now`,
        0 AS `__moved`
      FROM `__part` AS `p_2`
      JOIN `after`.`s` AS `s_3`
        ON `p_2`.`b` = `s_3`.`b` OR (
          `p_2`.`b` = `s_3`.`b`
        ) IS NULL
    ) AS `q`
    GROUP BY
      `q`.`__partner_0`
  ) AS `q_2`
  JOIN `after`.`r` AS `r_2`
    ON `r_2`.`b` IS NOT DISTINCT FROM `q_2`.`__partner_0`
  WHERE
    (
      `q_2`.`__now` = 0 AND `q_2`.`__moved` < 0
    )
    OR (
      `q_2`.`__now` > 0 AND `q_2`.`__now` = `q_2`.`__moved`
    )
  GROUP BY
    `r_2`.`a`,
    `r_2`.`b`
) AS `q_3`
WHERE
  `q_3`.`__count` <> 0;

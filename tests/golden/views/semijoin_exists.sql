-- EXISTS is a semi join.
-- changes: r insert delete, s insert delete
SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.b = r.b AND s.c > 5)

-- generated --------------------------------------------------------------------------
-- bag extent, by a
SELECT
  `r`.`a` AS `a`
FROM `after`.`r` AS `r`
LEFT SEMI JOIN (
  SELECT
    `s`.`b` AS `b_2`,
    `s`.`c` AS `c`
  FROM `after`.`s` AS `s`
  WHERE
    `s`.`c` > 5
) AS `q`
  ON `q`.`b_2` = `r`.`b`;

-- readers
SELECT
  `__extent`.`a` AS `a`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_7`.`a` AS `a`,
  `q_7`.`__count` AS `__count`
FROM (
  SELECT
    `q_6`.`a` AS `a`,
    SUM(`q_6`.`__count`) AS `__count`
  FROM (
    SELECT
      `r`.`a` AS `a`,
      `r`.`b` AS `b`,
      `r`.`__count` AS `__count`
    FROM `delta`.`r` AS `r`
    LEFT SEMI JOIN (
      SELECT
        `s`.`b` AS `b_2`,
        `s`.`c` AS `c`
      FROM (
        SELECT
          `r_2`.`b` AS `__near_0`
        FROM `delta`.`r` AS `r_2`
        GROUP BY
          `r_2`.`b`
      ) AS `q`
      JOIN `after`.`s` AS `s`
        ON `q`.`__near_0` = `s`.`b`
      WHERE
        `s`.`c` > 5
    ) AS `q_2`
      ON `q_2`.`b_2` = `r`.`b`
    UNION ALL
    SELECT
      `r_3`.`a` AS `a`,
      `r_3`.`b` AS `b`,
      -IF(`q_5`.`__now` = 0, 1, -1) AS `__count`
    FROM (
      SELECT
        `q_4`.`__partner_0` AS `__partner_0`,
        SUM(`q_4`.`__now`) AS `__now`,
        SUM(`q_4`.`__moved`) AS `__moved`
      FROM (
        SELECT
          `s_2`.`b` AS `__partner_0`,
          0 AS `__now`,
          `s_2`.`__count` AS `__moved`
        FROM `delta`.`s` AS `s_2`
        WHERE
          `s_2`.`c` > 5
        UNION ALL
        SELECT
          `s_4`.`b` AS `__partner_0`,
          1 AS `__now`,
          0 AS `__moved`
        FROM (
          SELECT
            `s_3`.`b` AS `__sought_0`
          FROM `delta`.`s` AS `s_3`
          WHERE
            `s_3`.`c` > 5
          GROUP BY
            `s_3`.`b`
        ) AS `q_3`
        JOIN `after`.`s` AS `s_4`
          ON `q_3`.`__sought_0` = `s_4`.`b`
        WHERE
          `s_4`.`c` > 5
      ) AS `q_4`
      GROUP BY
        `q_4`.`__partner_0`
    ) AS `q_5`
    JOIN `before`.`r` AS `r_3`
      ON `r_3`.`b` = `q_5`.`__partner_0`
    WHERE
      (
        `q_5`.`__now` = 0 AND `q_5`.`__moved` < 0
      )
      OR (
        `q_5`.`__now` > 0 AND `q_5`.`__now` = `q_5`.`__moved`
      )
  ) AS `q_6`
  GROUP BY
    `q_6`.`a`
) AS `q_7`
WHERE
  `q_7`.`__count` <> 0;

-- Uncorrelated: a cross join with one row.
-- changes: r insert delete
SELECT b, c FROM s WHERE c > (SELECT SUM(a) FROM r)

-- generated --------------------------------------------------------------------------
-- bag extent, by b, c
SELECT
  `s`.`b` AS `b`,
  `s`.`c` AS `c`
FROM `after`.`s` AS `s`
JOIN (
  SELECT
    COUNT(`r`.`a`) AS `__n_sum_a`,
    SUM(`r`.`a`) AS `__sum_sum_a`
  FROM `after`.`r` AS `r`
) AS `q`
  ON `s`.`c` > CASE WHEN `q`.`__n_sum_a` = 0 THEN NULL ELSE CAST(`q`.`__sum_sum_a` AS BIGINT) END;

-- readers
SELECT
  `__extent`.`b` AS `b`,
  `__extent`.`c` AS `c`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_4`.`b` AS `b`,
  `q_4`.`c` AS `c`,
  `q_4`.`__count` AS `__count`
FROM (
  SELECT
    `s`.`b` AS `b`,
    `s`.`c` AS `c`,
    SUM(`q_3`.`__count`) AS `__count`
  FROM (
    SELECT
      `q_2`.`__after___n_sum_a` AS `__after___n_sum_a`,
      `q_2`.`__change___n_sum_a` AS `__change___n_sum_a`,
      `q_2`.`__values___n_sum_a` AS `__values___n_sum_a`,
      `q_2`.`__after___sum_sum_a` AS `__after___sum_sum_a`,
      `q_2`.`__change___sum_sum_a` AS `__change___sum_sum_a`,
      `q_2`.`__values___sum_sum_a` AS `__values___sum_sum_a`,
      `q_2`.`__rows_after` AS `__rows_after`,
      `q_2`.`__rows_before` AS `__rows_before`,
      `g`.`__count` AS `__count`
    FROM (
      SELECT
        SUM(IF(`q`.`__is_after` = 1, `q`.`__value___n_sum_a`, NULL)) AS `__after___n_sum_a`,
        SUM(IF(`q`.`__is_after` = 0, `q`.`__value___n_sum_a`, NULL)) AS `__change___n_sum_a`,
        SUM(IF(`q`.`__value___n_sum_a` IS NULL, 0, `q`.`__sign`)) AS `__values___n_sum_a`,
        SUM(IF(`q`.`__is_after` = 1, `q`.`__value___sum_sum_a`, NULL)) AS `__after___sum_sum_a`,
        SUM(IF(`q`.`__is_after` = 0, `q`.`__value___sum_sum_a`, NULL)) AS `__change___sum_sum_a`,
        SUM(IF(`q`.`__value___sum_sum_a` IS NULL, 0, `q`.`__sign`)) AS `__values___sum_sum_a`,
        SUM(`q`.`__is_after`) AS `__rows_after`,
        SUM(`q`.`__sign`) AS `__rows_before`
      FROM (
        SELECT
          IF(`r`.`a` IS NULL, 0, 1) AS `__value___n_sum_a`,
          `r`.`a` AS `__value___sum_sum_a`,
          1 AS `__is_after`,
          1 AS `__sign`
        FROM `after`.`r` AS `r`
        UNION ALL
        SELECT
          IF(`r_2`.`a` IS NULL, 0, `r_2`.`__count`) AS `__value___n_sum_a`,
          IF(`r_2`.`__count` < 0, -`r_2`.`a`, `r_2`.`a`) AS `__value___sum_sum_a`,
          0 AS `__is_after`,
          -`r_2`.`__count` AS `__sign`
        FROM `delta`.`r` AS `r_2`
      ) AS `q`
    ) AS `q_2`
    LATERAL VIEW
    EXPLODE(ARRAY(-1, 1)) g AS `__count`
  ) AS `q_3`
  JOIN `after`.`s` AS `s`
    ON `s`.`c` > CASE
      WHEN IF(
        `q_3`.`__count` < 0,
        COALESCE(`q_3`.`__after___n_sum_a`, 0) - COALESCE(`q_3`.`__change___n_sum_a`, 0),
        COALESCE(`q_3`.`__after___n_sum_a`, 0)
      ) = 0
      THEN NULL
      ELSE CAST(IF(
        `q_3`.`__count` < 0,
        IF(
          COALESCE(`q_3`.`__values___sum_sum_a`, 0) = 0,
          NULL,
          COALESCE(`q_3`.`__after___sum_sum_a`, 0) - COALESCE(`q_3`.`__change___sum_sum_a`, 0)
        ),
        `q_3`.`__after___sum_sum_a`
      ) AS BIGINT)
    END
  GROUP BY
    `s`.`b`,
    `s`.`c`
) AS `q_4`
WHERE
  `q_4`.`__count` <> 0;

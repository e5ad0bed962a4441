-- A generator works row by row: the changed rows alone are exploded.
-- changes: r insert delete
SELECT s.c, e.pos, e.v FROM r JOIN s ON r.b = s.b LATERAL VIEW OUTER posexplode(array(r.a, s.c)) e AS pos, v WHERE v > 1

-- generated --------------------------------------------------------------------------
-- bag extent, by c, pos, v
SELECT
  `q`.`c` AS `c`,
  `q`.`pos` AS `pos`,
  `q`.`v` AS `v`
FROM (
  SELECT
    `r`.`a` AS `a`,
    `r`.`b` AS `b`,
    `s`.`b` AS `b_2`,
    `s`.`c` AS `c`,
    `g`.`pos` AS `pos`,
    `g`.`v` AS `v`
  FROM `after`.`r` AS `r`
  JOIN `after`.`s` AS `s`
    ON `r`.`b` = `s`.`b`
  LATERAL VIEW OUTER
  POSEXPLODE(ARRAY(`r`.`a`, `s`.`c`)) g AS `pos`, `v`
) AS `q`
WHERE
  `q`.`v` > 1;

-- readers
SELECT
  `__extent`.`c` AS `c`,
  `__extent`.`pos` AS `pos`,
  `__extent`.`v` AS `v`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_2`.`c` AS `c`,
  `q_2`.`pos` AS `pos`,
  `q_2`.`v` AS `v`,
  `q_2`.`__count` AS `__count`
FROM (
  SELECT
    `q`.`c` AS `c`,
    `q`.`pos` AS `pos`,
    `q`.`v` AS `v`,
    SUM(`q`.`__count`) AS `__count`
  FROM (
    SELECT
      `r`.`a` AS `a`,
      `r`.`b` AS `b`,
      `s`.`b` AS `b_2`,
      `s`.`c` AS `c`,
      `r`.`__count` AS `__count`,
      `g`.`pos` AS `pos`,
      `g`.`v` AS `v`
    FROM `delta`.`r` AS `r`
    JOIN `after`.`s` AS `s`
      ON `r`.`b` = `s`.`b`
    LATERAL VIEW OUTER
    POSEXPLODE(ARRAY(`r`.`a`, `s`.`c`)) g AS `pos`, `v`
  ) AS `q`
  WHERE
    `q`.`v` > 1
  GROUP BY
    `q`.`c`,
    `q`.`pos`,
    `q`.`v`
) AS `q_2`
WHERE
  `q_2`.`__count` <> 0;

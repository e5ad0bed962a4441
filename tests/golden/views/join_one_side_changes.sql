-- One changed input, one term; the other table is only looked up.
-- changes: s insert delete
SELECT r.a, s.c FROM r JOIN s ON r.b = s.b WHERE s.c > 1

-- generated --------------------------------------------------------------------------
-- bag extent, by a, c
SELECT
  `r`.`a` AS `a`,
  `s`.`c` AS `c`
FROM `after`.`r` AS `r`
JOIN `after`.`s` AS `s`
  ON `r`.`b` = `s`.`b`
WHERE
  `s`.`c` > 1;

-- readers
SELECT
  `__extent`.`a` AS `a`,
  `__extent`.`c` AS `c`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q`.`a` AS `a`,
  `q`.`c` AS `c`,
  `q`.`__count` AS `__count`
FROM (
  SELECT
    `r`.`a` AS `a`,
    `s`.`c` AS `c`,
    SUM(`s`.`__count`) AS `__count`
  FROM `delta`.`s` AS `s`
  JOIN `after`.`r` AS `r`
    ON `r`.`b` = `s`.`b`
  WHERE
    `s`.`c` > 1
  GROUP BY
    `r`.`a`,
    `s`.`c`
) AS `q`
WHERE
  `q`.`__count` <> 0;

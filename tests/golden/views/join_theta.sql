-- Any predicate joins; what touches one input alone is applied to it first.
-- changes: r insert delete
SELECT r.a, s.c FROM r JOIN s ON r.b < s.b AND r.a IS NOT NULL AND s.c <> 5

-- generated --------------------------------------------------------------------------
-- bag extent, by a, c
SELECT
  `r`.`a` AS `a`,
  `s`.`c` AS `c`
FROM `after`.`r` AS `r`
JOIN `after`.`s` AS `s`
  ON `r`.`b` < `s`.`b`
WHERE
  NOT `r`.`a` IS NULL AND `s`.`c` <> 5;

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
    SUM(`r`.`__count`) AS `__count`
  FROM `delta`.`r` AS `r`
  JOIN `after`.`s` AS `s`
    ON `r`.`b` < `s`.`b`
  WHERE
    NOT `r`.`a` IS NULL AND `s`.`c` <> 5
  GROUP BY
    `r`.`a`,
    `s`.`c`
) AS `q`
WHERE
  `q`.`__count` <> 0;

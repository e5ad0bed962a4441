-- The first rows are those with the least row numbers.
-- changes: sales insert delete
SELECT store, SUM(price) AS total FROM sales GROUP BY store ORDER BY total DESC, store LIMIT 2

-- generated --------------------------------------------------------------------------
-- aggregate extent, by store_2
SELECT
  `q`.`store_2` AS `store_2`,
  `q`.`__count` AS `__count`,
  `q`.`__n___n_sum_price` AS `__n___n_sum_price`,
  COALESCE(`q`.`__sum___sum_sum_price`, 0) AS `__sum___sum_sum_price`
FROM (
  SELECT
    `sales`.`store` AS `store_2`,
    COUNT(*) AS `__count`,
    COUNT(`sales`.`price`) AS `__n___n_sum_price`,
    SUM(`sales`.`price`) AS `__sum___sum_sum_price`
  FROM `after`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`;

-- readers
SELECT
  `q`.`store_2` AS `store`,
  CASE
    WHEN `q`.`__n___n_sum_price` = 0
    THEN NULL
    ELSE CAST(CASE
      WHEN `q`.`__n___n_sum_price` = 0
      THEN NULL
      ELSE CAST(`q`.`__sum___sum_sum_price` AS DECIMAL(20, 2))
    END AS DECIMAL(20, 2))
  END AS `total`
FROM (
  SELECT
    `__extent`.`store_2` AS `store_2`,
    `__extent`.`__count` AS `__count`,
    `__extent`.`__n___n_sum_price` AS `__n___n_sum_price`,
    `__extent`.`__sum___sum_sum_price` AS `__sum___sum_sum_price`,
    ROW_NUMBER() OVER (
      ORDER BY CASE
        WHEN `__extent`.`__n___n_sum_price` = 0
        THEN NULL
        ELSE CAST(CASE
          WHEN `__extent`.`__n___n_sum_price` = 0
          THEN NULL
          ELSE CAST(`__extent`.`__sum___sum_sum_price` AS DECIMAL(20, 2))
        END AS DECIMAL(20, 2))
      END DESC, `__extent`.`store_2`
    ) AS `place`
  FROM `__extent` AS `__extent`
) AS `q`
WHERE
  `q`.`place` <= 2;

-- maintenance: change table
SELECT
  `q`.`store_2` AS `store_2`,
  COALESCE(`q`.`__count`, 0) AS `__count`,
  COALESCE(`q`.`__n___n_sum_price`, 0) AS `__n___n_sum_price`,
  COALESCE(`q`.`__sum___sum_sum_price`, 0) AS `__sum___sum_sum_price`
FROM (
  SELECT
    `sales`.`store` AS `store_2`,
    SUM(`sales`.`__count`) AS `__count`,
    SUM(IF(`sales`.`price` IS NULL, 0, `sales`.`__count`)) AS `__n___n_sum_price`,
    SUM(IF(`sales`.`__count` < 0, -`sales`.`price`, `sales`.`price`)) AS `__sum___sum_sum_price`
  FROM `delta`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`
WHERE
  `q`.`__count` <> 0
  OR `q`.`__n___n_sum_price` <> 0
  OR `q`.`__sum___sum_sum_price` <> 0;

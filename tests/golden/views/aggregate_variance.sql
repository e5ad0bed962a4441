-- Prices are summed in cents, exactly; the variance is derived without cancellation.
-- changes: sales insert delete update
SELECT store, VAR_POP(price) AS spread FROM sales GROUP BY store

-- generated --------------------------------------------------------------------------
-- aggregate extent, by store_2
SELECT
  `q`.`store_2` AS `store_2`,
  `q`.`__count` AS `__count`,
  `q`.`__n_var_pop` AS `__n_var_pop`,
  COALESCE(`q`.`__sum_var_pop`, 0) AS `__sum_var_pop`,
  COALESCE(`q`.`__xx_var_pop`, 0) AS `__xx_var_pop`
FROM (
  SELECT
    `sales`.`store` AS `store_2`,
    COUNT(*) AS `__count`,
    COUNT(`sales`.`price`) AS `__n_var_pop`,
    SUM(CAST(`sales`.`price` * 100 AS DECIMAL(20, 0))) AS `__sum_var_pop`,
    SUM(
      CAST(`sales`.`price` * 100 AS DECIMAL(20, 0)) * CAST(`sales`.`price` * 100 AS DECIMAL(20, 0))
    ) AS `__xx_var_pop`
  FROM `after`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`;

-- readers
SELECT
  `__extent`.`store_2` AS `store`,
  CASE
    WHEN `__extent`.`__n_var_pop` <= 0
    THEN NULL
    ELSE (
      GREATEST(
        CAST((
          `__extent`.`__xx_var_pop` - (
            CAST(ROUND(
              CAST(`__extent`.`__sum_var_pop` AS DOUBLE) / CAST(`__extent`.`__n_var_pop` AS DOUBLE)
            ) AS DECIMAL(20, 0)) * `__extent`.`__sum_var_pop`
          )
        ) - (
          CAST(ROUND(
            CAST(`__extent`.`__sum_var_pop` AS DOUBLE) / CAST(`__extent`.`__n_var_pop` AS DOUBLE)
          ) AS DECIMAL(20, 0)) * (
            `__extent`.`__sum_var_pop` - (
              CAST(`__extent`.`__n_var_pop` AS DECIMAL(20, 0)) * CAST(ROUND(
                CAST(`__extent`.`__sum_var_pop` AS DOUBLE) / CAST(`__extent`.`__n_var_pop` AS DOUBLE)
              ) AS DECIMAL(20, 0))
            )
          )
        ) AS DOUBLE) - (
          (
            CAST(`__extent`.`__sum_var_pop` - (
              CAST(`__extent`.`__n_var_pop` AS DECIMAL(20, 0)) * CAST(ROUND(
                CAST(`__extent`.`__sum_var_pop` AS DOUBLE) / CAST(`__extent`.`__n_var_pop` AS DOUBLE)
              ) AS DECIMAL(20, 0))
            ) AS DOUBLE) * CAST(`__extent`.`__sum_var_pop` - (
              CAST(`__extent`.`__n_var_pop` AS DECIMAL(20, 0)) * CAST(ROUND(
                CAST(`__extent`.`__sum_var_pop` AS DOUBLE) / CAST(`__extent`.`__n_var_pop` AS DOUBLE)
              ) AS DECIMAL(20, 0))
            ) AS DOUBLE)
          ) / CAST(`__extent`.`__n_var_pop` AS DOUBLE)
        ),
        CAST(0 AS DOUBLE)
      ) / CAST(10000 AS DOUBLE)
    ) / CAST(`__extent`.`__n_var_pop` AS DOUBLE)
  END AS `spread`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q`.`store_2` AS `store_2`,
  COALESCE(`q`.`__count`, 0) AS `__count`,
  COALESCE(`q`.`__n_var_pop`, 0) AS `__n_var_pop`,
  COALESCE(`q`.`__sum_var_pop`, 0) AS `__sum_var_pop`,
  COALESCE(`q`.`__xx_var_pop`, 0) AS `__xx_var_pop`
FROM (
  SELECT
    `sales`.`store` AS `store_2`,
    SUM(`sales`.`__count`) AS `__count`,
    SUM(IF(`sales`.`price` IS NULL, 0, `sales`.`__count`)) AS `__n_var_pop`,
    SUM(
      IF(
        `sales`.`__count` < 0,
        -CAST(`sales`.`price` * 100 AS DECIMAL(20, 0)),
        CAST(`sales`.`price` * 100 AS DECIMAL(20, 0))
      )
    ) AS `__sum_var_pop`,
    SUM(
      IF(
        `sales`.`__count` < 0,
        -(
          CAST(`sales`.`price` * 100 AS DECIMAL(20, 0)) * CAST(`sales`.`price` * 100 AS DECIMAL(20, 0))
        ),
        CAST(`sales`.`price` * 100 AS DECIMAL(20, 0)) * CAST(`sales`.`price` * 100 AS DECIMAL(20, 0))
      )
    ) AS `__xx_var_pop`
  FROM `delta`.`sales` AS `sales`
  GROUP BY
    `sales`.`store`
) AS `q`
WHERE
  `q`.`__count` <> 0
  OR `q`.`__n_var_pop` <> 0
  OR `q`.`__sum_var_pop` <> 0
  OR `q`.`__xx_var_pop` <> 0;

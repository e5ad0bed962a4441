-- PIVOT is a grouping with one aggregate of the rows with each pair of values, which is NULL where a group has none.
-- changes: sales insert delete
SELECT * FROM (SELECT day, store, item, price FROM sales)
PIVOT (SUM(price) + 1, MIN(price) AS least FOR (store, item) IN ((1, 1), (3, 2) AS other))

-- generated --------------------------------------------------------------------------
-- aggregate extent, by day_3
SELECT
  `q`.`day_3` AS `day_3`,
  `q`.`__count` AS `__count`,
  `q`.`__n_count` AS `__n_count`,
  `q`.`__n_sum_price` AS `__n_sum_price`,
  COALESCE(`q`.`__sum_sum_price`, 0) AS `__sum_sum_price`,
  `q`.`__min_min_price` AS `__min_min_price`,
  `q`.`__n_count_2` AS `__n_count_2`,
  `q`.`__n_sum_price_2` AS `__n_sum_price_2`,
  COALESCE(`q`.`__sum_sum_price_2`, 0) AS `__sum_sum_price_2`,
  `q`.`__min_min_price_2` AS `__min_min_price_2`
FROM (
  SELECT
    `sales`.`day` AS `day_3`,
    COUNT(*) AS `__count`,
    COUNT(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
        )
        THEN 1
      END
    ) AS `__n_count`,
    COUNT(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
        )
        THEN `sales`.`price`
      END
    ) AS `__n_sum_price`,
    SUM(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
        )
        THEN `sales`.`price`
      END
    ) AS `__sum_sum_price`,
    MIN(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
        )
        THEN `sales`.`price`
      END
    ) AS `__min_min_price`,
    COUNT(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
        )
        THEN 1
      END
    ) AS `__n_count_2`,
    COUNT(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
        )
        THEN `sales`.`price`
      END
    ) AS `__n_sum_price_2`,
    SUM(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
        )
        THEN `sales`.`price`
      END
    ) AS `__sum_sum_price_2`,
    MIN(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
        )
        THEN `sales`.`price`
      END
    ) AS `__min_min_price_2`
  FROM `after`.`sales` AS `sales`
  GROUP BY
    `sales`.`day`
) AS `q`;

-- readers
SELECT
  `__extent`.`day_3` AS `day`,
  CASE
    WHEN `__extent`.`__n_count` = 0
    THEN NULL
    ELSE CASE
      WHEN `__extent`.`__n_sum_price` = 0
      THEN NULL
      ELSE CAST(`__extent`.`__sum_sum_price` AS DECIMAL(20, 2))
    END + 1
  END AS `{1, 1}_SUM(``price``) + 1`,
  CASE WHEN `__extent`.`__n_count` = 0 THEN NULL ELSE `__extent`.`__min_min_price` END AS `{1, 1}_least`,
  CASE
    WHEN `__extent`.`__n_count_2` = 0
    THEN NULL
    ELSE CASE
      WHEN `__extent`.`__n_sum_price_2` = 0
      THEN NULL
      ELSE CAST(`__extent`.`__sum_sum_price_2` AS DECIMAL(20, 2))
    END + 1
  END AS `other_SUM(``price``) + 1`,
  CASE
    WHEN `__extent`.`__n_count_2` = 0
    THEN NULL
    ELSE `__extent`.`__min_min_price_2`
  END AS `other_least`
FROM `__extent` AS `__extent`;

-- maintenance: change table
SELECT
  `q`.`day_3` AS `day_3`,
  COALESCE(`q`.`__count`, 0) AS `__count`,
  COALESCE(`q`.`__n_count`, 0) AS `__n_count`,
  COALESCE(`q`.`__n_sum_price`, 0) AS `__n_sum_price`,
  COALESCE(`q`.`__sum_sum_price`, 0) AS `__sum_sum_price`,
  `q`.`__min_min_price` AS `__min_min_price`,
  COALESCE(`q`.`__n_count_2`, 0) AS `__n_count_2`,
  COALESCE(`q`.`__n_sum_price_2`, 0) AS `__n_sum_price_2`,
  COALESCE(`q`.`__sum_sum_price_2`, 0) AS `__sum_sum_price_2`,
  `q`.`__min_min_price_2` AS `__min_min_price_2`,
  `q`.`__lost__min_min_price` AS `__lost__min_min_price`,
  `q`.`__lost__min_min_price_2` AS `__lost__min_min_price_2`
FROM (
  SELECT
    `sales`.`day` AS `day_3`,
    SUM(`sales`.`__count`) AS `__count`,
    SUM(
      IF(
        CASE
          WHEN (
            `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
          )
          THEN 1
        END IS NULL,
        0,
        `sales`.`__count`
      )
    ) AS `__n_count`,
    SUM(
      IF(
        CASE
          WHEN (
            `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
          )
          THEN `sales`.`price`
        END IS NULL,
        0,
        `sales`.`__count`
      )
    ) AS `__n_sum_price`,
    SUM(
      IF(
        `sales`.`__count` < 0,
        -CASE
          WHEN (
            `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
          )
          THEN `sales`.`price`
        END,
        CASE
          WHEN (
            `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
          )
          THEN `sales`.`price`
        END
      )
    ) AS `__sum_sum_price`,
    MIN(
      IF(
        `sales`.`__count` > 0,
        CASE
          WHEN (
            `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
          )
          THEN `sales`.`price`
        END,
        NULL
      )
    ) AS `__min_min_price`,
    SUM(
      IF(
        CASE
          WHEN (
            `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
          )
          THEN 1
        END IS NULL,
        0,
        `sales`.`__count`
      )
    ) AS `__n_count_2`,
    SUM(
      IF(
        CASE
          WHEN (
            `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
          )
          THEN `sales`.`price`
        END IS NULL,
        0,
        `sales`.`__count`
      )
    ) AS `__n_sum_price_2`,
    SUM(
      IF(
        `sales`.`__count` < 0,
        -CASE
          WHEN (
            `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
          )
          THEN `sales`.`price`
        END,
        CASE
          WHEN (
            `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
          )
          THEN `sales`.`price`
        END
      )
    ) AS `__sum_sum_price_2`,
    MIN(
      IF(
        `sales`.`__count` > 0,
        CASE
          WHEN (
            `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
          )
          THEN `sales`.`price`
        END,
        NULL
      )
    ) AS `__min_min_price_2`,
    MIN(
      IF(
        `sales`.`__count` < 0,
        CASE
          WHEN (
            `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
          )
          THEN `sales`.`price`
        END,
        NULL
      )
    ) AS `__lost__min_min_price`,
    MIN(
      IF(
        `sales`.`__count` < 0,
        CASE
          WHEN (
            `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
          )
          THEN `sales`.`price`
        END,
        NULL
      )
    ) AS `__lost__min_min_price_2`
  FROM `delta`.`sales` AS `sales`
  GROUP BY
    `sales`.`day`
) AS `q`
WHERE
  `q`.`__count` <> 0
  OR `q`.`__n_count` <> 0
  OR `q`.`__n_sum_price` <> 0
  OR `q`.`__sum_sum_price` <> 0
  OR NOT `q`.`__min_min_price` IS NULL
  OR `q`.`__n_count_2` <> 0
  OR `q`.`__n_sum_price_2` <> 0
  OR `q`.`__sum_sum_price_2` <> 0
  OR NOT `q`.`__min_min_price_2` IS NULL
  OR NOT `q`.`__lost__min_min_price` IS NULL
  OR NOT `q`.`__lost__min_min_price_2` IS NULL;

-- settled: the changed groups
SELECT
  `q_2`.`day_3` AS `day_3`,
  `q_2`.`__count` AS `__count`,
  `q_2`.`__n_count` AS `__n_count`,
  `q_2`.`__n_sum_price` AS `__n_sum_price`,
  `q_2`.`__sum_sum_price` AS `__sum_sum_price`,
  CASE WHEN `q_2`.`__n_sum_price` = 0 THEN NULL ELSE `q_2`.`__min_min_price` END AS `__min_min_price`,
  `q_2`.`__n_count_2` AS `__n_count_2`,
  `q_2`.`__n_sum_price_2` AS `__n_sum_price_2`,
  `q_2`.`__sum_sum_price_2` AS `__sum_sum_price_2`,
  CASE WHEN `q_2`.`__n_sum_price_2` = 0 THEN NULL ELSE `q_2`.`__min_min_price_2` END AS `__min_min_price_2`,
  COALESCE(
    NOT `q_2`.`__n_sum_price` = 0
    AND `q_2`.`__lost__min_min_price` = `q_2`.`__min_min_price`,
    FALSE
  )
  OR COALESCE(
    NOT `q_2`.`__n_sum_price_2` = 0
    AND `q_2`.`__lost__min_min_price_2` = `q_2`.`__min_min_price_2`,
    FALSE
  ) AS `__suspect`
FROM (
  SELECT
    `q`.`day_3` AS `day_3`,
    SUM(`q`.`__count`) AS `__count`,
    SUM(`q`.`__n_count`) AS `__n_count`,
    SUM(`q`.`__n_sum_price`) AS `__n_sum_price`,
    SUM(`q`.`__sum_sum_price`) AS `__sum_sum_price`,
    MIN(`q`.`__min_min_price`) AS `__min_min_price`,
    SUM(`q`.`__n_count_2`) AS `__n_count_2`,
    SUM(`q`.`__n_sum_price_2`) AS `__n_sum_price_2`,
    SUM(`q`.`__sum_sum_price_2`) AS `__sum_sum_price_2`,
    MIN(`q`.`__min_min_price_2`) AS `__min_min_price_2`,
    MIN(`q`.`__lost__min_min_price`) AS `__lost__min_min_price`,
    MIN(`q`.`__lost__min_min_price_2`) AS `__lost__min_min_price_2`
  FROM (
    SELECT
      `__changed`.`day_3` AS `day_3`,
      `__changed`.`__count` AS `__count`,
      `__changed`.`__n_count` AS `__n_count`,
      `__changed`.`__n_sum_price` AS `__n_sum_price`,
      `__changed`.`__sum_sum_price` AS `__sum_sum_price`,
      `__changed`.`__min_min_price` AS `__min_min_price`,
      `__changed`.`__n_count_2` AS `__n_count_2`,
      `__changed`.`__n_sum_price_2` AS `__n_sum_price_2`,
      `__changed`.`__sum_sum_price_2` AS `__sum_sum_price_2`,
      `__changed`.`__min_min_price_2` AS `__min_min_price_2`,
      `__changed`.`__lost__min_min_price` AS `__lost__min_min_price`,
      `__changed`.`__lost__min_min_price_2` AS `__lost__min_min_price_2`
    FROM `after`.`__changed` AS `__changed`
    UNION ALL
    SELECT
      `__extent`.`day_3` AS `day_3`,
      `__extent`.`__count` AS `__count`,
      `__extent`.`__n_count` AS `__n_count`,
      `__extent`.`__n_sum_price` AS `__n_sum_price`,
      `__extent`.`__sum_sum_price` AS `__sum_sum_price`,
      `__extent`.`__min_min_price` AS `__min_min_price`,
      `__extent`.`__n_count_2` AS `__n_count_2`,
      `__extent`.`__n_sum_price_2` AS `__n_sum_price_2`,
      `__extent`.`__sum_sum_price_2` AS `__sum_sum_price_2`,
      `__extent`.`__min_min_price_2` AS `__min_min_price_2`,
      NULL AS `__lost__min_min_price`,
      NULL AS `__lost__min_min_price_2`
    FROM `__extent` AS `__extent`
    LEFT SEMI JOIN `after`.`__changed` AS `__changed_2`
      ON `__extent`.`day_3` IS NOT DISTINCT FROM `__changed_2`.`day_3`
  ) AS `q`
  GROUP BY
    `q`.`day_3`
) AS `q_2`;

-- fresh: the suspect groups
SELECT
  `q`.`day_3` AS `day_3`,
  `q`.`__count` AS `__count`,
  `q`.`__n_count` AS `__n_count`,
  `q`.`__n_sum_price` AS `__n_sum_price`,
  COALESCE(`q`.`__sum_sum_price`, 0) AS `__sum_sum_price`,
  `q`.`__min_min_price` AS `__min_min_price`,
  `q`.`__n_count_2` AS `__n_count_2`,
  `q`.`__n_sum_price_2` AS `__n_sum_price_2`,
  COALESCE(`q`.`__sum_sum_price_2`, 0) AS `__sum_sum_price_2`,
  `q`.`__min_min_price_2` AS `__min_min_price_2`
FROM (
  SELECT
    `sales`.`day` AS `day_3`,
    COUNT(*) AS `__count`,
    COUNT(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
        )
        THEN 1
      END
    ) AS `__n_count`,
    COUNT(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
        )
        THEN `sales`.`price`
      END
    ) AS `__n_sum_price`,
    SUM(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
        )
        THEN `sales`.`price`
      END
    ) AS `__sum_sum_price`,
    MIN(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 1 AND `sales`.`item` IS NOT DISTINCT FROM 1
        )
        THEN `sales`.`price`
      END
    ) AS `__min_min_price`,
    COUNT(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
        )
        THEN 1
      END
    ) AS `__n_count_2`,
    COUNT(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
        )
        THEN `sales`.`price`
      END
    ) AS `__n_sum_price_2`,
    SUM(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
        )
        THEN `sales`.`price`
      END
    ) AS `__sum_sum_price_2`,
    MIN(
      CASE
        WHEN (
          `sales`.`store` IS NOT DISTINCT FROM 3 AND `sales`.`item` IS NOT DISTINCT FROM 2
        )
        THEN `sales`.`price`
      END
    ) AS `__min_min_price_2`
  FROM `after`.`sales` AS `sales`
  LEFT SEMI JOIN `after`.`__suspects` AS `__suspects`
    ON `sales`.`day` IS NOT DISTINCT FROM `__suspects`.`day_3`
  GROUP BY
    `sales`.`day`
) AS `q`;

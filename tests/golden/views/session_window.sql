-- A session is derived within its group, here a store: the rows of the changed stores are read before and after.
-- changes: sales insert delete
SELECT store, session_window.start, session_window.end, COUNT(*) AS n FROM sales
GROUP BY store, session_window(day, '2 days')

-- generated --------------------------------------------------------------------------
-- aggregate extent, by store_2, begin_2
SELECT
  `q_3`.`store_2` AS `store_2`,
  `q_3`.`begin_2` AS `begin_2`,
  `q_3`.`__count` AS `__count`,
  `q_3`.`__n_max_until` AS `__n_max_until`,
  `q_3`.`__max_max_until` AS `__max_max_until`
FROM (
  SELECT
    `q_2`.`store` AS `store_2`,
    `q_2`.`begin` AS `begin_2`,
    COUNT(*) AS `__count`,
    COUNT((
      (
        CAST(`q_2`.`day` AS TIMESTAMP)
      ) + CAST('2 days' AS INTERVAL)
    )) AS `__n_max_until`,
    MAX((
      (
        CAST(`q_2`.`day` AS TIMESTAMP)
      ) + CAST('2 days' AS INTERVAL)
    )) AS `__max_max_until`
  FROM (
    SELECT
      `q`.`store` AS `store`,
      `q`.`day` AS `day`,
      `q`.`reached` AS `reached`,
      MAX(
        CASE
          WHEN `q`.`reached` IS NULL OR CAST(`q`.`day` AS TIMESTAMP) > `q`.`reached`
          THEN CAST(`q`.`day` AS TIMESTAMP)
        END
      ) OVER (
        PARTITION BY `q`.`store`
        ORDER BY CAST(`q`.`day` AS TIMESTAMP) NULLS LAST
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
      ) AS `begin`
    FROM (
      SELECT
        `sales`.`store` AS `store`,
        `sales`.`day` AS `day`,
        MAX((
          (
            CAST(`sales`.`day` AS TIMESTAMP)
          ) + CAST('2 days' AS INTERVAL)
        )) OVER (
          PARTITION BY `sales`.`store`
          ORDER BY CAST(`sales`.`day` AS TIMESTAMP) NULLS LAST
          RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL '0.000001' SECOND PRECEDING
        ) AS `reached`
      FROM `after`.`sales` AS `sales`
      WHERE
        (
          (
            CAST(`sales`.`day` AS TIMESTAMP)
          ) + CAST('2 days' AS INTERVAL)
        ) > CAST(`sales`.`day` AS TIMESTAMP)
    ) AS `q`
  ) AS `q_2`
  GROUP BY
    `q_2`.`store`,
    `q_2`.`begin`
) AS `q_3`;

-- readers
SELECT
  `__extent`.`store_2` AS `store`,
  `__extent`.`begin_2` AS `start`,
  `__extent`.`__max_max_until` AS `end`,
  `__extent`.`__count` AS `n`
FROM `__extent` AS `__extent`;

-- maintenance: change table
WITH `__part` AS (
  SELECT
    `sales`.`store` AS `__affected_0`
  FROM `delta`.`sales` AS `sales`
  WHERE
    (
      (
        CAST(`sales`.`day` AS TIMESTAMP)
      ) + CAST('2 days' AS INTERVAL)
    ) > CAST(`sales`.`day` AS TIMESTAMP)
  GROUP BY
    `sales`.`store`
), `__part_2` AS (
  SELECT
    `q_3`.`store` AS `__affected_0`
  FROM (
    SELECT
      `q`.`store` AS `store`,
      `q`.`day` AS `day`,
      `q`.`reached` AS `reached`,
      -1 AS `__count`
    FROM (
      SELECT
        `sales_2`.`store` AS `store`,
        `sales_2`.`day` AS `day`,
        MAX((
          (
            CAST(`sales_2`.`day` AS TIMESTAMP)
          ) + CAST('2 days' AS INTERVAL)
        )) OVER (
          PARTITION BY `sales_2`.`store`
          ORDER BY CAST(`sales_2`.`day` AS TIMESTAMP) NULLS LAST
          RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL '0.000001' SECOND PRECEDING
        ) AS `reached`
      FROM `before`.`sales` AS `sales_2`
      LEFT SEMI JOIN `__part` AS `p`
        ON `sales_2`.`store` IS NOT DISTINCT FROM `p`.`__affected_0`
      WHERE
        (
          (
            CAST(`sales_2`.`day` AS TIMESTAMP)
          ) + CAST('2 days' AS INTERVAL)
        ) > CAST(`sales_2`.`day` AS TIMESTAMP)
    ) AS `q`
    UNION ALL
    SELECT
      `q_2`.`store` AS `store`,
      `q_2`.`day` AS `day`,
      `q_2`.`reached` AS `reached`,
      1 AS `__count`
    FROM (
      SELECT
        `sales_3`.`store` AS `store`,
        `sales_3`.`day` AS `day`,
        MAX((
          (
            CAST(`sales_3`.`day` AS TIMESTAMP)
          ) + CAST('2 days' AS INTERVAL)
        )) OVER (
          PARTITION BY `sales_3`.`store`
          ORDER BY CAST(`sales_3`.`day` AS TIMESTAMP) NULLS LAST
          RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL '0.000001' SECOND PRECEDING
        ) AS `reached`
      FROM `after`.`sales` AS `sales_3`
      LEFT SEMI JOIN `__part` AS `p_2`
        ON `sales_3`.`store` IS NOT DISTINCT FROM `p_2`.`__affected_0`
      WHERE
        (
          (
            CAST(`sales_3`.`day` AS TIMESTAMP)
          ) + CAST('2 days' AS INTERVAL)
        ) > CAST(`sales_3`.`day` AS TIMESTAMP)
    ) AS `q_2`
  ) AS `q_3`
  GROUP BY
    `q_3`.`store`
)
SELECT
  `q_9`.`store_2` AS `store_2`,
  `q_9`.`begin_2` AS `begin_2`,
  COALESCE(`q_9`.`__count`, 0) AS `__count`,
  COALESCE(`q_9`.`__n_max_until`, 0) AS `__n_max_until`,
  `q_9`.`__max_max_until` AS `__max_max_until`,
  `q_9`.`__lost__max_max_until` AS `__lost__max_max_until`
FROM (
  SELECT
    `q_8`.`store` AS `store_2`,
    `q_8`.`begin` AS `begin_2`,
    SUM(`q_8`.`__count`) AS `__count`,
    SUM(
      IF(
        (
          (
            CAST(`q_8`.`day` AS TIMESTAMP)
          ) + CAST('2 days' AS INTERVAL)
        ) IS NULL,
        0,
        `q_8`.`__count`
      )
    ) AS `__n_max_until`,
    MAX(
      IF(
        `q_8`.`__count` > 0,
        (
          (
            CAST(`q_8`.`day` AS TIMESTAMP)
          ) + CAST('2 days' AS INTERVAL)
        ),
        NULL
      )
    ) AS `__max_max_until`,
    MAX(
      IF(
        `q_8`.`__count` < 0,
        (
          (
            CAST(`q_8`.`day` AS TIMESTAMP)
          ) + CAST('2 days' AS INTERVAL)
        ),
        NULL
      )
    ) AS `__lost__max_max_until`
  FROM (
    SELECT
      `q_5`.`store` AS `store`,
      `q_5`.`day` AS `day`,
      `q_5`.`reached` AS `reached`,
      `q_5`.`begin` AS `begin`,
      -1 AS `__count`
    FROM (
      SELECT
        `q_4`.`store` AS `store`,
        `q_4`.`day` AS `day`,
        `q_4`.`reached` AS `reached`,
        MAX(
          CASE
            WHEN `q_4`.`reached` IS NULL OR CAST(`q_4`.`day` AS TIMESTAMP) > `q_4`.`reached`
            THEN CAST(`q_4`.`day` AS TIMESTAMP)
          END
        ) OVER (
          PARTITION BY `q_4`.`store`
          ORDER BY CAST(`q_4`.`day` AS TIMESTAMP) NULLS LAST
          RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS `begin`
      FROM (
        SELECT
          `sales_4`.`store` AS `store`,
          `sales_4`.`day` AS `day`,
          MAX((
            (
              CAST(`sales_4`.`day` AS TIMESTAMP)
            ) + CAST('2 days' AS INTERVAL)
          )) OVER (
            PARTITION BY `sales_4`.`store`
            ORDER BY CAST(`sales_4`.`day` AS TIMESTAMP) NULLS LAST
            RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL '0.000001' SECOND PRECEDING
          ) AS `reached`
        FROM `before`.`sales` AS `sales_4`
        WHERE
          (
            (
              CAST(`sales_4`.`day` AS TIMESTAMP)
            ) + CAST('2 days' AS INTERVAL)
          ) > CAST(`sales_4`.`day` AS TIMESTAMP)
      ) AS `q_4`
      LEFT SEMI JOIN `__part_2` AS `p_3`
        ON `q_4`.`store` IS NOT DISTINCT FROM `p_3`.`__affected_0`
    ) AS `q_5`
    UNION ALL
    SELECT
      `q_7`.`store` AS `store`,
      `q_7`.`day` AS `day`,
      `q_7`.`reached` AS `reached`,
      `q_7`.`begin` AS `begin`,
      1 AS `__count`
    FROM (
      SELECT
        `q_6`.`store` AS `store`,
        `q_6`.`day` AS `day`,
        `q_6`.`reached` AS `reached`,
        MAX(
          CASE
            WHEN `q_6`.`reached` IS NULL OR CAST(`q_6`.`day` AS TIMESTAMP) > `q_6`.`reached`
            THEN CAST(`q_6`.`day` AS TIMESTAMP)
          END
        ) OVER (
          PARTITION BY `q_6`.`store`
          ORDER BY CAST(`q_6`.`day` AS TIMESTAMP) NULLS LAST
          RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS `begin`
      FROM (
        SELECT
          `sales_5`.`store` AS `store`,
          `sales_5`.`day` AS `day`,
          MAX((
            (
              CAST(`sales_5`.`day` AS TIMESTAMP)
            ) + CAST('2 days' AS INTERVAL)
          )) OVER (
            PARTITION BY `sales_5`.`store`
            ORDER BY CAST(`sales_5`.`day` AS TIMESTAMP) NULLS LAST
            RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL '0.000001' SECOND PRECEDING
          ) AS `reached`
        FROM `after`.`sales` AS `sales_5`
        WHERE
          (
            (
              CAST(`sales_5`.`day` AS TIMESTAMP)
            ) + CAST('2 days' AS INTERVAL)
          ) > CAST(`sales_5`.`day` AS TIMESTAMP)
      ) AS `q_6`
      LEFT SEMI JOIN `__part_2` AS `p_4`
        ON `q_6`.`store` IS NOT DISTINCT FROM `p_4`.`__affected_0`
    ) AS `q_7`
  ) AS `q_8`
  GROUP BY
    `q_8`.`store`,
    `q_8`.`begin`
) AS `q_9`
WHERE
  `q_9`.`__count` <> 0
  OR `q_9`.`__n_max_until` <> 0
  OR NOT `q_9`.`__max_max_until` IS NULL
  OR NOT `q_9`.`__lost__max_max_until` IS NULL;

-- settled: the changed groups
SELECT
  `q_2`.`store_2` AS `store_2`,
  `q_2`.`begin_2` AS `begin_2`,
  `q_2`.`__count` AS `__count`,
  `q_2`.`__n_max_until` AS `__n_max_until`,
  CASE WHEN `q_2`.`__n_max_until` = 0 THEN NULL ELSE `q_2`.`__max_max_until` END AS `__max_max_until`,
  COALESCE(
    NOT `q_2`.`__n_max_until` = 0
    AND `q_2`.`__lost__max_max_until` = `q_2`.`__max_max_until`,
    FALSE
  ) AS `__suspect`
FROM (
  SELECT
    `q`.`store_2` AS `store_2`,
    `q`.`begin_2` AS `begin_2`,
    SUM(`q`.`__count`) AS `__count`,
    SUM(`q`.`__n_max_until`) AS `__n_max_until`,
    MAX(`q`.`__max_max_until`) AS `__max_max_until`,
    MAX(`q`.`__lost__max_max_until`) AS `__lost__max_max_until`
  FROM (
    SELECT
      `__changed`.`store_2` AS `store_2`,
      `__changed`.`begin_2` AS `begin_2`,
      `__changed`.`__count` AS `__count`,
      `__changed`.`__n_max_until` AS `__n_max_until`,
      `__changed`.`__max_max_until` AS `__max_max_until`,
      `__changed`.`__lost__max_max_until` AS `__lost__max_max_until`
    FROM `after`.`__changed` AS `__changed`
    UNION ALL
    SELECT
      `__extent`.`store_2` AS `store_2`,
      `__extent`.`begin_2` AS `begin_2`,
      `__extent`.`__count` AS `__count`,
      `__extent`.`__n_max_until` AS `__n_max_until`,
      `__extent`.`__max_max_until` AS `__max_max_until`,
      NULL AS `__lost__max_max_until`
    FROM `__extent` AS `__extent`
    LEFT SEMI JOIN `after`.`__changed` AS `__changed_2`
      ON `__extent`.`store_2` IS NOT DISTINCT FROM `__changed_2`.`store_2`
      AND `__extent`.`begin_2` IS NOT DISTINCT FROM `__changed_2`.`begin_2`
  ) AS `q`
  GROUP BY
    `q`.`store_2`,
    `q`.`begin_2`
) AS `q_2`;

-- fresh: the suspect groups
SELECT
  `q_3`.`store_2` AS `store_2`,
  `q_3`.`begin_2` AS `begin_2`,
  `q_3`.`__count` AS `__count`,
  `q_3`.`__n_max_until` AS `__n_max_until`,
  `q_3`.`__max_max_until` AS `__max_max_until`
FROM (
  SELECT
    `q_2`.`store` AS `store_2`,
    `q_2`.`begin` AS `begin_2`,
    COUNT(*) AS `__count`,
    COUNT((
      (
        CAST(`q_2`.`day` AS TIMESTAMP)
      ) + CAST('2 days' AS INTERVAL)
    )) AS `__n_max_until`,
    MAX((
      (
        CAST(`q_2`.`day` AS TIMESTAMP)
      ) + CAST('2 days' AS INTERVAL)
    )) AS `__max_max_until`
  FROM (
    SELECT
      `q`.`store` AS `store`,
      `q`.`day` AS `day`,
      `q`.`reached` AS `reached`,
      MAX(
        CASE
          WHEN `q`.`reached` IS NULL OR CAST(`q`.`day` AS TIMESTAMP) > `q`.`reached`
          THEN CAST(`q`.`day` AS TIMESTAMP)
        END
      ) OVER (
        PARTITION BY `q`.`store`
        ORDER BY CAST(`q`.`day` AS TIMESTAMP) NULLS LAST
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
      ) AS `begin`
    FROM (
      SELECT
        `sales`.`store` AS `store`,
        `sales`.`day` AS `day`,
        MAX((
          (
            CAST(`sales`.`day` AS TIMESTAMP)
          ) + CAST('2 days' AS INTERVAL)
        )) OVER (
          PARTITION BY `sales`.`store`
          ORDER BY CAST(`sales`.`day` AS TIMESTAMP) NULLS LAST
          RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL '0.000001' SECOND PRECEDING
        ) AS `reached`
      FROM `after`.`sales` AS `sales`
      WHERE
        (
          (
            CAST(`sales`.`day` AS TIMESTAMP)
          ) + CAST('2 days' AS INTERVAL)
        ) > CAST(`sales`.`day` AS TIMESTAMP)
    ) AS `q`
  ) AS `q_2`
  LEFT SEMI JOIN `after`.`__suspects` AS `__suspects`
    ON `q_2`.`store` IS NOT DISTINCT FROM `__suspects`.`store_2`
    AND `q_2`.`begin` IS NOT DISTINCT FROM `__suspects`.`begin_2`
  GROUP BY
    `q_2`.`store`,
    `q_2`.`begin`
) AS `q_3`;

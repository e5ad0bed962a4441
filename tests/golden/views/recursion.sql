-- The change is a recursion again: it begins with what the change does to one round over all rows that there were.
-- changes: sales insert delete update
WITH RECURSIVE chain(id, far) AS (
  SELECT id, 0 FROM sales WHERE store = 1
  UNION ALL
  SELECT sales.id, far + 1 FROM sales JOIN chain ON sales.store = chain.id WHERE far < 3
)
SELECT id, far FROM chain

-- generated --------------------------------------------------------------------------
-- bag extent, by id, far
SELECT
  `q`.`id_3` AS `id`,
  `q`.`far` AS `far`
FROM (
  WITH RECURSIVE `__rounds`(`id_3`, `far`) AS (
    SELECT
      `sales`.`id` AS `id_3`,
      0 AS `far`
    FROM `after`.`sales` AS `sales`
    WHERE
      `sales`.`store` = 1
    UNION ALL
    SELECT
      `sales_2`.`id` AS `id_3`,
      (
        `r`.`far` + 1
      ) AS `far`
    FROM `after`.`sales` AS `sales_2`
    JOIN `__rounds` AS `r`
      ON `sales_2`.`store` = `r`.`id_3`
    WHERE
      `r`.`far` < 3
  )
  SELECT
    `p`.`id_3` AS `id_3`,
    `p`.`far` AS `far`
  FROM `__rounds` AS `p`
) AS `q`;

-- readers
SELECT
  `__extent`.`id` AS `id`,
  `__extent`.`far` AS `far`
FROM `__extent` AS `__extent`;

-- maintenance: net delta
SELECT
  `q_4`.`id` AS `id`,
  `q_4`.`far` AS `far`,
  `q_4`.`__count` AS `__count`
FROM (
  SELECT
    `q_3`.`id_3` AS `id`,
    `q_3`.`far` AS `far`,
    SUM(`q_3`.`__count`) AS `__count`
  FROM (
    WITH RECURSIVE `__rounds`(`id_3`, `far`, `__count`) AS (
      SELECT
        `q_2`.`id_3` AS `id_3`,
        `q_2`.`far` AS `far`,
        `q_2`.`__count` AS `__count`
      FROM (
        SELECT
          `sales`.`id` AS `id_3`,
          0 AS `far`,
          `sales`.`__count` AS `__count`
        FROM `delta`.`sales` AS `sales`
        WHERE
          `sales`.`store` = 1
        UNION ALL
        SELECT
          `sales_2`.`id` AS `id_3`,
          (
            `q`.`far` + 1
          ) AS `far`,
          `sales_2`.`__count` AS `__count`
        FROM `delta`.`sales` AS `sales_2`
        JOIN (
          WITH RECURSIVE `__rounds_2`(`id_3`, `far`) AS (
            SELECT
              `sales_3`.`id` AS `id_3`,
              0 AS `far`
            FROM `before`.`sales` AS `sales_3`
            WHERE
              `sales_3`.`store` = 1
            UNION ALL
            SELECT
              `sales_4`.`id` AS `id_3`,
              (
                `r`.`far` + 1
              ) AS `far`
            FROM `before`.`sales` AS `sales_4`
            JOIN `__rounds_2` AS `r`
              ON `sales_4`.`store` = `r`.`id_3`
            WHERE
              `r`.`far` < 3
          )
          SELECT
            `p`.`id_3` AS `id_3`,
            `p`.`far` AS `far`
          FROM `__rounds_2` AS `p`
        ) AS `q`
          ON `sales_2`.`store` = `q`.`id_3`
        WHERE
          `q`.`far` < 3
      ) AS `q_2`
      UNION ALL
      SELECT
        `sales_5`.`id` AS `id_3`,
        (
          `r_2`.`far` + 1
        ) AS `far`,
        `r_2`.`__count` AS `__count`
      FROM `after`.`sales` AS `sales_5`
      JOIN `__rounds` AS `r_2`
        ON `sales_5`.`store` = `r_2`.`id_3`
      WHERE
        `r_2`.`far` < 3
    )
    SELECT
      `p_2`.`id_3` AS `id_3`,
      `p_2`.`far` AS `far`,
      `p_2`.`__count` AS `__count`
    FROM `__rounds` AS `p_2`
  ) AS `q_3`
  GROUP BY
    `q_3`.`id_3`,
    `q_3`.`far`
) AS `q_4`
WHERE
  `q_4`.`__count` <> 0;

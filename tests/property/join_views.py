"""Views with every kind of outer, semi, anti and mark join, over the tables of the random histories."""

from __future__ import annotations

JOINS = {
    "left_join": "SELECT r.id, r.a, s.c FROM r LEFT JOIN s ON s.r_id = r.id",
    "left_join_looked_up_by_key": "SELECT s.id, s.c, r.a FROM s LEFT JOIN r ON s.r_id = r.id",
    "right_join_with_a_residual": "SELECT r.id, s.id AS sid, s.c FROM r RIGHT JOIN s ON s.r_id = r.id AND r.a < s.c",
    "full_join": "SELECT r.id, s.id AS sid, a, c FROM r FULL OUTER JOIN s ON s.r_id = r.id",
    "full_join_by_inequality": "SELECT r.id, s.id AS sid FROM r FULL JOIN s ON s.c > r.a WHERE s.c IS NULL OR r.a > 1",
    "full_join_of_bags": "SELECT x, y, f FROM u FULL JOIN w ON u.x = w.f",
    "full_join_using": "SELECT id, a, c FROM r FULL JOIN s USING (id)",
    "full_join_using_twice": (
        "SELECT id, r.a, s.c, e.z, r.id AS rid, s.id AS sid FROM r FULL JOIN s USING (id) FULL JOIN e USING (id)"
    ),
    "full_join_using_star": "SELECT * FROM r FULL JOIN (SELECT id, c FROM s) q USING (id)",
    "right_join_using": "SELECT id, a, c, r.id AS rid FROM r RIGHT JOIN s USING (id)",
    "left_join_using_star": "SELECT * FROM r LEFT JOIN (SELECT id, c FROM s) q USING (id)",
    "natural_left_join": "SELECT * FROM r NATURAL LEFT JOIN (SELECT id, c FROM s) q",
    "natural_full_join_of_two_columns": "SELECT * FROM t NATURAL FULL JOIN w",
    "outer_joins_nested": (
        "SELECT v.id, q.a, q.c FROM v LEFT JOIN (SELECT s.id, r.a, s.c FROM s LEFT JOIN r ON s.r_id = r.id) q "
        "ON v.s_id = q.id"
    ),
    "outer_joins_in_parentheses": (
        "SELECT v.id, r.a, s.c FROM v LEFT JOIN (s FULL JOIN r ON s.r_id = r.id) ON v.s_id = s.id"
    ),
    "an_expression_on_the_padded_side": (
        "SELECT r.id, q.one, q.d FROM r LEFT JOIN (SELECT id, 1 AS one, COALESCE(c, 0) AS d FROM s) q ON q.id = r.id"
    ),
    "the_padded_rows_alone": "SELECT r.id FROM r LEFT JOIN s ON s.r_id = r.id WHERE s.id IS NULL",
    "a_left_join_counted_twice": (
        "SELECT n, COUNT(*) AS k FROM "
        "(SELECT r.id, COUNT(s.id) AS n FROM r LEFT JOIN s ON s.r_id = r.id GROUP BY r.id) q GROUP BY n"
    ),
    "an_aggregate_on_the_padded_side": (
        "SELECT r.id, q.n FROM r LEFT JOIN (SELECT r_id, COUNT(*) AS n FROM s GROUP BY r_id) q ON q.r_id = r.id"
    ),
    "two_global_aggregates_full_joined_on_nothing": (
        "SELECT p1.n, p2.m FROM (SELECT COUNT(*) AS n FROM u) p1 FULL JOIN (SELECT COUNT(*) AS m FROM r) p2 ON FALSE"
    ),
    "groups_of_null_full_joined": (
        "SELECT p1.x, p1.n, p2.c, p2.m FROM (SELECT x, COUNT(*) AS n FROM u GROUP BY x) p1 "
        "FULL JOIN (SELECT c, COUNT(*) AS m FROM s GROUP BY c) p2 ON p1.x = p2.c"
    ),
    "semi_join": "SELECT r.id, a FROM r SEMI JOIN s ON s.r_id = r.id AND s.c > 1",
    "anti_join_using": "SELECT id, a FROM r ANTI JOIN s USING (id)",
    "exists_correlated": "SELECT id FROM r WHERE a > 0 AND EXISTS (SELECT 1 FROM s WHERE s.r_id = r.id AND c > 0)",
    "not_exists_by_inequality": "SELECT x FROM u WHERE NOT EXISTS (SELECT * FROM s WHERE s.c > u.x)",
    "exists_uncorrelated": "SELECT id FROM r WHERE EXISTS (SELECT 1 FROM s WHERE c = 3)",
    "not_exists_of_a_join": (
        "SELECT id FROM r WHERE NOT EXISTS (SELECT 1 FROM s JOIN v ON v.s_id = s.id WHERE s.r_id = r.id)"
    ),
    "exists_within_exists": (
        "SELECT id FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.r_id = r.id AND NOT EXISTS "
        "(SELECT 1 FROM v WHERE v.s_id = s.id))"
    ),
    "in_a_query": "SELECT id, a FROM r WHERE a IN (SELECT c FROM s)",
    "in_groups": "SELECT id FROM r WHERE id IN (SELECT r_id FROM s GROUP BY r_id HAVING COUNT(*) > 1)",
    "not_in_with_nulls": "SELECT id, a FROM r WHERE a NOT IN (SELECT c FROM s)",
    "not_in_of_keys": "SELECT id, a FROM r WHERE id NOT IN (SELECT id FROM s)",
    "not_in_correlated": "SELECT id FROM r WHERE a NOT IN (SELECT c FROM s WHERE s.r_id = r.id)",
    "not_in_of_pairs": "SELECT id FROM r WHERE (a, b) NOT IN (SELECT c, r_id FROM s)",
    "in_of_pairs": "SELECT id FROM r WHERE (a, b) IN (SELECT c, r_id FROM s)",
    "exists_under_or": "SELECT id FROM r WHERE a = 1 OR EXISTS (SELECT 1 FROM s WHERE s.r_id = r.id)",
    "in_under_or_and_not": "SELECT id FROM r WHERE NOT (a IN (SELECT c FROM s) OR b = 1)",
    "two_marks_of_one_subquery_in_an_outer_join": (
        "SELECT q.x, v.e FROM (SELECT x, y FROM u WHERE NOT (x > 0 AND y IN (SELECT s.r_id FROM s WHERE s.c = 1))) q "
        "LEFT JOIN v ON q.x = v.e"
    ),
    "two_subqueries_under_or": (
        "SELECT id FROM r WHERE a IN (SELECT x FROM u) OR NOT EXISTS (SELECT 1 FROM s WHERE s.c = r.b)"
    ),
    "having_exists": "SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING EXISTS (SELECT 1 FROM s WHERE s.c = a)",
    "having_a_count_in": "SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING COUNT(*) IN (SELECT c FROM s) AND a > 0",
    "exists_in_a_subquery_that_is_outer_joined": (
        "SELECT u.x, q.id FROM u LEFT JOIN (SELECT id, a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.r_id = r.id)) q "
        "ON u.x = q.a"
    ),
    "a_mark_over_a_left_join": (
        "SELECT r.id, s.c FROM r LEFT JOIN s ON s.r_id = r.id WHERE s.c IN (SELECT x FROM u) OR s.c IS NULL"
    ),
    "the_same_table_on_both_sides": "SELECT p.id, q.boss FROM e p LEFT JOIN e q ON p.boss = q.id WHERE q.z IS NULL",
}

"""What stands behind LATERAL, and other ways of saying a thing that Spark knows: each beside a plain one."""

from __future__ import annotations

from random import Random

import pytest
from tests.law import Subject
from tests.property.random_tables import PARENTS_FIRST, history

from rollview.algebra.scalar import Scalar
from rollview.frontend.dialect import SparkSQL
from rollview.frontend.parse import parse_query

TABLES = {t.name: t for t in PARENTS_FIRST}
SAME = {
    "a_star_of_what_is_around": (
        "SELECT r.id, q.* FROM r, LATERAL (SELECT r.*) q(x, y, z)",
        "SELECT id, id AS x, a, b FROM r",
    ),
    "and_beside_its_own": (
        "SELECT q.* FROM r, LATERAL (SELECT r.*, s.c FROM s WHERE s.r_id = r.id) q(x, y, z, c)",
        "SELECT r.id, a, b, c FROM r JOIN s ON s.r_id = r.id",
    ),
    "and_in_a_union": (
        "SELECT q.* FROM r, LATERAL (SELECT r.* UNION ALL SELECT * FROM s WHERE s.r_id = r.id) q(x, y, z)",
        "SELECT id, a, b FROM r UNION ALL SELECT s.id, s.r_id, s.c FROM r JOIN s ON s.r_id = r.id",
    ),
    "its_own_table_of_that_name": (
        "SELECT q.* FROM r, LATERAL (SELECT r.* FROM s AS r WHERE r.id = 1) q(x, y, z)",
        "SELECT s.id, s.r_id, s.c FROM r JOIN s ON s.id = 1",
    ),
    "the_first_of_from": ("SELECT q.a FROM LATERAL (SELECT a FROM r) q", "SELECT a FROM r"),
    "a_generator_first": (
        "SELECT x, a FROM LATERAL explode(array(1, 2)) g(x) JOIN r ON r.a = x",
        "SELECT a AS x, a FROM r WHERE a IN (1, 2)",
    ),
    "a_generator_over_what_is_around": (
        "SELECT r.id, q.z FROM r, LATERAL (SELECT r.a + x AS z FROM explode(array(a, b)) g(x)) q",
        "SELECT id, a + x FROM r LATERAL VIEW explode(array(a, b)) g AS x",
    ),
    "and_its_sum": (
        "SELECT r.id, q.z FROM r, LATERAL (SELECT SUM(x) AS z FROM explode(array(a, b)) g(x)) q",
        "SELECT id, COALESCE(a + b, a, b) FROM r",
    ),
    "and_in_a_condition": (
        "SELECT id FROM r WHERE id IN (SELECT x FROM explode(array(a, b)) g(x))",
        "SELECT id FROM r WHERE id IN (a, b)",
    ),
    "a_subquery_in_a_filter": (
        "SELECT a, COUNT(*) FILTER (WHERE EXISTS (SELECT 1 FROM s WHERE s.r_id = r.id)) AS n FROM r GROUP BY a",
        "SELECT a, COUNT(f) FROM (SELECT a, CASE WHEN id IN (SELECT r_id FROM s) THEN 1 END AS f FROM r) GROUP BY a",
    ),
    "a_name_of_using_that_two_have": (
        "SELECT a.b, c.e FROM r a JOIN s b ON b.r_id = a.a JOIN v c USING (id)",
        "SELECT a.b, c.e FROM r a JOIN s b ON b.r_id = a.a JOIN v c ON c.id = a.id",
    ),
    "an_alias_in_having": (
        "SELECT a AS k, SUM(b) AS b FROM r GROUP BY a HAVING b > 1",
        "SELECT a AS k, SUM(b) AS b FROM r GROUP BY a HAVING SUM(r.b) > 1",
    ),
    "an_argument_before_an_alias": (
        "SELECT a AS k, SUM(b) AS b FROM r GROUP BY a HAVING MAX(b) > 1",
        "SELECT a AS k, SUM(b) AS b FROM r GROUP BY a HAVING MAX(r.b) > 1",
    ),
    "a_key_before_an_alias": (
        "SELECT a + 1 AS a, COUNT(*) AS n FROM r GROUP BY r.a HAVING a = 1",
        "SELECT a + 1 AS a, COUNT(*) AS n FROM r GROUP BY r.a HAVING r.a = 1",
    ),
    "a_full_join_behind_a_comma": (
        "SELECT r.a, s.c, u.y FROM r, s FULL JOIN u ON s.c = u.x",
        "SELECT q.a, q.c, u.y FROM (SELECT r.a, s.c FROM r CROSS JOIN s) q FULL JOIN u ON q.c = u.x",
    ),
    "a_star_in_coalesce": ("SELECT COALESCE(*) AS c FROM r", "SELECT COALESCE(id, a, b) FROM r"),
    "order_by_all": (
        "SELECT a, b FROM r ORDER BY ALL DESC LIMIT 3",
        "SELECT a, b FROM r ORDER BY a DESC, b DESC LIMIT 3",
    ),
    "order_by_all_of_groups": (
        "SELECT a, COUNT(*) AS n FROM r GROUP BY ALL ORDER BY ALL LIMIT 2",
        "SELECT a, COUNT(*) FROM r GROUP BY a ORDER BY a LIMIT 2",
    ),
    "a_pipe_and_a_table": (
        "FROM r |> UNION ALL TABLE r |> WHERE a = 1",
        "SELECT r.* FROM r CROSS JOIN (VALUES (1), (2)) WHERE a = 1",
    ),
    "a_pipe_and_a_query": ("FROM r |> EXCEPT SELECT id, 1, b FROM r", "SELECT DISTINCT * FROM r WHERE NOT a <=> 1"),
}


@pytest.mark.parametrize(("said", "plainly"), SAME.values(), ids=SAME)
def test_means_the_same(said: str, plainly: str) -> None:
    one, other = Subject.of(said, TABLES), Subject.of(plainly, TABLES)
    assert one.same_as(other, history(Random(3), 5))


@pytest.mark.parametrize(
    ("said", "is_constant"),
    [("-1", True), ("CAST('1' AS INT)", True), ("TRY_CAST('x' AS INT)", False), ("CAST(NULL AS INT)", False)],
)
def test_what_is_a_constant_is_never_null(said: str, is_constant: bool) -> None:
    assert Scalar(parse_query(f"SELECT {said}").expressions[0]).is_constant is is_constant


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("x - INTERVAL 1 DAY 4 HOURS", "x - INTERVAL '1 DAY 4 HOURS'"),
        ("x - INTERVAL '1' YEAR '2' MONTH - y", "x - INTERVAL '1 YEAR 2 MONTH' - y"),
        ("x - INTERVAL '1 02:03' DAY TO MINUTE", "x - INTERVAL '1 02:03' DAY TO MINUTE"),
        ("x + INTERVAL 1 DAY + 5", "x + INTERVAL '1' DAY + 5"),
        ("x - INTERVAL 1 DAY 2 HOURS + '5'", "x - INTERVAL '1 DAY 2 HOURS' + '5'"),
    ],
)
def test_an_interval_of_several_units_is_one_value(said: str, meant: str) -> None:
    assert parse_query(f"SELECT {said} FROM t").expressions[0].sql(SparkSQL) == meant

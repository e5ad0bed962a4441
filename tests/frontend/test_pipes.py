"""|> DROP, SET and AS mean what a SELECT of the right columns means; a join in parentheses may have a name."""

from __future__ import annotations

from random import Random

import pytest
from tests.law import Subject
from tests.property.random_tables import PARENTS_FIRST, history

from rollview.errors import RollviewError
from rollview.frontend.parse import parse_query

TABLES = {t.name: t for t in PARENTS_FIRST}
SAME = {
    "drop": ("FROM r |> DROP a, id", "SELECT b FROM r"),
    "drop_after_where": ("FROM r |> WHERE a > 1 |> DROP a |> WHERE b = 1", "SELECT id, b FROM r WHERE a > 1 AND b = 1"),
    "set": ("FROM r |> SET a = a + 1", "SELECT id, a + 1 AS a, b FROM r"),
    "set_one_after_the_other": ("FROM r |> SET a = b + 1, b = a", "SELECT id, b + 1 AS a, b + 1 AS b FROM r"),
    "as": ("FROM r |> WHERE a > 0 |> AS q |> SELECT q.a, q.b", "SELECT a, b FROM r WHERE a > 0"),
    "as_and_join": (
        "FROM r |> AS x |> JOIN s ON s.r_id = x.id |> SELECT x.a, s.c",
        "SELECT r.a, s.c FROM r JOIN s ON s.r_id = r.id",
    ),
    "a_join_with_a_name": (
        "SELECT j.a, j.c FROM (r JOIN s ON r_id = r.a) AS j",
        "SELECT a, c FROM r JOIN s ON r_id = a",
    ),
    "and_with_columns": ("SELECT y FROM (r CROSS JOIN u) j(p, q, x, y, z, w)", "SELECT u.x AS y FROM r CROSS JOIN u"),
    "distinct": ("FROM r |> SELECT DISTINCT a", "SELECT DISTINCT a FROM r"),
    "where_after_limit": (
        "FROM r |> ORDER BY id |> LIMIT 3 |> WHERE a = 1",
        "SELECT * FROM (SELECT * FROM r ORDER BY id LIMIT 3) WHERE a = 1",
    ),
    "aggregate_after_limit": (
        "FROM r |> LIMIT 3 |> AGGREGATE COUNT(*) AS n",
        "SELECT COUNT(*) AS n FROM (SELECT * FROM r LIMIT 3)",
    ),
    "join_after_limit": (
        "FROM r |> ORDER BY id |> LIMIT 2 |> JOIN s ON s.r_id = r.id |> SELECT r.a, s.c",
        "SELECT q.a, s.c FROM (SELECT * FROM r ORDER BY id LIMIT 2) q JOIN s ON s.r_id = q.id",
    ),
    "limits_and_offsets": (
        "FROM r |> ORDER BY id |> OFFSET 1 |> LIMIT 5 |> OFFSET 1 |> LIMIT 2",
        "SELECT * FROM r ORDER BY id LIMIT 2 OFFSET 2",
    ),
    "select_before_limit": (
        "FROM r |> ORDER BY a DESC, id |> SELECT id, b |> LIMIT 2",
        "SELECT id, b FROM r ORDER BY a DESC, id LIMIT 2",
    ),
    "extend_before_limit": (
        "SELECT id, a FROM r |> WHERE a > 0 |> ORDER BY id DESC |> EXTEND a + 1 AS x |> LIMIT 2",
        "SELECT id, a, a + 1 AS x FROM r WHERE a > 0 ORDER BY id DESC LIMIT 2",
    ),
    "limit_of_a_select_in_order": ("SELECT id FROM r ORDER BY id |> LIMIT 2", "SELECT id FROM r ORDER BY id LIMIT 2"),
    "order_after_limit": (
        "FROM r |> ORDER BY id |> LIMIT 3 |> ORDER BY id DESC |> LIMIT 1",
        "SELECT * FROM (SELECT * FROM r ORDER BY id LIMIT 3) ORDER BY id DESC LIMIT 1",
    ),
    "right_join_after_where": (
        "FROM r |> WHERE a = 1 |> RIGHT JOIN s ON s.r_id = r.id |> SELECT a, c",
        "SELECT q.a, c FROM (SELECT * FROM r WHERE a = 1) q RIGHT JOIN s ON s.r_id = q.id",
    ),
    "columns_of_the_left_only": (
        "FROM r |> WHERE id > 1 |> JOIN s ON s.r_id = r.id |> SELECT s.id",
        "SELECT s.id FROM r JOIN s ON s.r_id = r.id WHERE r.id > 1",
    ),
    "of_a_select": ("SELECT a + 1 AS a FROM r |> SELECT a * 2 AS d", "SELECT (a + 1) * 2 AS d FROM r"),
    "of_groups": (
        "SELECT a, COUNT(*) AS n FROM r GROUP BY a |> WHERE n > 1 |> AGGREGATE MAX(n) AS m",
        "SELECT MAX(n) AS m FROM (SELECT COUNT(*) AS n FROM r GROUP BY a HAVING COUNT(*) > 1)",
    ),
    "aggregate_by_a_named_key": (
        "FROM r |> AGGREGATE COUNT(*) AS n GROUP BY a + 1 AS a, b",
        "SELECT a + 1 AS a, b, COUNT(*) AS n FROM r GROUP BY r.a + 1, b",
    ),
    "groups_alone": ("FROM r |> AGGREGATE GROUP BY a", "SELECT DISTINCT a FROM r"),
    "extended": ("FROM r |> EXTEND a + 1 AS x, x + 1 AS y |> SELECT r.b, y", "SELECT b, a + 2 AS y FROM r"),
    "lateral": (
        "FROM r |> JOIN LATERAL (SELECT a + b AS t) |> SELECT t",
        "SELECT a + b AS t FROM r",
    ),
    "values": ("VALUES (1, 2), (3, 4)", "SELECT * FROM VALUES (1, 2), (3, 4)"),
}


@pytest.mark.parametrize(("said", "plainly"), SAME.values(), ids=SAME)
def test_means_the_same(said: str, plainly: str) -> None:
    one, other = Subject.of(said, TABLES), Subject.of(plainly, TABLES)
    assert one.same_as(other, history(Random(2), 5))
    assert [c.name for c in one.view.output] == [c.name for c in other.view.output]


@pytest.mark.parametrize(
    "sql",
    [
        "FROM r |> SET a > 1",
        "FROM r |> GUESS a",
        "FROM r |> AGGREGATE COUNT(*) AS n GROUP BY 1",
        "FROM r |> ORDER BY a |> SELECT id AS a |> LIMIT 2",
        "(SELECT id FROM r ORDER BY a) |> LIMIT 2",
        "FROM r |> ORDER BY a |> SELECT DISTINCT a |> WHERE a > 1 |> LIMIT 2",
    ],
)
def test_what_no_pipe_says(sql: str) -> None:
    """Positions name columns of what stands before; and first rows need an order that is still there."""
    with pytest.raises(RollviewError, match="RV-SYNTAX"):
        parse_query(sql)


@pytest.mark.parametrize(
    "sql", ["SELECT r.a FROM (r JOIN s ON r_id = r.a) AS j", "SELECT id FROM (r JOIN s ON r_id = r.a) j"]
)
def test_what_a_named_join_hides(sql: str) -> None:
    with pytest.raises(RollviewError) as caught:
        Subject.of(sql, TABLES)
    assert caught.value.code in ("RV-UNKNOWN-COLUMN", "RV-AMBIGUOUS")

"""GROUPING SETS, ROLLUP and CUBE are one aggregate over repeated rows."""

from __future__ import annotations

from itertools import permutations

import pytest
from tests.duck import check_on_duckdb
from tests.law import Subject, check_history
from tests.rules.tables import by_name, table
from tests.steps import Step, rows

from rollview.algebra.relation import State

TABLES = by_name(table("r", "a, b, c"), table("s", "a, d"))
STATES = [
    rows(r=[(1, 1, 5), (1, None, 2), (None, 1, 4), (None, None, 9), (2, 1, 5)], s=[(1, 7), (2, 7)]),
    rows(r=[(1, 1, 5), (1, 1, 3), (2, 3, None)], s=[(1, 7), (2, 8), (2, 9)]),
    rows(r=[(2, 1, 5)], s=[(1, 7)]),
    rows(r=[], s=[(2, 2)]),
]
GROUPINGS = [
    "ROLLUP (a, b)",
    "CUBE (a, b)",
    "GROUPING SETS ((a), (b), (a, b), ())",
    "GROUPING SETS ((a, b), (a, b), (a))",
    "a, ROLLUP (b)",
    "ROLLUP ((a, b), c)",
    "GROUPING SETS (ROLLUP (a, b), (b))",
]


def shown(grouping: str) -> str:
    return "a, b, c" if ", c)" in grouping else "a, b"


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_sets(grouping: str) -> None:
    """A key that is NULL because it is left out is another group than one that is NULL in the row."""
    sql = (
        f"SELECT {shown(grouping)}, COUNT(*) AS n, SUM(c) AS t, MIN(c) AS m, MEDIAN(c) AS h, GROUPING(b) AS g, "
        f"GROUPING_ID(a, b) AS i FROM r GROUP BY {grouping}"
    )
    check_history(sql, TABLES, STATES)


@pytest.mark.parametrize("grouping", [g for g in GROUPINGS if "ROLLUP (a, b), (b)" not in g])
def test_sets_on_duckdb(grouping: str) -> None:
    """DuckDB has a row for the empty set over no rows, as the standard says and Spark does not: never empty here."""
    sql = f"SELECT {shown(grouping)}, COUNT(*) AS n, MAX(c) AS m, GROUPING(b) AS g FROM r GROUP BY {grouping}"
    check_on_duckdb(Subject.of(sql, TABLES), STATES[:3], list(permutations(range(3), 2)), interpreted=True)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, b, COUNT(*) AS n FROM r GROUP BY a, b WITH ROLLUP",
        "SELECT a, b, COUNT(*) AS n FROM r GROUP BY a, b WITH CUBE",
        "SELECT a, b, COUNT(*) AS n FROM r GROUP BY a, b GROUPING SETS ((a), (b))",
        "SELECT a, b, COUNT(*) AS n, GROUPING_ID() AS g FROM r GROUP BY CUBE (a, b) HAVING GROUPING(a) = 0",
        "SELECT a + 1 AS k, COUNT(*) AS n FROM r GROUP BY ROLLUP (a + 1)",
        "SELECT SUM(a) AS t FROM r GROUP BY ROLLUP (a)",
        "SELECT a, d, SUM(c) AS t FROM r JOIN s USING (a) GROUP BY ROLLUP (a, d)",
        "SELECT x.a, s.d, x.n FROM s JOIN (SELECT a, COUNT(*) AS n FROM r GROUP BY ROLLUP (a)) x ON s.a = x.a",
        "SELECT COUNT(*) AS n FROM r GROUP BY (a, b)",
        "SELECT COUNT(*) AS n FROM r GROUP BY GROUPING SETS (())",
    ],
)
def test_forms(sql: str) -> None:
    check_history(sql, TABLES, STATES)


def test_only_the_delta_is_read() -> None:
    subject = Subject.of("SELECT a, b, SUM(c) AS t FROM r GROUP BY CUBE (a, b)", TABLES)
    plan = subject.maintenance(Step(TABLES, STATES[0], STATES[1]), foreign_keys=True)
    assert {s.at for s in plan.scans} == {State.DELTA}

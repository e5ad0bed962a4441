"""Δ(R ⊎ S) = ΔR ⊎ ΔS."""

from __future__ import annotations

import pytest
from tests.law import Subject, check_delta, check_history
from tests.pure_typer import PureTyper
from tests.rules.tables import BAGS, R, S, by_name, scan, table
from tests.steps import Step, rows

from rollview.algebra.relation import UnionAll
from rollview.algebra.walking import scans

BEFORE = rows(r=[(1, 1), (1, 1), (None, 2)], s=[(1, 1), (5, 5)])
AFTER = rows(r=[(1, 1), (3, 3)], s=[(1, 1), (None, 2)])


def test_both_sides_change_at_once() -> None:
    check_delta(UnionAll((scan(R), scan(S)), ("x", "y")), Step(BAGS, BEFORE, AFTER))


@pytest.mark.parametrize("moved", ["r", "s"])
def test_one_side_changes(moved: str) -> None:
    after = {**BEFORE, moved: AFTER[moved]}
    change = check_delta(UnionAll((scan(R), scan(S)), ("x", "y")), Step(BAGS, BEFORE, after))
    assert change.columns == ("x", "y")
    assert [s.table for s in scans(change.relation)] == [moved]


def test_the_same_table_on_both_sides() -> None:
    check_history("SELECT a FROM r UNION ALL SELECT b FROM r UNION ALL SELECT a FROM r", BAGS, [BEFORE, AFTER])


def test_a_row_that_moves_from_one_side_to_the_other_is_no_change() -> None:
    before, after = rows(r=[(7, 7)], s=[]), rows(r=[], s=[(7, 7)])
    subject = check_history("SELECT a, b FROM r UNION ALL SELECT b, c FROM s", BAGS, [before, after])
    step = Step(BAGS, before, after)
    stored = subject.stored(Step(BAGS, before, before))
    assert subject.advance(step, stored, foreign_keys=True) == stored == subject.stored(step)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT u.x, s.c FROM (SELECT a AS x FROM r UNION ALL SELECT b FROM r) u JOIN s ON u.x = s.b",
        "SELECT x, COUNT(*) AS n FROM (SELECT a AS x FROM r UNION ALL SELECT c FROM s) u GROUP BY x",
        "(SELECT a FROM r UNION ALL SELECT b FROM s) UNION ALL (SELECT c FROM s UNION ALL SELECT b FROM r)",
        "SELECT a, a AS again FROM r UNION ALL SELECT c, b FROM s",
        "SELECT 1 AS k, a FROM r UNION ALL SELECT 2, b FROM s",
        "SELECT a, COUNT(*) AS n FROM r GROUP BY a UNION ALL SELECT b, c FROM s",
    ],
)
def test_unions_inside(sql: str) -> None:
    check_history(sql, BAGS, [BEFORE, AFTER, rows(r=[], s=[]), BEFORE])


def test_each_side_is_cast_to_the_common_type() -> None:
    """A delta may come from one side alone; it must have the type that the whole union has."""
    tables = by_name(table("small", "x int"), table("big", "x bigint"))
    subject = Subject.of("SELECT x FROM small UNION ALL SELECT x FROM big", tables)
    step = Step(tables, rows(small=[(1,)], big=[]), rows(small=[(2,)], big=[]))
    plan = subject.maintenance(step, foreign_keys=True)
    assert plan.change is not None
    assert PureTyper(tables).relation(plan.change)[0].type == "bigint"
    assert {s.table for s in plan.scans} == {"small"}

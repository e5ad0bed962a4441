"""Δ(σ_{p(c)} R) = σ_{p(c₁)}(ΔR) ⊎ what p(c₁) keeps and p(c₀) does not ∸ what p(c₀) keeps and p(c₁) does not."""

from __future__ import annotations

import pytest
from tests.law import check_delta, rows_of
from tests.rules.tables import R, by_name, scalar, scan, table
from tests.steps import Rows, Step, rows

from rollview.algebra.clock import read_clock
from rollview.algebra.relation import Scan, SemiJoin, State
from rollview.algebra.scalar import Scalar, literal
from rollview.algebra.walking import scans, tables
from rollview.names import CLOCK

TABLES = by_name(R, table(CLOCK, "now, today"))
C = Scan(CLOCK, (("now", "now"), ("today", "today")))
PREDICATES = [
    "r_a >= today",
    "r_a < today",
    "r_a = today",
    "today - r_a <= 2",
    "r_a >= today - 2 AND r_a < today",
    "r_a > today AND r_b <= now",
    "r_a <= today AND r_b > today",
    "today = 3",
    "r_b > IF(today = 3, NULL, today)",
]
STATES = {
    "first": rows(r=[(1, 1), (2, 1), (2, 1), (3, None), (None, 4), (5, 5)], **{CLOCK: [(1, 1)]}),
    "later": rows(r=[(1, 1), (2, 1), (2, 1), (3, None), (None, 4), (5, 5)], **{CLOCK: [(9, 3)]}),
    "changed": rows(r=[(1, 1), (2, 2), (3, None), (3, 3), (4, 4), (4, 4)], **{CLOCK: [(9, 4)]}),
    "same_day": rows(r=[(1, 1), (4, 4), (None, None)], **{CLOCK: [(2, 3)]}),
    "nothing": rows(r=[], **{CLOCK: [(7, 2)]}),
}
STEPS = [pytest.param(a, b, id=f"{n}-{m}") for n, a in STATES.items() for m, b in STATES.items() if n != m]


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize(("before", "after"), STEPS)
def test_the_clock_moves_while_rows_change(predicate: str, before: Rows, after: Rows) -> None:
    check_delta(SemiJoin(scan(R), C, scalar(predicate)), Step(TABLES, before, after))


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize(("before", "after"), STEPS)
def test_readings_stand_for_the_clock(predicate: str, before: Rows, after: Rows) -> None:
    """With literals in its place the change is the same, and nothing reads the clock."""
    step = Step(TABLES, before, after)
    change = check_delta(SemiJoin(scan(R), C, scalar(predicate)), step).relation

    def reading(clock: Scan) -> dict[str, Scalar]:
        now, today = next(iter(step.part(CLOCK, clock.at)))
        return {"now": literal(now), "today": literal(today)}

    bound = read_clock(change, reading)
    assert CLOCK not in tables(bound)
    assert rows_of(bound, step) == rows_of(change, step)


def test_rows_that_stay_are_not_touched() -> None:
    kept = [(n, 0) for n in range(2, 9)]
    before = rows(r=[(1, 0), *kept, (9, 0)], **{CLOCK: [(0, 8)]})
    after = {**before, **rows(**{CLOCK: [(0, 9)]})}
    node = SemiJoin(scan(R), C, scalar("r_a > today - 8 AND r_a <= today"))
    step = Step(TABLES, before, after)
    change = check_delta(node, step)
    assert rows_of(change.relation, step) == {(1, 0, -1): 1, (9, 0, 1): 1}


def test_rows_are_scanned_once_and_only_if_the_clock_moves() -> None:
    node = SemiJoin(scan(R), C, scalar("r_a > today - 8 AND r_a <= today"))
    moves = check_delta(node, Step(TABLES, STATES["first"], STATES["later"]))
    assert [s.at for s in scans(moves.relation) if s.table == "r"] == [State.AFTER]
    stays = check_delta(node, Step(TABLES, STATES["first"], {**STATES["changed"], CLOCK: STATES["first"][CLOCK]}))
    assert {(s.table, s.at) for s in scans(stays.relation)} == {("r", State.DELTA), (CLOCK, State.AFTER)}

"""A change that stops at waypoints is the same change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.law import Subject, rows_of
from tests.plan.test_restrict import StepKeys, keys_of
from tests.property.cases import Case, spans
from tests.rules.tables import by_name, table
from tests.steps import Step, rows

from rollview.algebra.relation import Join, Scan, State
from rollview.algebra.walking import scans, walk
from rollview.plan.restrict import restrict
from rollview.plan.stages import is_waypoint, waypoint
from rollview.plan.waypoints import passed, waypoints

if TYPE_CHECKING:
    from rollview.algebra.interpreter import Bag
    from rollview.algebra.relation import Relation
    from rollview.plan.region import Region

BATCH = 40


class FarKeys(StepKeys):
    """Every table is far, and every value of a delta or a waypoint is a literal."""

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.bound: dict[str, tuple[tuple[str, ...], Bag]] = {}

    def far(self, table: str) -> bool:
        return not is_waypoint(table)

    def keys(self, table: str, state: State, column: str) -> Region | None:
        if table in self.bound:
            names, found = self.bound[table]
            return keys_of([row[names.index(column)] for row in found])
        return super().keys(table, state, column)


def through(change: Relation, step: Step) -> tuple[Relation, FarKeys]:
    """As propagate/versioned does it, on the interpreter."""
    known = FarKeys(step)
    while found := waypoints(change, known):
        for few in found:
            name = waypoint(len(known.bound))
            known.bound[name] = few.names, rows_of(restrict(few, known), step, known.bound)
            change = passed(change, {few: name})
    return change, known


@pytest.mark.parametrize("batch", range(3))
def test_a_query_that_stops_on_its_way_has_the_same_rows(batch: int) -> None:
    stops = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case.of(seed)
        subject = Subject.of(case.sql, case.tables)
        for states in case.histories:
            for since, upto in spans(states):
                step = Step(case.tables, states[since], states[upto])
                plan = subject.maintenance(step, foreign_keys=seed % 2 == 0)
                if plan.change is not None:
                    change, known = through(plan.change, step)
                    stops += len(known.bound)
                    found = rows_of(restrict(change, known), step, known.bound)
                    assert found == rows_of(plan.change, step), f"seed {seed}: {case.sql}"
    assert stops > BATCH, "most views take one look-up, but not all"


TABLES = by_name(table("r", "a, b"), table("s", "b, c"), table("t", "c, d"))
STATE = rows(r=[(1, 1), (2, 2)], s=[(1, 1), (1, 2), (2, 2)], t=[(1, 5), (2, 6), (3, 7)])


def test_the_second_look_up_starts_from_what_the_first_one_found() -> None:
    subject = Subject.of("SELECT r.a, t.d FROM r JOIN s ON r.b = s.b JOIN t ON s.c = t.c", TABLES)
    step = Step(TABLES, STATE, {**STATE, "r": rows(r=[(1, 1), (2, 2), (3, 1)])["r"]})
    plan = subject.maintenance(step, foreign_keys=True)
    assert plan.change is not None
    (few,) = waypoints(plan.change, FarKeys(step))
    assert {(s.table, s.at) for s in scans(few)} == {("r", State.DELTA), ("s", State.AFTER)}
    change, known = through(plan.change, step)
    joins = [n for n in walk(change) if isinstance(n, Join)]
    assert [(j.left.table, j.lookup) for j in joins if isinstance(j.left, Scan)] == [(waypoint(0), True)]
    assert len(known.bound[waypoint(0)][1]) == 2


def test_one_look_up_needs_no_waypoint() -> None:
    subject = Subject.of("SELECT r.a, s.c FROM r JOIN s ON r.b = s.b", TABLES)
    step = Step(TABLES, STATE, {**STATE, "r": rows(r=[(1, 1)])["r"], "s": rows(s=[(1, 1)])["s"]})
    plan = subject.maintenance(step, foreign_keys=True)
    assert plan.change is not None and not waypoints(plan.change, FarKeys(step))


def test_no_waypoint_before_a_table_that_literals_bound() -> None:
    subject = Subject.of("SELECT r.a, t.d FROM r JOIN s ON r.b = s.b JOIN t ON r.a = t.c", TABLES)
    step = Step(TABLES, STATE, {**STATE, "r": rows(r=[(1, 1), (2, 2), (3, 1)])["r"]})
    plan = subject.maintenance(step, foreign_keys=True)
    assert plan.change is not None and not waypoints(plan.change, FarKeys(step))

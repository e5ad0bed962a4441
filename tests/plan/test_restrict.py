"""Literals on base scans change nothing but what is read."""

from __future__ import annotations

import pytest
from sqlglot import exp
from tests.law import Subject, rows_of
from tests.property.cases import Case, spans
from tests.rules.tables import by_name, table
from tests.steps import Step, rows

from rollview.algebra.relation import Filter, Scan, State
from rollview.algebra.walking import walk
from rollview.plan.rederive import rederived
from rollview.plan.region import Region
from rollview.plan.restrict import restrict
from rollview.plan.stages import SUSPECTS

BATCH = 25


class StepKeys:
    """Every value of a step's deltas as a literal."""

    def __init__(self, step: Step, suspects: dict[str, list[object]] | None = None) -> None:
        self.step = step
        self.suspects = suspects or {}

    def worth(self, table: str) -> bool:
        return table != SUSPECTS

    def helps(self, table: str, column: str, region: Region) -> bool:
        return True

    def keys(self, table: str, state: State, column: str) -> Region | None:
        if table == SUSPECTS:
            return keys_of(self.suspects[column])
        names = [c.name for c in self.step.tables[table].columns]
        return keys_of([row[names.index(column)] for row in self.step.part(table, State.DELTA)])


def keys_of(values: list[object]) -> Region | None:
    known = [v for v in dict.fromkeys(values) if v is not None]
    return Region(tuple(exp.convert(v) for v in known), nulls=None in values) if known else None


@pytest.mark.parametrize("batch", range(2))
def test_a_restricted_query_has_the_same_rows(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case.of(seed)
        subject = Subject.of(case.sql, case.tables)
        for states in case.histories:
            for since, upto in spans(states):
                step = Step(case.tables, states[since], states[upto])
                plan = subject.maintenance(step, foreign_keys=seed % 2 == 0)
                if plan.change is not None:
                    restricted = restrict(plan.change, StepKeys(step))
                    assert rows_of(restricted, step) == rows_of(plan.change, step), f"seed {seed}: {case.sql}"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, MEDIAN(x) AS m FROM r GROUP BY k",
        "SELECT k, MEDIAN(x) AS m FROM r WHERE x > 0 GROUP BY k",
        "SELECT r.k, MEDIAN(r.x) AS m FROM r JOIN s ON r.k = s.k GROUP BY r.k",
        "SELECT r.k, MEDIAN(s.x) AS m FROM r LEFT JOIN s ON r.k = s.k GROUP BY r.k",
        "SELECT k, MEDIAN(x) AS m FROM (SELECT k, x FROM r UNION ALL SELECT k, x FROM s) q GROUP BY k",
        "SELECT k, MEDIAN(n) AS m FROM (SELECT k, x, COUNT(*) AS n FROM r GROUP BY k, x) q GROUP BY k",
    ],
)
def test_suspects_are_looked_up_by_their_keys_in_every_table(sql: str) -> None:
    tables = by_name(table("r", "k, x"), table("s", "k, x"))
    state = rows(r=[(1, 1), (1, 5), (2, 7), (None, 4), (None, 6)], s=[(1, 3), (2, 2), (3, 3), (None, 9)])
    step = Step(tables, state, state)
    subject = Subject.of(sql, tables)
    extent = subject.view.extent
    suspects: list[object] = [1, None]
    found = restrict(rederived(extent), StepKeys(step, {extent.key[0]: suspects}))
    limited = [n for n in walk(found) if isinstance(n, Filter) and isinstance(n.source, Scan)]
    assert len({n.source.table for n in limited}) == len(subject.view.reads)
    bound = {SUSPECTS: (extent.key, step.part("r", State.AFTER).__class__((v,) for v in suspects))}
    assert rows_of(found, step, bound) == rows_of(rederived(extent), step, bound)
    assert {row[0] for row in rows_of(found, step, bound)} <= set(suspects)

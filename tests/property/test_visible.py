"""What readers of a stored aggregate see change is what the change of its extent tells."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from tests.law import Subject, plain, rows_of
from tests.property.cases import Case, seeds, spans
from tests.property.random_tables import PARENTS_FIRST, history
from tests.steps import Rows, Step

from rollview.plan.stages import CHANGED, EXTENT
from rollview.plan.visible import view_delta

BATCH = 50


@pytest.mark.parametrize("batch", range(-(-seeds(100) // BATCH)))
def test_the_view_delta_of_an_aggregate(batch: int) -> None:
    tried = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case.of(seed)
        subject = Subject.of(case.sql, case.tables)
        for states in case.histories:
            tried += check(subject, states)
    assert tried


def test_a_reader_that_derives_in_two_projections() -> None:
    """The sign rides through both."""
    tables = {t.name: t for t in PARENTS_FIRST}
    subject = Subject.of("SELECT x, REGR_R2(y, x) AS v FROM u GROUP BY x", tables)
    assert check(subject, history(Random(0), 4))


def check(subject: Subject, states: list[Rows]) -> int:
    """How many spans had a change that adds up."""
    tried = 0
    extent = subject.view.extent
    if extent.states is None:
        return tried
    for since, upto in spans(states):
        step = Step(subject.tables, states[since], states[upto])
        plan = subject.maintenance(step, foreign_keys=True)
        if plan.change is None or plan.rederives:
            continue
        tried += 1
        before, after = (Step(subject.tables, states[t], states[t]) for t in (since, upto))
        stored = subject.stored(before)
        bound = {CHANGED: (plan.change.names, rows_of(plan.change, step)), EXTENT: (extent.columns, stored)}
        seen = Counter(subject.read(before, stored))
        for (*row, count), n in rows_of(view_delta(extent).relation, step, bound).items():
            seen[tuple(row)] += count * n
        assert plain(seen) == subject.read(after, subject.stored(after)), subject.sql
    return tried

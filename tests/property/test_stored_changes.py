"""Changes that are written down ahead of the extent add up: outer joins, and groups whose states do not."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from tests.apply_bags import add_rows, add_states, replacing
from tests.law import Subject, plain, rows_of
from tests.property.cases import Case, batches
from tests.property.random_tables import history
from tests.steps import Step

from rollview.algebra.interpreter import Bag, evaluate
from rollview.algebra.relation import OuterJoin, Scan, State
from rollview.algebra.walking import walk
from rollview.deltas.signed import Signed, net
from rollview.names import COUNT
from rollview.plan.extent import Kind, adds_up, holds
from rollview.plan.images import image_columns, images, seen
from rollview.plan.maintain import maintain
from rollview.plan.stages import CHANGED, EXTENT
from rollview.plan.stages import plain as plain_columns
from rollview.plan.visible import found, whole_delta

BATCH = 20


def stored_change(subject: Subject, step: Step, stored: Bag) -> Bag:
    """What a step of propagation writes down."""
    extent = subject.view.extent
    plan = maintain(subject.view, step.shapes, subject.tables, stored=True)
    if plan.change is None:
        return Counter()
    change = rows_of(plan.change, step)
    if plan.may_miss:
        bound = {EXTENT: (extent.columns, stored), CHANGED: (plan.change.names, change)}
        return rows_of(net(Signed(found(extent, Scan(CHANGED, plain_columns((*extent.columns, COUNT)))))), step, bound)
    if not plan.rederives:
        return change
    assert not adds_up(extent)
    groups = replacing(extent, plan, stored, change, lambda node, bound: rows_of(node, step, bound))
    bound = {EXTENT: (extent.columns, stored), CHANGED: (extent.columns, groups)}
    return rows_of(net(images(extent)), step, bound)


def carried(subject: Subject, stored: Bag, change: Bag) -> Bag:
    """The stored rows and a change of theirs, added up."""
    extent = subject.view.extent
    if extent.states is not None and adds_up(extent):
        return add_states(extent, stored, change)
    return add_rows(extent, stored, change, inserts_only=all(row[-1] > 0 for row in change))


def subjects(seed: int) -> list[tuple[Subject, list[Step]]]:
    case = Case.of(seed)
    subject = Subject.of(case.sql, case.tables)
    if not holds(subject.view.extent):
        return []
    states = (*case.histories, history(Random(seed), 4))
    return [(subject, [Step(subject.tables, a, b) for a, b in pairwise(s)]) for s in states]


@pytest.mark.parametrize("batch", batches(200, BATCH))
def test_stored_changes_add_up_and_can_be_taken_back(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        for subject, steps in subjects(seed):
            extent = subject.view.extent
            first = stored = subject.stored(Step(subject.tables, steps[0].before, steps[0].before))
            total: Bag = Counter()
            for step in steps:
                change = stored_change(subject, step, stored)
                stored = carried(subject, stored, change)
                assert stored == subject.stored(step), seed
                if extent.states is None or not adds_up(extent):
                    for (*row, count), n in change.items():
                        total[tuple(row)] += count * n
            if extent.states is None or not adds_up(extent):
                back = Counter(stored)
                back.subtract(total)
                assert plain(back) == first, seed


@pytest.mark.parametrize("batch", batches(200, BATCH))
def test_what_readers_see_of_replaced_groups(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        for subject, steps in subjects(seed):
            extent = subject.view.extent
            if adds_up(extent):
                continue
            stored = subject.stored(Step(subject.tables, steps[0].before, steps[0].before))
            for step in steps:
                change, before = stored_change(subject, step, stored), stored
                stored = subject.stored(step)
                scanned = {
                    (EXTENT, State.BEFORE): (extent.columns, before),
                    (EXTENT, State.AFTER): (extent.columns, stored),
                    (CHANGED, State.AFTER): ((*image_columns(extent.columns), COUNT), change),
                }
                node = whole_delta(extent) if extent.reads_all else seen(extent).relation
                shown = Counter(subject.read(step, before))
                for (*row, count), n in evaluate(node, lambda t, s, found=scanned: found[t, s]).items():  # type: ignore[misc]
                    shown[tuple(row)] += count * n
                assert plain(shown) == subject.read(step, stored), seed


def test_outer_joins_and_replaced_groups_are_among_them() -> None:
    extents = [s.view.extent for seed in range(100) for s, _ in subjects(seed)[:1]]
    assert sum(not adds_up(e) for e in extents) >= 5
    assert sum(e.states is None and any(isinstance(n, OuterJoin) for n in walk(e.rows)) for e in extents) >= 5
    assert {e.kind for e in extents} == set(Kind)

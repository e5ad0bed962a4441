from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rollview.catalog import ControlStore, Pending, Step, TableChange, Waiting
from rollview.catalog.steps import Reach, reach


@pytest.fixture(autouse=True)
def view(store: ControlStore) -> None:
    store.relations.create("v", "view", [("n", "bigint", True)], created_tick=0)


def spans(store: ControlStore) -> list[tuple[int, int, bool]]:
    return [(s.since, s.upto, s.exact) for s in store.steps.of("v")]


def test_a_step_moves_the_mark(store: ControlStore) -> None:
    store.marks.record_extent("v", 3, 30)
    store.steps.record("v", Step(3, 7, exact=True, rows=12))
    mark = store.marks.mark("V")
    assert (mark.applied_tick, mark.high_water_mark) == (3, 7)
    assert spans(store) == [(3, 7, True)]


def test_a_pending_query_and_the_step_it_completes_are_one_write(store: ControlStore) -> None:
    assert store.steps.pending("v") is None
    store.steps.advance("v", Pending(1, {"fwd": [3, 3]}))
    assert spans(store) == []
    store.steps.advance("v", Pending(2, {"fwd": [5, 5]}), Step(3, 5, exact=True))
    assert store.steps.pending("v") == Pending(2, {"fwd": [5, 5]})
    assert store.marks.mark("v").high_water_mark == 5


def test_forgetting(store: ControlStore) -> None:
    for since, upto in ((0, 2), (2, 5), (5, 9)):
        store.steps.record("v", Step(since, upto, exact=True))
    store.steps.advance("v", Pending(1, {}))
    store.steps.forget("v", below=3)
    assert spans(store) == [(3, 5, True), (5, 9, True)]
    store.steps.forget("v", above=5)
    assert spans(store) == [(3, 5, True)]
    assert store.marks.mark("v").high_water_mark == 5
    assert store.steps.pending("v") is None


EXACT, LOOSE = Step(2, 5, exact=True), Step(5, 9, exact=False)


@pytest.mark.parametrize(
    ("steps", "tick", "found"),
    [
        ((), 4, Reach(4, 4)),
        ((EXACT,), 3, Reach(2, 5)),
        ((EXACT,), 5, Reach(2, 5)),
        ((EXACT, LOOSE), 2, Reach(2, 9, (LOOSE,))),
        ((EXACT, LOOSE), 9, Reach(2, 9, (LOOSE,))),
        ((EXACT, LOOSE), 7, Reach(7, 7)),
        ((EXACT, Step(6, 9, exact=True)), 4, Reach(2, 5)),
        ((EXACT, Step(6, 9, exact=True)), 8, Reach(6, 9)),
    ],
)
def test_how_far_steps_lead(steps: tuple[Step, ...], tick: int, found: Reach) -> None:
    assert reach(steps, tick) == found


def test_where_a_view_can_stop() -> None:
    found = reach((EXACT, LOOSE), 2)
    assert [t for t in range(12) if t in found] == [2, 3, 4, 5, 9]
    assert [found.nearest(t) for t in (0, 6, 8, 11)] == [(2,), (5, 9), (5, 9), (9,)]


def test_what_waits_below_a_view(store: ControlStore) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for name in ("r", "s"):
        store.relations.create(name, "table", [("n", "bigint", True)], created_tick=0)
    with store.leases.hold("writer") as lease:
        for i, tables in enumerate(({"r": (2, 1)}, {"s": (1, 0)}, {"r": (1, 0), "s": (0, 4)}, {})):
            tick = store.ticks.open_tick(lease, "managed")
            changes = {name: TableChange(*rows) for name, rows in tables.items()}
            at = start + timedelta(minutes=i)
            store.ticks.commit_tick(lease, tick, position=None, committed_at=at, tables=changes)
    assert store.ticks.waiting(0, 9, ["r"]) == (
        Waiting(1, 3, start),
        Waiting(3, 1, start + timedelta(minutes=2)),
    )
    assert [(w.tick, w.rows) for w in store.ticks.waiting(1, 9, ["r", "s"])] == [(2, 1), (3, 5)]

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rollview.catalog import ControlStore, Extent, HistoryRow, Mark

START = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def view(store: ControlStore) -> None:
    store.relations.create("v", "view", [("n", "bigint", True)], created_tick=0)


def test_marks_start_unknown_and_keep_each_other(store: ControlStore) -> None:
    assert store.marks.mark("v") == Mark()
    store.marks.set_high_water_mark("V", 9)
    store.marks.record_extent("v", 4, 2**62)
    assert store.marks.mark("v") == Mark(applied_tick=4, extent_snapshot=2**62, high_water_mark=9)


def test_the_state_before_is_found_at_or_below_the_tick(store: ControlStore) -> None:
    for tick, snapshot in ((2, 20), (5, 50), (5, 51), (8, 80)):
        store.marks.record_extent("v", tick, snapshot)
    found = [store.marks.extent_snapshot("v", tick) for tick in (1, 2, 4, 5, 7, 100)]
    assert found == [None, Extent(2, 20), Extent(2, 20), Extent(5, 51), Extent(5, 51), Extent(8, 80)]
    assert store.marks.mark("v").applied_tick == 8
    store.marks.forget_extents("v", below=5)
    assert store.marks.extents("v") == (Extent(5, 51), Extent(8, 80))


def test_an_extent_that_went_back_is_believed(store: ControlStore) -> None:
    store.marks.record_extent("v", 5, 50)
    store.marks.record_extent("v", 8, 80)
    store.marks.record_extent("v", 5, 50)
    assert store.marks.extent_snapshot("v", 9) == Extent(5, 50)
    assert store.marks.mark("v") == Mark(applied_tick=5, extent_snapshot=50)


def test_history_is_newest_first_and_outlives_the_view(store: ControlStore) -> None:
    full = HistoryRow(
        view="v",
        started=START,
        strategy="incremental",
        reason="RV-X",
        since=1,
        upto=4,
        delta_rows=10,
        inserted=1,
        updated=2,
        deleted=3,
        seconds=0.25,
        phases={"propagate": 0.2, "apply": 0.05},
        jobs=2,
        predicted_cost=1.5,
        actual_cost=2.5,
        plan_fingerprint="abc",
        error=None,
    )
    failed = HistoryRow(view="W", started=START, strategy="recompute", seconds=1.0, error="RV-Y: no")
    store.history.record_refresh(full)
    store.history.record_refresh(failed)
    store.relations.delete("v")
    assert store.history.refreshes() == (failed, full)
    assert store.history.refreshes("V") == (full,)
    assert store.history.refreshes(limit=1) == (failed,)

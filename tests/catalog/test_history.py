"""What is asked of the history: the latest of each strategy, and how long the run of them is."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from sqlalchemy import event

from rollview.catalog import ControlStore, HistoryRow, Run
from rollview.refresh import REDERIVE_AFTER, Refresh

START = datetime(2026, 11, 19, 12, tzinfo=UTC)


def record(store: ControlStore, strategy: str, seconds: float = 1.0, *, view: str = "v", weighed: bool = True) -> None:
    model = 1.0 if weighed else None
    row = HistoryRow(view=view, started=START, strategy=strategy, seconds=seconds, model_cost=model)
    store.history.record_refresh(row)


def test_a_long_run_of_one_strategy_hides_no_other(store: ControlStore) -> None:
    record(store, "create", 9.0)
    for seconds in (2.0, 3.0):
        record(store, "incremental", seconds)
    for _ in range(150):
        record(store, "recompute")
        record(store, "incremental", 7.0, view="other")
    found = {s: store.history.latest("V", s, limit=5) for s in ("create", "incremental", "recompute", "apply")}
    assert [r.seconds for r in found["create"]] == [9.0]
    assert [r.seconds for r in found["incremental"]] == [3.0, 2.0], "the newest first"
    assert len(found["recompute"]) == 5
    assert found["apply"] == ()


def test_what_was_before_a_row_is_left_out(store: ControlStore) -> None:
    for strategy in ("create", "incremental", "create", "incremental", "incremental"):
        record(store, strategy)
    created = store.history.latest("v", "create", limit=1)[0].id
    assert created is not None
    assert len(store.history.latest("v", "incremental", limit=5)) == 3
    assert len(store.history.latest("v", "incremental", after=created, limit=5)) == 2


def test_refreshes_that_had_nothing_to_compute_can_be_left_out(store: ControlStore) -> None:
    record(store, "incremental", 3.0)
    for _ in range(20):
        record(store, "incremental", 0.01, weighed=False)
    assert [r.seconds for r in store.history.latest("v", "incremental", limit=2)] == [0.01, 0.01]
    assert [r.seconds for r in store.history.latest("v", "incremental", limit=2, weighed=True)] == [3.0]


def test_a_run_is_counted_and_added_up(store: ControlStore) -> None:
    record(store, "recompute", 100.0)
    record(store, "incremental")
    last = store.history.latest("v", "incremental", limit=1)[0].id
    assert last is not None
    assert store.history.run("v", "recompute", after=last, limit=9) == Run(0, 0.0)
    for seconds in (4.0, 2.0, 1.0):
        record(store, "recompute", seconds)
        record(store, "none")
        record(store, "failed")
        record(store, "recompute", 50.0, view="other")
    assert store.history.run("V", "recompute", after=last, limit=9) == Run(3, 7.0)
    assert store.history.run("v", "recompute", after=last, limit=2) == Run(2, 3.0), "the latest of them"
    assert store.history.run("v", "recompute", limit=9) == Run(4, 107.0)


def test_the_last_of_several_strategies(store: ControlStore) -> None:
    assert store.history.last("v", "recompute", "create") == 0
    record(store, "create")
    created = store.history.last("v", "recompute", "create")
    for strategy in ("incremental", "none", "failed"):
        record(store, strategy)
    record(store, "recompute", view="other")
    assert store.history.last("V", "recompute", "create") == created > 0
    record(store, "recompute")
    assert store.history.last("v", "recompute", "create") > created


def test_sums_are_derived_anew_though_some_refreshes_did_nothing(store: ControlStore) -> None:
    """They once were counted among the last 200 rows of all, and never came to 200."""
    view = cast(Refresh, SimpleNamespace(control=store, view=SimpleNamespace(name="v")))
    record(store, "recompute")
    for _ in range(REDERIVE_AFTER - 1):
        record(store, "incremental")
        record(store, "none")
    record(store, "failed")
    assert Refresh.refreshes_since_recompute(view) == REDERIVE_AFTER - 1
    for _ in range(2):
        record(store, "incremental")
    assert Refresh.refreshes_since_recompute(view) == REDERIVE_AFTER, "more need not be counted"
    record(store, "recompute")
    assert Refresh.refreshes_since_recompute(view) == 0


def test_every_question_is_answered_by_the_index(tmp_path: Path) -> None:
    """Or a refresh would read the whole history of its view, to find that it was never recomputed."""
    with ControlStore(tmp_path / "catalog.db") as store:
        asked: list[tuple[str, Any]] = []
        event.listen(store._database.engine, "before_cursor_execute", lambda *given: asked.append(given[2:4]))
        store.history.latest("v", "incremental", after=3, limit=5, weighed=True)
        store.history.latest("v", "create", limit=1)
        store.history.run("v", "incremental", after=store.history.last("v", "recompute", "create"), limit=5)
        questions = [(statement, given) for statement, given in asked if statement.startswith("SELECT")]
        assert len(questions) == 4
        with store._database.read() as connection:
            for statement, given in questions:
                plan = [str(s[3]) for s in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given)]
                reads = [s for s in plan if "rollview_refresh" in s]
                assert reads and all("ix_rollview_refresh_strategy" in s for s in reads), plan
                assert not any("TEMP B-TREE" in s for s in plan), plan

"""A process that stalls for longer than its lease lasts, while another does the work: it must not do it again."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import delete

import rollview
from rollview import Limits
from rollview.catalog.schema import lease
from rollview.errors import SourceError
from rollview.lake.lake import Lake
from rollview.propagate.versioned import Versioned
from rollview.refresh import Refresh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

MERGED, BRANCH, LARGE = Limits(rewrite_bytes=0), Limits(few_bytes=0, rewrite_bytes=0), Limits(small_rows=0)
WAYS: dict[str, tuple[str, Limits]] = {
    "rows_on_the_driver": ("SELECT x, k FROM t", Limits()),
    "states_on_the_driver": ("SELECT k, SUM(x) AS x FROM t GROUP BY k", Limits()),
    "groups_on_the_driver": ("SELECT k, MAX(x) AS x FROM t GROUP BY k", Limits()),
    "appended": ("SELECT x FROM t", MERGED),
    "rewritten": ("SELECT k, SUM(x) AS x FROM t GROUP BY k", LARGE),
    "merged": ("SELECT k, SUM(x) AS x, COUNT(*) AS n FROM t GROUP BY k", MERGED),
    "branched": ("SELECT k, COUNT(*) AS n FROM t GROUP BY k", BRANCH),
    "regrouped": ("SELECT k, MIN(x) AS x FROM t GROUP BY k", LARGE),
}


@pytest.fixture(scope="module")
def path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("stalled")
    with rollview.open(path) as wh:
        wh.create_table("t", "k INT, x INT")
        commit(wh)
        for name, (sql, _) in WAYS.items():
            wh.create_view(name, sql, policy="strict")
    yield path
    with rollview.open(path) as wh:
        commit(wh)
        wh.refresh()
        for name in WAYS:
            right(wh, name)


def commit(wh: Warehouse) -> None:
    with wh.transaction() as tx:
        tx.insert("t", [(wh.tick % 3, wh.tick), (wh.tick, 1), (1, 1)])


def right(wh: Warehouse, view: str) -> None:
    verification = wh.verify(view)
    assert verification.ok and verification.tick == wh.tick, verification


def taken_over(wh: Warehouse, work: Callable[[Warehouse], object]) -> None:
    """The leases are lost, and another process does the work."""
    with wh._control._database.engine.begin() as connection:
        connection.execute(delete(lease).where(lease.c.name.startswith("relation:")))
    with rollview.open(wh.path, limits=wh._limits) as other:
        work(other)


def stalling(
    monkeypatch: pytest.MonkeyPatch, kind: type, method: str, meanwhile: Callable[[], object], *, first: bool = False
) -> None:
    """The next call of the method returns late, or begins late: `meanwhile` others are at work."""
    real = getattr(kind, method)

    def slow(self: Any, *given: Any, **options: Any) -> Any:
        monkeypatch.setattr(kind, method, real)
        if first:
            meanwhile()
            return real(self, *given, **options)
        made = real(self, *given, **options)
        meanwhile()
        return made

    monkeypatch.setattr(kind, method, slow)


def told(error: BaseException | None) -> list[str]:
    """The codes of an error and of what it came of: a lost lease is found when a failure is written down."""
    return [] if error is None else [getattr(error, "code", ""), *told(error.__context__)]


@pytest.mark.parametrize("view", WAYS)
def test_a_stalled_refresh_applies_nothing(path: Path, view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with rollview.open(path, limits=WAYS[view][1]) as wh:
        commit(wh)
        stalling(monkeypatch, Refresh, "applier", lambda: taken_over(wh, lambda other: other.refresh(view)))
        with pytest.raises(SourceError) as caught:
            wh.refresh(view)
        assert caught.value.code in ("RV-CONFLICT", "RV-LEASE-LOST") and caught.value.retryable
        right(wh, view)


IN_SPARK: list[tuple[type, str]] = [(Lake, "merge"), (Lake, "publish_branch")]
ON_THE_DRIVER: list[tuple[type, str]] = [(Lake, "small_rows"), (Lake, "replace_small"), (SqlCatalog, "commit_table")]
LATE = [
    *product(("merged", "branched"), IN_SPARK),
    *product(("rows_on_the_driver", "states_on_the_driver", "groups_on_the_driver"), ON_THE_DRIVER),
]


@pytest.mark.parametrize(("view", "at"), LATE, ids=[f"{view}-{at[1]}" for view, at in LATE])
def test_what_is_written_late_is_not_published(
    path: Path, view: str, at: tuple[type, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check before the write is not enough: others may write between it and the writer's own look at the extent."""
    with rollview.open(path, limits=WAYS[view][1]) as wh:
        commit(wh)
        stalling(monkeypatch, *at, lambda: taken_over(wh, lambda other: other.refresh(view)), first=True)
        refused(wh, view)
        right(wh, view)


def test_the_driver_writes_nothing_where_another_has_prepared_a_merge(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one died before its MERGE: no new snapshot, but files of a format that the driver cannot write."""
    view = "rows_on_the_driver"
    with rollview.open(path, limits=WAYS[view][1]) as wh:
        commit(wh)

        def prepare(other: Warehouse) -> None:
            extent = other._stored(view, "view").extent
            other._lake.start_branch(extent, other._lake.load(extent).metadata.current_snapshot_id)

        stalling(monkeypatch, Lake, "replace_small", lambda: taken_over(wh, prepare), first=True)
        refused(wh, view)
        wh.refresh(view)
        right(wh, view)


def refused(wh: Warehouse, view: str) -> None:
    with pytest.raises(SourceError) as caught:
        wh.refresh(view)
    assert "RV-CONFLICT" in told(caught.value) and caught.value.retryable


@pytest.mark.parametrize("view", ["appended", "merged"])
def test_a_stalled_propagation_stores_nothing(path: Path, view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with rollview.open(path) as wh:
        commit(wh)
        stalling(monkeypatch, Versioned, "read", lambda: taken_over(wh, lambda other: other.propagate(view)))
        with pytest.raises(SourceError) as caught:
            wh.propagate(view)
        assert caught.value.code in ("RV-CONFLICT", "RV-LEASE-LOST")
        wh.apply(view)
        right(wh, view)


def test_a_stalled_writer_folds_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table has each row of the log once, whoever brings it there."""
    with rollview.open(path) as wh:
        stored = wh._stored("t", "table")
        before = wh._lake.commit(stored.extent)
        assert before is not None and before.snapshot_id is not None
        commit(wh)
        rows = wh.spark.createDataFrame([(0, 0)], "k INT, x INT")
        for write in (wh._lake.append, wh._lake.overwrite):
            with pytest.raises(SourceError) as caught:
                write(stored.extent, rows, {}, after=before.snapshot_id)
            assert caught.value.code == "RV-CONFLICT"
        assert wh.table("t").count() == sum(r["__count"] for r in wh.changes("t", 0).collect())

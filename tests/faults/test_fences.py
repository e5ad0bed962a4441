"""A process that stalls for longer than its lease lasts, while another does the work: it must not do it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import delete

import rollview
from rollview import Limits
from rollview.catalog.schema import lease
from rollview.errors import SourceError
from rollview.propagate.versioned import Versioned
from rollview.refresh import Refresh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

MERGED, BRANCH = Limits(rewrite_bytes=0), Limits(few_bytes=0, rewrite_bytes=0)
WAYS: dict[str, tuple[str, Limits]] = {
    "appended": ("SELECT x FROM t", Limits()),
    "rewritten": ("SELECT k, SUM(x) AS x FROM t GROUP BY k", Limits()),
    "merged": ("SELECT k, SUM(x) AS x, COUNT(*) AS n FROM t GROUP BY k", MERGED),
    "branched": ("SELECT k, COUNT(*) AS n FROM t GROUP BY k", BRANCH),
    "regrouped": ("SELECT k, MIN(x) AS x FROM t GROUP BY k", Limits()),
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


def stalling(monkeypatch: pytest.MonkeyPatch, kind: type, method: str, meanwhile: Callable[[], object]) -> None:
    """The next call of the method returns late: the lease is lost, and others have been at work."""
    real = getattr(kind, method)

    def slow(self: Any, *given: Any, **options: Any) -> Any:
        monkeypatch.setattr(kind, method, real)
        made = real(self, *given, **options)
        with self.control._database.engine.begin() as connection:
            connection.execute(delete(lease).where(lease.c.name.startswith("relation:")))
        meanwhile()
        return made

    monkeypatch.setattr(kind, method, slow)


@pytest.mark.parametrize("view", WAYS)
def test_a_stalled_refresh_applies_nothing(path: Path, view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = WAYS[view][1]
    with rollview.open(path, limits=limits) as wh, rollview.open(path, limits=limits) as other:
        commit(wh)
        stalling(monkeypatch, Refresh, "applier", lambda: other.refresh(view))
        with pytest.raises(SourceError) as caught:
            wh.refresh(view)
        assert caught.value.code in ("RV-CONFLICT", "RV-LEASE-LOST") and caught.value.retryable
        right(wh, view)


@pytest.mark.parametrize("view", ["appended", "merged"])
def test_a_stalled_propagation_stores_nothing(path: Path, view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with rollview.open(path) as wh, rollview.open(path) as other:
        commit(wh)
        stalling(monkeypatch, Versioned, "read", lambda: other.propagate(view))
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

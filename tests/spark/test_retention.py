"""What no view needs any more is forgotten, nothing else is; and runners in every role on a real warehouse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rollview
from rollview.errors import BadInput
from rollview.runner import Runner

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse


def commit(wh: Warehouse) -> None:
    with wh.transaction() as tx:
        tx.insert("a", [(wh.tick % 3, wh.tick), (1, 1)])
        tx.delete("a", where=f"x = {wh.tick - 2}")
        tx.insert("b", [(wh.tick % 2, wh.tick)])


@pytest.fixture
def wh(spark: SparkSession, tmp_path: Path) -> Warehouse:
    wh = rollview.open(tmp_path)
    wh.create_table("a", "k INT, x INT")
    wh.create_table("b", "k INT, y INT")
    commit(wh)
    wh.create_view("fast", "SELECT k, SUM(x) AS x FROM a GROUP BY k")
    wh.create_view("slow", "SELECT a.k, x, y FROM a JOIN b ON a.k = b.k")
    wh.create_view("top", "SELECT MAX(x) AS x FROM fast")
    return wh


def test_what_is_needed_stays(wh: Warehouse) -> None:
    start = wh.tick
    for _ in range(3):
        commit(wh)
    wh.refresh("top")
    held = {r["name"]: r for r in wh.maintain(keep=0.0)}
    assert (
        (held["a"]["needed_since"], held["a"]["held_by"])
        == (start, "slow")
        == (
            held["b"]["needed_since"],
            held["b"]["held_by"],
        )
    )
    assert held["a"]["log_rows"] > 0 and held["fast"]["log_rows"] == 0 and held["fast"]["snapshots"] == 1
    wh.propagate("slow", upto=wh.tick - 1)
    wh.apply("slow", to=start + 1)
    assert wh.verify("slow").ok
    wh.refresh()
    held = {r["name"]: r for r in wh.maintain(keep=0.0)}
    assert {r["held_by"] for r in held.values()} == {"the time to keep"}
    assert all((r["log_rows"], r["snapshots"]) == (0, 1) for r in held.values())
    with pytest.raises(BadInput) as caught:
        wh.apply("slow", to=start)
    assert caught.value.code == "RV-NO-WAY-BACK" and str(wh.tick) in (caught.value.hint or "")
    commit(wh)
    wh.refresh()
    assert all(wh.verify(name).ok for name in ("fast", "slow", "top"))


def test_many_small_files_of_a_log_are_gathered_into_one(wh: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A propagation that stopped half way goes on from the view delta as if nothing had happened."""
    monkeypatch.setattr("rollview.maintain.FILES", 3)
    start = wh.tick
    for _ in range(4):
        commit(wh)
    wh.propagate("slow", upto=wh.tick - 1, step=1)
    before = sorted(tuple(r) for r in wh.changes("slow", start, wh.tick - 1).collect())
    logs = [wh._stored(name).log for name in ("a", "slow")]

    def files() -> list[int]:
        return [commit.number("total-data-files") for log in logs if (commit := wh._lake.commit(log))]

    assert min(files()) >= 3
    wh.maintain()
    assert files() == [1, 1]
    assert sorted(tuple(r) for r in wh.changes("slow", start, wh.tick - 1).collect()) == before
    wh.propagate("slow", step=1)
    for tick in (start + 2, wh.tick, start):
        wh.apply("slow", to=tick)
        assert wh.verify("slow").ok
    wh.refresh()
    assert wh.verify("fast").ok


def test_every_role_does_its_part(wh: Warehouse) -> None:
    commit(wh)
    stood = {r["name"]: r["tick"] for r in wh.status()}

    def shown() -> dict[str, tuple[int, int]]:
        return {r["name"]: (r["tick"], r["mark"]) for r in wh.status() if r["kind"] == "view"}

    Runner(wh, "capture", lag=0.01).run(rounds=1)
    Runner(wh, "propagate", lag=0.01).run(rounds=1)
    assert shown()["slow"] == (stood["slow"], wh.tick) and shown()["fast"] == (stood["fast"], wh.tick)
    Runner(wh, "apply", lag=0.01).run(rounds=1)
    assert all(tick == wh.tick for tick, _ in shown().values())
    assert all(wh.verify(name).ok for name in ("fast", "slow", "top"))
    assert "RV-STEPS-OPERATOR" in str(wh.explain("top")), "where it stops, and why"

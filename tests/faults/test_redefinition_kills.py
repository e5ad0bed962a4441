"""The end at every durable step of a replacement: the old view or the new one works, and nothing is left over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.faults.test_kills import ALTER, DROP, REPLACE, Ends, crash

import rollview
from rollview import Limits
from rollview.names import ENGINE_NAMESPACE

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

__all__ = ["crash"]
PARTS = Limits(part_bytes=0)
OLD = "SELECT n, COUNT(*) AS k FROM (SELECT g, COUNT(*) AS n FROM r GROUP BY g) GROUP BY n"
NEW = "SELECT n, COUNT(*) AS k FROM (SELECT g, COUNT(*) AS n FROM r WHERE x > 3 GROUP BY g) GROUP BY n"
ABOVE = "SELECT SUM(n) AS n, SUM(k) AS k FROM v"
BUILD = ("create_view.registered", "create_view.written", "create_view.computed", "create_view.defined")
COMMITTED = ("replace.committed", "replace.shown")
RELATIONS = {"r", "v", "above"}


@pytest.fixture(scope="module")
def path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replaced")
    with opened(path) as wh:
        wh.create_table("r", "id INT, g INT, x INT", key=["id"])
        change(wh)
        wh.create_view("v", OLD, policy="incremental")
        wh.create_view("above", ABOVE, policy="incremental")
    return path


def opened(path: Path) -> Warehouse:
    return rollview.open(path, limits=PARTS)


def change(wh: Warehouse) -> None:
    with wh.transaction() as tx:
        tx.insert("r", [(10 * wh.tick + i, i % 4, i) for i in range(10)])
        tx.delete("r", where=f"id = {10 * wh.tick - 5}")


def replace(path: Path, query: str) -> None:
    opened(path).create_view("v", query, policy="incremental", or_replace=True)


def goes_on(wh: Warehouse) -> None:
    """Both views are right, now and after a change that is followed incrementally."""
    wh.refresh()
    for _ in range(2):
        for view in ("v", "above"):
            assert wh.verify(view).ok, wh.verify(view)
        change(wh)
        assert {r.strategy for r in wh.refresh()} == {"incremental"}


def left_over(wh: Warehouse) -> set[str]:
    """Relations and tables that belong to nothing, once nobody reads the old rows any more."""
    wh.maintain(keep=0.0)
    relations = {r.name: r for r in wh._control.relations.list()}
    parts = {n for n in relations if n.startswith("__")}
    tables = {name for _, name in wh._lake.catalog.list_tables(ENGINE_NAMESPACE)}
    views = {row.viewName for row in wh.spark.sql("SHOW VIEWS IN rollview.default").collect()}
    wanted = {t.name for n in relations for t in (wh._stored(n).log, wh._stored(n).extent)}
    assert {relations[p].definition["part_of"] for p in parts} <= {"v"} and len(parts) == 1
    return (set(relations) - parts - RELATIONS) | (tables - wanted) | (views - parts - RELATIONS)


def words(wh: Warehouse) -> set[str]:
    """What tells the queries apart."""
    return {"WHERE", "HAVING"} & set(wh._stored("v").definition["sql"].split())


def shows_itself(wh: Warehouse) -> None:
    """A plain reader sees what the warehouse takes the view for."""
    assert wh.verify("v").ok
    assert sorted(map(tuple, wh.table("v").collect())) == sorted(map(tuple, wh.table("v", at=wh.tick).collect()))


@pytest.mark.parametrize("step", [*BUILD, *REPLACE])
def test_a_view_killed_while_another_is_built_beside_it(path: Path, crash: Ends, step: str) -> None:
    with opened(path) as wh:
        before = words(wh)
    crash(step, lambda: replace(path, OLD if "WHERE" in before else NEW))
    with opened(path) as wh:
        assert ("WHERE" in words(wh)) is (("WHERE" in before) ^ (step in COMMITTED))
        shows_itself(wh)
        goes_on(wh)
        assert not left_over(wh)


@pytest.mark.parametrize("step", COMMITTED)
def test_a_view_killed_while_its_readers_change_over(path: Path, crash: Ends, step: str) -> None:
    with opened(path) as wh:
        before, extent = words(wh), wh._stored("v").extent
    query = NEW if "WHERE" in before else OLD
    crash(step, lambda: replace(path, query if "HAVING" in before else f"{query} HAVING COUNT(*) > 1"))
    with opened(path) as wh:
        assert words(wh) == before ^ {"HAVING"} and wh._stored("v").extent == extent
        shows_itself(wh)
        goes_on(wh)
        assert not left_over(wh)


def test_where_the_warehouse_stays_open_the_next_refresh_shows_the_new_view(path: Path, crash: Ends) -> None:
    with opened(path) as witness:
        crash("replace.committed", lambda: replace(path, OLD if "WHERE" in words(witness) else NEW))
        goes_on(witness)
        shows_itself(witness)


@pytest.mark.parametrize("step", DROP[1:])
def test_the_end_of_the_old_rows_is_killed_as_well(path: Path, crash: Ends, step: str) -> None:
    with opened(path) as wh:
        query = OLD if "WHERE" in words(wh) else NEW
    replace(path, query)
    crash(step, lambda: opened(path).maintain(keep=0.0))
    with opened(path) as wh:
        goes_on(wh)
        assert not left_over(wh)


@pytest.mark.parametrize("step", ALTER)
def test_a_table_killed_while_it_is_altered(spark: SparkSession, tmp_path: Path, crash: Ends, step: str) -> None:
    """Whoever comes next finishes it: a warehouse that is opened, or one that was open all the time."""
    with rollview.open(tmp_path) as witness:
        witness.create_table("r", "id INT, g INT, x INT, z INT", key=["id"])
        with witness.transaction() as tx:
            tx.insert("r", [(i, i % 3, i, i) for i in range(9)])
        witness.create_view("v", "SELECT g, SUM(x) AS x FROM r GROUP BY g", policy="strict")
        witness.create_view("starred", "SELECT id, g, x FROM r WHERE x > 3", policy="strict")
        with witness.transaction() as tx:
            tx.update("r", set={"x": "x + 1"}, where="id = 4")
        crash(step, lambda: rollview.open(tmp_path).alter_table("r", rename={"x": "y"}, drop=["z"], add="note STRING"))
        if step == "alter.reshaped":  # of the log, then of the table
            crash(step, lambda: rollview.open(tmp_path))
        with witness.transaction() as tx:
            tx.insert("r", [(20, 1, 50, "new")])
        for view in ("v", "starred"):
            assert witness.refresh(view).strategy == "incremental"
            assert witness.verify(view).ok
        assert witness.table("r").columns == ["id", "g", "y", "note"]


def test_a_table_that_is_altered_to_the_end_by_somebody_who_does_not_know_a_function(
    spark: SparkSession, tmp_path: Path, crash: Ends
) -> None:
    def vouch(wh: Warehouse) -> None:
        wh.spark.udf.register("thrice", lambda x: None if x is None else 3 * x, "int")
        wh.trust_function("thrice")

    first = rollview.open(tmp_path)
    vouch(first)
    first.create_table("r", "id INT, x INT", key=["id"])
    with first.transaction() as tx:
        tx.insert("r", [(1, 1), (2, 2)])
    first.create_view("v", "SELECT id, thrice(x) AS y FROM r", policy="incremental")
    crash("alter.noted", lambda: first.alter_table("r", rename={"x": "z"}))
    with rollview.open(tmp_path) as wh:
        with wh.transaction() as tx:
            tx.insert("r", [(3, 3)])
        vouch(wh)
        wh.refresh("v")
        assert wh.verify("v").ok and sorted(map(tuple, wh.table("v").collect())) == [(1, 3), (2, 6), (3, 9)]

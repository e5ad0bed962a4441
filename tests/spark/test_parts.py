"""Inner groups that are stored as parts of a view: made with it, refreshed with it, gone with it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from tests.spark.shop import add_sales, checked, open_shop, refresh, rows

import rollview
from rollview import Limits
from rollview.catalog import HistoryRow
from rollview.plan.cost import Estimate
from rollview.steps import CRASH_AT, Crash

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

COUNTS = """SELECT n, COUNT(*) AS stores FROM (
    SELECT stores.store_id, COUNT(sale_id) AS n FROM stores LEFT JOIN sales
        ON stores.store_id = sales.store_id AND price < 20 GROUP BY stores.store_id) GROUP BY n"""
IDLE = "SELECT city FROM stores WHERE NOT EXISTS (SELECT 1 FROM sales WHERE sales.store_id = stores.store_id)"
ABOVE = "SELECT sale_id, price FROM sales WHERE price > (SELECT AVG(price) FROM sales)"
BEST = """WITH totals AS (SELECT store_id, SUM(price) AS total FROM sales GROUP BY store_id)
    SELECT city, total FROM stores JOIN totals USING (store_id) WHERE total = (SELECT MAX(total) FROM totals)"""
VIEWS = {"counts": COUNTS, "idle": IDLE, "above": ABOVE, "best": BEST}
PARTS = Limits(part_bytes=0)


@pytest.fixture(scope="module")
def wh(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_shop(tmp_path_factory.mktemp("parts"), limits=PARTS) as warehouse:
        for name, sql in VIEWS.items():
            warehouse.create_view(name, sql, policy="strict")
        yield warehouse


def parts(wh: Warehouse) -> list[str]:
    return [r.name for r in wh._control.relations.list() if r.name.startswith("__")]


def test_parts_are_no_views_of_the_user(wh: Warehouse) -> None:
    assert parts(wh) == ["__counts_part1", "__idle_part1", "__above_part1", "__best_part1", "__best_part2"]
    assert {r["name"] for r in wh.status() if r["kind"] == "view"} == set(VIEWS)
    assert {r.view for r in wh.refresh()} == set(VIEWS)


def test_explain_says_what_is_stored_for_a_view(wh: Warehouse) -> None:
    told = wh.explain("counts").stored
    assert "a part of 3 rows, " in told and "GROUP BY `sales`.`store_id`" in told
    assert "sales" not in {s.table for s in wh.explain("counts").strategies}


def test_views_follow_through_their_parts(wh: Warehouse) -> None:
    for change in range(5):
        with wh.transaction() as tx:
            if change == 0:
                tx.insert("stores", [(4, "Bonn"), (5, "Oslo")])
                tx.insert("sales", [(100, 4, 1, "7.00"), (101, 4, 1, None)])
            if change == 1:
                tx.delete("sales", where="store_id = 4")
                tx.update("sales", set={"price": "price + 15"}, where="sale_id % 4 = 0")
            if change == 2:
                tx.delete("sales", where="store_id = 1")
                tx.delete("stores", where="store_id = 1")
            if change == 3:
                tx.delete("sales")
            if change == 4:
                tx.insert("sales", [(i, 2 + i % 2, i % 5, f"{i}.25") for i in range(9)])
        for name in VIEWS:
            report = refresh(wh, name)
            assert report.strategy == "incremental" and "parts" in report.phases
    assert rows(wh, "counts") == [(0, 2), (4, 1), (5, 1)]


def test_a_full_refresh_derives_the_parts_too(wh: Warehouse) -> None:
    add_sales(wh, 200)
    refresh(wh, "counts", policy="full")
    assert [r["strategy"] for r in wh.history("__counts_part1", limit=1)] == ["recompute"]


def test_a_replaced_view_has_other_parts_and_a_dropped_one_none(wh: Warehouse) -> None:
    wh.create_view("brief", COUNTS)
    wh.create_view("brief", IDLE, or_replace=True)
    assert "sale_id" not in wh.explain("brief").stored
    wh.drop_view("brief")
    assert not [p for p in parts(wh) if "brief" in p]
    assert "__brief_part1" not in {t.name for t in wh.spark.catalog.listTables("rollview.default")}


def test_small_inner_groups_are_derived(spark: SparkSession, tmp_path: Path) -> None:
    with open_shop(tmp_path) as wh:
        wh.create_view("counts", COUNTS, policy="strict")
        assert not parts(wh)
        add_sales(wh, 50)
        assert "parts" not in refresh(wh, "counts").phases


def test_groups_that_are_compared_as_a_whole_are_stored_whatever_the_layout(
    spark: SparkSession, tmp_path: Path
) -> None:
    """TPC-H's Q11: a new threshold meets every group, so that to derive them is to read the whole table."""
    sums = "SELECT a, SUM(x) AS s FROM r GROUP BY a"
    with rollview.open(tmp_path, limits=Limits(part_bytes=1)) as wh:
        wh.create_table("r", "a INT, b INT, x INT", key=["a", "b"])
        wh.create_table("t", "a INT, y INT", key=["a"])
        with wh.transaction() as tx:
            tx.insert("r", [(i // 3, i % 3, i % 7) for i in range(30)])
            tx.insert("t", [(i, 2 * i) for i in range(10)])
        wh.create_view("looked_up", f"SELECT t.a, s FROM t JOIN ({sums}) q ON t.a = q.a WHERE s < y", policy="strict")
        assert not parts(wh), "a look-up of some groups reads little of the table"
        wh.create_view("above", f"{sums} HAVING s > (SELECT SUM(x) / 10 FROM r)", policy="strict")
        assert parts(wh) == ["__above_part1", "__above_part2"]
        for change in ("x + 3", "x - 2", "7 - x"):
            with wh.transaction() as tx:
                tx.update("r", set={"x": change}, where="a < 4")
                tx.delete("r", where="b = 1 AND a = 9")
            refresh(wh, "above")
            refresh(wh, "looked_up")


def test_sums_that_drift_are_derived(spark: SparkSession, tmp_path: Path) -> None:
    """What is above compares them, and the law knows no tolerance there."""
    with rollview.open(tmp_path, limits=PARTS) as wh:
        wh.create_table("r", "id INT, a INT, x DOUBLE", key=["id"])
        with wh.transaction() as tx:
            tx.insert("r", [(i, i % 3, i / 10) for i in range(9)])
        wh.create_view("v", "SELECT s, COUNT(*) AS n FROM (SELECT a, SUM(x) AS s FROM r GROUP BY a) GROUP BY s")
        assert not parts(wh)
        assert "derived at each refresh (RV-FLOAT-SUM): SELECT" in wh.explain("v").stored
        with wh.transaction() as tx:
            tx.delete("r", where="id = 4")
        refresh(wh, "v")


@pytest.mark.parametrize("step", ["create_view.registered", "create_view.shown"])
def test_parts_of_a_view_that_never_was_are_dropped(wh: Warehouse, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """The end comes while the first part is made, or when all parts are there and the view is not."""
    before = parts(wh)
    real = wh._upkeep.creation.made

    def made(name: str, *rest: object, **options: object) -> object:
        if step != "create_view.shown" or not name.startswith("__"):
            monkeypatch.setenv(CRASH_AT, step)
        return real(name, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(wh._upkeep.creation, "made", made)
    with pytest.raises(Crash):
        wh.create_view("never", COUNTS)
    monkeypatch.delenv(CRASH_AT)
    with rollview.open(wh.path, limits=PARTS) as other:
        assert parts(other) == before
        other.create_view("never", COUNTS)
        other.drop_view("never")


@pytest.mark.parametrize("step", ["refresh.logged", "refresh.merged", "refresh.noted"])
def test_a_view_goes_on_from_parts_that_are_ahead(wh: Warehouse, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """The end comes in the refresh of a part: it has moved, and the view has not."""
    with wh.transaction() as tx:
        tx.update("sales", set={"price": "price + 9"})
    monkeypatch.setenv(CRASH_AT, step)
    with pytest.raises(Crash):
        wh.refresh("best")
    monkeypatch.delenv(CRASH_AT)
    with rollview.open(wh.path, limits=PARTS) as other:
        add_sales(other, 300 + other.tick)
        refresh(other, "best")
        checked(other, "best", "__best_part1", "__best_part2")


def mark_of(wh: Warehouse, part: str) -> int:
    mark = wh._control.marks.mark(part)
    return max(mark.applied_tick or 0, mark.high_water_mark or 0)


@pytest.mark.parametrize("view", VIEWS)
def test_a_recompute_that_is_known_to_be_cheaper_leaves_parts_behind_that_do_not_help_it(
    wh: Warehouse, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rollview.forecast.WORTH", 0)
    part = f"__{view}_part1"
    wh.refresh()
    for strategy, seconds in (("incremental", 9.0), ("recompute", 0.1)) * 2:
        started = datetime.now(UTC)
        wh._control.history.record_refresh(
            HistoryRow(view=view, started=started, strategy=strategy, seconds=seconds, delta_rows=2, model_cost=seconds)
        )
    behind = mark_of(wh, part)
    number = 800 + 10 * list(VIEWS).index(view)
    add_sales(wh, number, number + 1)
    report = wh.refresh(view, policy="auto")
    assert isinstance(report, rollview.Report)
    assert (report.strategy, report.reason, report.delta_rows) == ("recompute", "RV-CHEAPER", 2)
    if view == "above":
        assert mark_of(wh, part) == behind < report.upto, "one more look at what is read anyway"
    else:
        assert mark_of(wh, part) == report.upto, "it saves the recompute some work"
    checked(wh, view)
    add_sales(wh, number + 2, number + 3)
    assert refresh(wh, view).strategy == "incremental", "the parts have caught up with the view first"
    checked(wh, view)
    add_sales(wh, number + 4)
    assert wh._upkeep.foregone(view, wh.tick, "auto") is None, "a smaller change than those that took long"


def test_a_view_that_is_made_above_finds_parts_that_were_left_behind(
    wh: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rollview.forecast.Forecast.foregone", lambda *_: Estimate(9.0, 0.1, known=True, rows=2))
    add_sales(wh, 900, 901)
    report = wh.refresh("above", policy="auto")
    assert isinstance(report, rollview.Report)
    assert mark_of(wh, "__above_part1") < report.upto
    monkeypatch.undo()
    add_sales(wh, 902, 903)
    wh.create_view("over", "SELECT COUNT(*) AS n FROM above")
    checked(wh, "above", "over")
    wh.drop_view("over")

"""Views that read views: each after what it reads, each at the tick that it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.shop import CITY_SALES, NOT_YET, add_sales, checked, open_shop, refresh, rows

import rollview
from rollview import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rollview import Warehouse

CHAIN = ("per_store", "per_city", "per_number")


@pytest.fixture(scope="module")
def wh(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """A chain of aggregates over aggregates; changes are pending whenever the next one is created."""
    with open_shop(tmp_path_factory.mktemp("chain")) as warehouse:
        warehouse.create_view(
            "per_store",
            "SELECT store_id, SUM(price) AS s, COUNT(*) AS n FROM sales GROUP BY store_id",
            policy="incremental",
        )
        add_sales(warehouse, 40)
        warehouse.create_view(
            "per_city",
            "SELECT city, SUM(s) AS s, SUM(n) AS n FROM per_store JOIN stores USING (store_id) GROUP BY city",
            policy="incremental",
        )
        add_sales(warehouse, 41)
        warehouse.create_view(
            "per_number", "SELECT n, COUNT(*) AS cities, SUM(s) AS s FROM per_city GROUP BY n", policy="incremental"
        )
        checked(warehouse, *CHAIN)
        yield warehouse


def test_a_chain_follows_from_one_end_to_the_other(wh: Warehouse) -> None:
    for change in range(3):
        with wh.transaction() as tx:
            if change == 0:
                tx.delete("sales", where="sale_id < 3")
            if change == 1:
                tx.update("stores", set={"city": "'Bergen'"}, where="store_id = 1")
                tx.update("sales", set={"price": "price * 2"}, where="store_id = 2")
            if change == 2:
                tx.delete("sales")
        report = wh.refresh("per_number")
        assert isinstance(report, rollview.Report) and report.strategy == "incremental"
        checked(wh, *CHAIN)
        assert {r["name"]: r["tick"] for r in wh.status() if r["name"] in CHAIN} == dict.fromkeys(CHAIN, wh.tick)
    assert rows(wh, "per_number") == []
    add_sales(wh, *range(10))
    assert refresh(wh, "per_number").strategy == "incremental"


def test_everything_at_once_is_refreshed_in_order(wh: Warehouse) -> None:
    add_sales(wh, 50)
    assert [r.view for r in wh.refresh()] == list(CHAIN)
    checked(wh, *CHAIN)


def test_the_changes_of_a_view_that_is_read(wh: Warehouse) -> None:
    wh.refresh()
    since, before = wh.tick, set(rows(wh, "per_store"))
    add_sales(wh, 60)
    wh.refresh("per_store")
    after = set(rows(wh, "per_store"))
    found = {tuple(r)[:-2]: (r["__count"], r["__tick"]) for r in wh.changes("per_store", since).collect()}
    assert found == dict.fromkeys(before - after, (-1, wh.tick)) | dict.fromkeys(after - before, (1, wh.tick))


def test_a_view_below_is_recomputed(wh: Warehouse) -> None:
    add_sales(wh, 70)
    wh.refresh("per_store", policy="full")
    report = refresh(wh, "per_city")
    assert (report.strategy, report.reason) == ("recompute", "RV-UPSTREAM-RECOMPUTED")
    assert refresh(wh, "per_number").reason == "RV-UPSTREAM-RECOMPUTED"
    add_sales(wh, 71)
    assert refresh(wh, "per_number").strategy == "incremental"
    checked(wh, *CHAIN)


def test_a_view_below_that_is_always_recomputed(wh: Warehouse) -> None:
    wh.create_view("cities", NOT_YET + "SELECT DISTINCT city FROM stores, r")
    wh.create_view("how_many", "SELECT COUNT(*) AS n FROM cities")
    with wh.transaction() as tx:
        tx.insert("stores", [(8, "Paris"), (9, "Paris")])
    report = refresh(wh, "how_many")
    assert (report.strategy, report.reason) == ("recompute", "RV-UPSTREAM-RECOMPUTED")
    add_sales(wh, 80)
    assert refresh(wh, "how_many").strategy == "none"


def test_a_view_below_has_run_ahead(wh: Warehouse) -> None:
    """The upper view once took the lower one as it stood elsewhere, and then missed or doubled changes."""
    wh.refresh()
    first = add_sales(wh, 90)
    second = add_sales(wh, 91)
    wh.refresh("per_store")
    report = refresh(wh, "per_city", to=first)
    assert (report.strategy, report.reason, report.upto) == ("recompute", "RV-UPSTREAM-ELSEWHERE", first)
    assert refresh(wh, "per_city", to=second).reason == "RV-UPSTREAM-ELSEWHERE"
    assert sum(r[2] for r in rows(wh, "per_city")) == wh.table("sales").count()
    add_sales(wh, 92)
    assert refresh(wh, "per_city").strategy == "incremental"
    refresh(wh, "per_number")


def test_a_change_that_cancels_out_below_is_no_change_above(wh: Warehouse) -> None:
    wh.refresh()
    with wh.transaction() as tx:
        tx.update("sales", set={"item_id": "0"}, where="sale_id = 50")
    for report in wh.refresh():
        assert report.inserted == report.updated == report.deleted == 0
    checked(wh, *CHAIN)


def test_the_log_of_a_large_change_is_written_by_spark(wh: Warehouse) -> None:
    large = rollview.open(wh.path, limits=Limits(small_rows=0, few_bytes=0, rewrite_bytes=0))
    for _ in range(2):
        with large.transaction() as tx:
            tx.update("sales", set={"price": "price + 1"})
            tx.delete("sales", where="sale_id = 9")
        assert refresh(large, "per_number").strategy == "incremental"
        checked(large, *CHAIN)
    large.close()


def test_what_a_view_reads_cannot_be_dropped_or_replaced(wh: Warehouse) -> None:
    with pytest.raises(rollview.BadInput, match="RV-RELATION-IN-USE"):
        wh.drop_view("per_store")
    with pytest.raises(rollview.BadInput, match="RV-RELATION-IN-USE"):
        wh.create_view("per_city", CITY_SALES, or_replace=True)
    checked(wh, *CHAIN)


def test_views_are_dropped_from_the_top(wh: Warehouse) -> None:
    for name in reversed(CHAIN):
        wh.drop_view(name)
    wh.create_view("per_store", CITY_SALES)
    checked(wh, "per_store")

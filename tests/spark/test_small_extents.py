"""A small extent is written by the driver; when it has grown, or has columns with parts, by Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.shop import BIG_SALES, CITIES, CITY_SALES, add_sales, checked, open_shop, refresh

import rollview
from rollview import Limits, SourceError
from rollview.lake.jobs import JobCounter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

VIEWS = {
    "states": CITY_SALES,
    "keyed": BIG_SALES,
    "bag": CITIES,
    "extremes": "SELECT city, MIN(price) AS p FROM sales JOIN stores USING (store_id) GROUP BY city",
    "total": "SELECT SUM(price) AS p, COUNT(*) AS n FROM sales",
}


@pytest.fixture(scope="module")
def wh(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_shop(tmp_path_factory.mktemp("small")) as warehouse:
        for name, sql in VIEWS.items():
            warehouse.create_view(name, sql, policy="strict")
        yield warehouse


def files(wh: Warehouse, name: str) -> tuple[int, int]:
    """The format of a relation's extent, and how many files it has."""
    table = wh._lake.load(wh._stored(name).extent)
    return table.metadata.format_version, len(list(table.scan().plan_files()))


def test_the_driver_folds_a_small_commit(wh: Warehouse) -> None:
    counter = JobCounter(wh.spark)
    with counter.here():
        add_sales(wh, 100, 101)
        with wh.transaction() as tx:
            tx.upsert("sales", [(100, 1, 1, "3.00")])
    assert counter.count is not None and counter.count <= 4, "the keys are looked up"
    assert files(wh, "sales") == (2, 1)


@pytest.mark.parametrize("view", VIEWS)
def test_a_small_view_is_applied_without_a_job(wh: Warehouse, view: str) -> None:
    wh.refresh()
    add_sales(wh, 200 + 10 * list(VIEWS).index(view))
    report = refresh(wh, view)
    stages = 2 if view == "extremes" else 1
    assert report.jobs is not None and report.jobs <= stages + 2 and report.inserted + report.updated > 0, report
    assert files(wh, view) == (2, 1)


def test_a_commit_costs_the_same_however_many_there_were(wh: Warehouse) -> None:
    """A manifest of which every file is gone would be opened by each later commit."""
    for i in range(5):
        add_sales(wh, 300 + i)
        wh.refresh("states")
    for name in ("sales", "states"):
        table = wh._lake.load(wh._stored(name).extent)
        snapshot = table.current_snapshot()
        assert snapshot is not None and len(snapshot.manifests(table.io)) == 2, "what came, and what went"


def test_everything_may_go_and_come_again(wh: Warehouse) -> None:
    with wh.transaction() as tx:
        tx.delete("sales", where="true")
    wh.refresh()
    checked(wh, *VIEWS)
    assert files(wh, "states") == (2, 0)
    add_sales(wh, 1, 2, 3)
    wh.refresh()
    checked(wh, *VIEWS)


def test_what_has_grown_is_merged_and_stays_so(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("grown")
    with open_shop(path) as wh:
        for name, sql in VIEWS.items():
            wh.create_view(name, sql, policy="strict")
    for limits, version in ((Limits(), 2), (Limits(rewrite_bytes=0), 3), (Limits(), 3)):
        with rollview.open(path, limits=limits) as wh:
            add_sales(wh, wh.tick * 100)
            with wh.transaction() as tx:
                tx.update("sales", set={"price": "price + 1"}, where="sale_id < 3")
            wh.refresh()
            checked(wh, *VIEWS)
            assert {files(wh, name)[0] for name in ("states", "keyed", "extremes", "total", "sales")} == {version}


def test_columns_with_parts_are_spark_s(wh: Warehouse) -> None:
    wh.create_view(
        "lists", "SELECT store_id, SORT_ARRAY(COLLECT_SET(price)) AS p FROM sales GROUP BY store_id", policy="strict"
    )
    add_sales(wh, 300)
    refresh(wh, "lists")
    assert files(wh, "lists")[0] == 3


def test_a_sum_that_overflows_is_refused_in_spark_s_words(wh: Warehouse) -> None:
    wh.create_table("big", "k INT, x BIGINT")
    with wh.transaction() as tx:
        tx.insert("big", [(1, 2**63 - 1)])
    wh.create_view("sums", "SELECT k, SUM(x) AS s FROM big GROUP BY k", policy="strict")
    with wh.transaction() as tx:
        tx.insert("big", [(1, 1)])
    with pytest.raises(Exception, match="overflow") as caught:
        wh.refresh("sums")
    assert getattr(caught.value, "code", None) == "RV-OVERFLOW"
    with wh.transaction() as tx:
        tx.delete("big", where="x = 1")
    refresh(wh, "sums")


@pytest.mark.parametrize("view", ["rows", "groups"])
def test_a_change_of_keys_that_lie_together_is_computed_by_its_merge(
    spark: SparkSession, tmp_path: Path, view: str
) -> None:
    """The extent has a file for every commit; a MERGE that touches one of them takes its change as a query."""
    sql = {
        "rows": "SELECT sale_id, city, price FROM sales JOIN stores USING (store_id)",
        "groups": "SELECT sale_id, city, SUM(price) AS total FROM sales JOIN stores USING (store_id) GROUP BY ALL",
    }[view]
    with open_shop(tmp_path, sales=0, limits=Limits(rewrite_bytes=0, few_bytes=9_000)) as wh:
        wh.create_view("v", sql, policy="strict")
        for first in range(0, 1600, 200):
            add_sales(wh, *range(first, first + 200))
            refresh(wh, "v")
        assert wh._lake.bytes(wh._stored("v").extent) > 9_000
        with wh.transaction() as tx:
            tx.update("sales", set={"price": "price + 1", "store_id": "2"}, where="sale_id BETWEEN 210 AND 220")
            tx.insert("sales", [(2000, 1, 1, "5.00")])
        apart = refresh(wh, "v")
        with wh.transaction() as tx:
            tx.update("sales", set={"price": "price + 1"}, where="sale_id BETWEEN 410 AND 420")
            tx.delete("sales", where="sale_id BETWEEN 430 AND 440")
        near = refresh(wh, "v")
        with wh.transaction() as tx:
            tx.update("sales", set={"price": "price + 1"}, where="sale_id % 50 = 0")
        far = refresh(wh, "v")
    assert ["compute" in report.phases for report in (apart, near, far)] == [False, False, True]
    assert (near.updated or near.inserted) == 11 and near.deleted >= 11


def test_a_small_change_is_computed_by_its_merge_only_if_its_keys_are_known_to_lie_together(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Otherwise the MERGE would read all of an extent that is not tiny, and more of it as that grows."""
    with open_shop(tmp_path / "w", limits=Limits(rewrite_bytes=0)) as wh:
        wh.create_view("keyed", BIG_SALES, policy="strict")
        wh.create_view("states", CITY_SALES, policy="strict")
        add_sales(wh, 500, 501)
        wh.refresh()
        with wh.transaction() as tx:
            tx.delete("sales", where="sale_id = 500")
        assert "compute" not in refresh(wh, "keyed").phases
        assert "compute" in refresh(wh, "states").phases


@pytest.mark.parametrize("view", VIEWS)
def test_a_small_view_is_recomputed_by_the_driver(wh: Warehouse, view: str) -> None:
    add_sales(wh, 600 + 10 * list(VIEWS).index(view))
    report = wh.refresh(view, policy="full")
    assert isinstance(report, rollview.Report) and report.strategy == "recompute"
    commit = wh._lake.commit(wh._stored(view).extent)
    assert commit is not None and "spark.app.id" not in commit.properties, "Spark has not written it"
    assert files(wh, view) == (2, 1)
    checked(wh, view)


def test_a_small_view_that_is_no_longer_small_is_recomputed_by_spark(wh: Warehouse) -> None:
    add_sales(wh, 700)
    with rollview.open(wh.path, limits=Limits(small_rows=1)) as other:
        report = other.refresh("keyed", policy="full")
        assert isinstance(report, rollview.Report) and report.inserted > 1
        commit = other._lake.commit(other._stored("keyed").extent)
        assert commit is not None and "spark.app.id" in commit.properties
    checked(wh, "keyed")


def test_rows_that_spark_does_not_send_are_recomputed_by_spark(wh: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        message = "Total size of serialized results of 2 tasks is bigger than spark.driver.maxResultSize"
        raise SourceError(message, code="RV-SPARK")

    add_sales(wh, 710)
    monkeypatch.setattr(wh._lake, "fetch", refuse)
    report = wh.refresh("keyed", policy="full")
    monkeypatch.undo()
    assert isinstance(report, rollview.Report) and report.strategy == "recompute"
    checked(wh, "keyed")

"""Statements about materialized views through wh.sql, and what explain tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.shop import CITY_SALES, NOT_YET, add_sales, checked, open_shop, rows

import rollview
from rollview import Report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rollview import Warehouse


@pytest.fixture(scope="module")
def wh(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_shop(tmp_path_factory.mktemp("statements")) as warehouse:
        yield warehouse


def test_a_view_from_its_creation_to_its_end(wh: Warehouse) -> None:
    created = wh.sql(f"CREATE MATERIALIZED VIEW city_sales AS {CITY_SALES};")
    assert isinstance(created, Report) and created.strategy == "recompute" and created.inserted == 2
    assert wh.sql(f"CREATE MATERIALIZED VIEW IF NOT EXISTS City_Sales AS {CITY_SALES}") is None
    with pytest.raises(rollview.BadInput, match="RV-RELATION-EXISTS"):
        wh.sql("CREATE MATERIALIZED VIEW city_sales AS SELECT city FROM stores")
    first = add_sales(wh, 100)
    add_sales(wh, 101)
    to_tick = wh.sql(f"refresh materialized view `city_sales` to tick {first}")
    assert isinstance(to_tick, Report) and (to_tick.strategy, to_tick.upto) == ("incremental", first)
    to_time = wh.sql("REFRESH MATERIALIZED VIEW city_sales TO TIMESTAMP '2000-01-01 00:00:00'")
    assert isinstance(to_time, Report) and to_time.strategy == "none"
    to_end = wh.sql("-- all that is new\n REFRESH MATERIALIZED VIEW city_sales;")
    assert isinstance(to_end, Report) and to_end.upto == wh.tick
    checked(wh, "city_sales")
    assert [r["name"] for r in wh.sql("SHOW MATERIALIZED VIEWS") if r["kind"] == "view"] == ["city_sales"]
    assert str(wh.sql("EXPLAIN MATERIALIZED VIEW city_sales")) == str(wh.explain("city_sales"))
    assert wh.sql("DROP MATERIALIZED VIEW city_sales") is None
    assert wh.sql("DROP MATERIALIZED VIEW IF EXISTS city_sales") is None
    with pytest.raises(rollview.BadInput, match="RV-UNKNOWN-RELATION"):
        wh.table("city_sales")


def test_or_replace_keeps_the_old_view_until_the_new_one_works(wh: Warehouse) -> None:
    wh.sql("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT store_id, city FROM stores")
    old = rows(wh, "v")
    for bad in ("SELECT nowhere FROM stores", "SELECT store_id / 0 AS x FROM stores", "SELECT city FROM v"):
        with pytest.raises(rollview.BadInput):
            wh.sql(f"CREATE OR REPLACE MATERIALIZED VIEW v AS {bad}")
        assert rows(wh, "v") == old
    wh.sql(
        "/* another */ CREATE OR REPLACE MATERIALIZED VIEW v POLICY strict AS "
        "SELECT city, COUNT(*) FROM Stores GROUP BY city"
    )
    assert wh.table("v").columns == ["city", "count(1)"]
    assert next(r for r in wh.status() if r["name"] == "v")["policy"] == "strict"
    checked(wh, "v")


def test_plain_queries_name_tables_and_views_without_ceremony(wh: Warehouse) -> None:
    wh.create_view("by_city", CITY_SALES)
    found = wh.sql("SELECT b.city, COUNT(*) AS n FROM By_City b JOIN STORES s ON b.city = s.city GROUP BY 1 ORDER BY 1")
    assert [tuple(r) for r in found.collect()] == [("Oslo", 1), ("Rome", 2)]
    assert wh.spark.catalog.currentCatalog() == "spark_catalog"
    assert wh.sql("SELECT 1 AS one").first().one == 1


def test_a_cte_that_hides_a_table_does_not_see_itself(wh: Warehouse) -> None:
    """Such a view was once taken to read nothing, and never refreshed."""
    cte = "WITH stores AS (SELECT city FROM stores WHERE store_id > 0)"
    wh.create_view("hidden", f"{cte} SELECT city, COUNT(*) AS n FROM stores GROUP BY city")
    wh.create_view("hidden_too", f"{cte} SELECT city, n FROM stores, ({NOT_YET} SELECT n FROM r WHERE n = 1)")
    with wh.transaction() as tx:
        tx.insert("stores", [(4, "Paris")])
    wh.refresh()
    checked(wh, "hidden", "hidden_too")
    assert ("Paris", 1) in rows(wh, "hidden") and ("Paris", 1) in rows(wh, "hidden_too")


def test_explain_tells_the_whole_plan(wh: Warehouse) -> None:
    wh.create_view("told", CITY_SALES, policy="incremental")
    add_sales(wh, 110)
    report = wh.refresh("told")
    text = str(wh.explain("told"))
    assert isinstance(report, Report)
    for part in ("View told (policy incremental)", "γ [", "When sales changes", "When stores changes", "MERGE INTO"):
        assert part in text
    assert "scans sales DELTA, stores AFTER" in text, "the foreign key leaves only one scan of stores"
    assert f"predicted {report.predicted:.3f} s, actual {report.seconds:.3f} s" in text
    told = wh.explain("told")
    assert told.as_dict()["policy"] == "incremental" and "<pre>" in told._repr_html_()


def test_what_fails_while_it_is_made_leaves_its_name_free(wh: Warehouse) -> None:
    """A view that failed in the middle once kept its name until the warehouse was opened again."""
    with pytest.raises(rollview.BadInput, match="RV-DIVIDE-BY-ZERO"):
        wh.create_view("again", "SELECT store_id / (store_id - 1) AS x FROM stores")
    wh.create_view("again", "SELECT store_id FROM stores")
    checked(wh, "again")

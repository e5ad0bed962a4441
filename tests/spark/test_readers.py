"""Readers need no rollview: any Spark with the catalog sees each view under its own name, and nothing else of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.spark.shop import BIG_SALES, CITIES, CITY_SALES, add_sales, checked, open_shop, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rollview import Warehouse

COLUMNS = {
    "city_sales": ["city", "total", "n", "mean"],
    "big_sales": ["sale_id", "city", "category", "price"],
    "hidden_key": ["city"],
    "cities": ["city"],
}
OTHER_SPARK = """
import sys
from pyspark.sql import SparkSession
from rollview.lake.jars import jars
from rollview.lake.java import ensure_java

ensure_java()
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.extraClassPath", ":".join(str(jar) for jar in jars()))
for key, value in (setting.split("=", 1) for setting in sys.argv[1:]):
    builder = builder.config(key, value)
spark = builder.getOrCreate()
for name in ("city_sales", "big_sales", "hidden_key", "cities"):
    print(name, sorted(map(tuple, spark.sql(f"SELECT * FROM rollview.default.{name}").collect())))
"""


@pytest.fixture(scope="module")
def wh(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_shop(tmp_path_factory.mktemp("readers")) as warehouse:
        warehouse.create_view("city_sales", CITY_SALES)
        warehouse.create_view("Big_Sales", BIG_SALES)
        warehouse.create_view("hidden_key", "SELECT city FROM stores")
        warehouse.create_view("cities", CITIES)
        add_sales(warehouse, 100)
        warehouse.refresh()
        yield warehouse


@pytest.mark.parametrize("name", COLUMNS)
def test_a_plain_session_sees_the_views_own_columns(wh: Warehouse, name: str) -> None:
    plain = wh.spark.newSession()
    for key in ("", ".type", ".uri", ".warehouse", ".cache-enabled", ".jdbc.schema-version"):
        plain.conf.set(f"spark.sql.catalog.rollview{key}", wh.spark.conf.get(f"spark.sql.catalog.rollview{key}"))
    found = plain.table(f"rollview.default.{name}")
    assert found.columns == COLUMNS[name]
    assert sorted(map(tuple, found.collect()), key=repr) == rows(wh, name)
    assert {r.viewName for r in plain.sql("SHOW VIEWS IN rollview.default").collect()} == set(COLUMNS)
    assert {r.tableName for r in plain.sql("SHOW TABLES IN rollview.default").collect()} >= {"stores", "items", "sales"}


def test_another_spark_that_knows_nothing_of_rollview(wh: Warehouse) -> None:
    settings = {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.rollview": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.rollview.type": "jdbc",
        "spark.sql.catalog.rollview.uri": f"jdbc:sqlite:{wh.path / 'catalog.db'}",
        "spark.sql.catalog.rollview.warehouse": str(wh.path),
        "spark.sql.catalog.rollview.jdbc.schema-version": "V1",
    }
    done = subprocess.run(
        [sys.executable, "-c", OTHER_SPARK, *(f"{k}={v}" for k, v in settings.items())],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    expected = [f"{name} {[tuple(r) for r in sorted(map(tuple, wh.table(name).collect()))]}" for name in COLUMNS]
    assert done.stdout.splitlines() == expected, done.stderr[-2000:]


def test_readers_see_one_change_at_a_time(wh: Warehouse) -> None:
    """A frame that was made before a refresh shows what was there then, or all of what is there now."""
    held = wh.table("city_sales")
    before = {r.city: r.n for r in held.collect()}
    add_sales(wh, 200, 201, 202)
    wh.refresh("city_sales")
    assert sum(r.n for r in held.collect()) in (sum(before.values()), sum(before.values()) + 3)
    checked(wh, "city_sales")

"""Gupta and Mumick's stores, items and sales, small, and what the tests ask of them again and again."""

from __future__ import annotations

import time
from functools import reduce
from statistics import median
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import rollview
from rollview.lake.jobs import JobCounter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rollview import Report, Warehouse

NOT_YET = "WITH r (n) AS (SELECT 1 UNION ALL SELECT IF((2 IN (SELECT CAST(NULL AS INT))) <=> TRUE, 3, 2)) "
"""before a SELECT it makes a view that cannot be maintained from changes"""
CITY_SALES = """SELECT city, SUM(price) AS total, COUNT(*) AS n, AVG(price) AS mean
    FROM sales JOIN stores USING (store_id) GROUP BY city"""
BIG_SALES = """SELECT sale_id, city, category, price FROM sales s
    JOIN stores t ON s.store_id = t.store_id JOIN items i ON s.item_id = i.item_id WHERE price > 10"""
CITIES = "SELECT city FROM sales JOIN stores USING (store_id) UNION ALL SELECT city FROM stores"


def open_shop(path: Path, sales: int = 30, **options: Any) -> Warehouse:
    wh = rollview.open(path, **options)
    wh.create_table("stores", "store_id INT, city STRING", key=["store_id"])
    wh.create_table("items", "item_id INT, category STRING", key=["item_id"])
    wh.create_table(
        "sales",
        "sale_id INT, store_id INT, item_id INT, price DECIMAL(10,2)",
        key=["sale_id"],
        foreign_keys={"store_id": "stores", "item_id": "items"},
    )
    with wh.transaction() as tx:
        tx.insert("stores", [(1, "Oslo"), (2, "Rome"), (3, "Rome")])
        tx.insert("items", [(i, f"category {i % 3}") for i in range(5)])
        tx.insert("sales", [sale(i) for i in range(sales)])
    return wh


def sale(i: int, price: str | None = None) -> tuple[Any, ...]:
    return i, 1 + i % 3, i % 5, price if price is not None else f"{i}.50"


def add_sales(wh: Warehouse, *ids: int, price: str | None = None) -> int:
    with wh.transaction() as tx:
        tx.insert("sales", [sale(i, price) for i in ids])
    assert tx.tick is not None
    return tx.tick


def refresh(wh: Warehouse, view: str, **options: Any) -> Report:
    """Refresh one view and check it."""
    report = wh.refresh(view, **options)
    assert isinstance(report, rollview.Report)
    checked(wh, view)
    return report


def asked_again(wh: Warehouse, view: str) -> tuple[float, int | None]:
    """How long a refresh with nothing new takes when the machine lets it, and how many jobs it runs."""
    counter = JobCounter(wh.spark)
    medians = []
    with counter.here():
        for _ in range(5):
            times = []
            for _ in range(9):
                clock = time.perf_counter()
                report = wh.refresh(view)
                times.append(time.perf_counter() - clock)
                assert isinstance(report, rollview.Report) and report.strategy == "none"
            medians.append(median(times))
    return min(medians), counter.count


def checked(wh: Warehouse, *views: str) -> None:
    for view in views:
        verification = wh.verify(view)
        assert verification.ok, verification


def rows(wh: Warehouse, name: str, at: Any = None) -> list[tuple[Any, ...]]:
    found = wh.table(name, at=at).toArrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def by_tick(frames: Mapping[int, DataFrame]) -> dict[int, list[tuple[Any, ...]]]:
    """The sorted rows of frames of one form, all read by one action."""
    marked = [frame.withColumn("at", F.lit(tick)) for tick, frame in frames.items()]
    found: dict[int, list[tuple[Any, ...]]] = {tick: [] for tick in frames}
    for row in reduce(DataFrame.union, marked).toArrow().to_pylist():
        *values, tick = row.values()
        found[tick].append(tuple(values))
    return {tick: sorted(rows, key=repr) for tick, rows in found.items()}

"""Gupta and Mumick's Example 1: stores, items, sales, the three views, and what happens to the sales."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from rollview.capture.managed import Transaction
    from rollview.warehouse import Warehouse

STORES, ITEMS = 1_000, 2_000
SEED = 1997

CITIES = (
    ("Albany", "NY"), ("Atlanta", "GA"), ("Austin", "TX"), ("Boise", "ID"), ("Boston", "MA"), ("Chicago", "IL"),
    ("Dallas", "TX"), ("Denver", "CO"), ("Detroit", "MI"), ("Fresno", "CA"), ("Houston", "TX"), ("Juneau", "AK"),
    ("Memphis", "TN"), ("Miami", "FL"), ("New York", "NY"), ("Oakland", "CA"), ("Omaha", "NE"), ("Phoenix", "AZ"),
    ("Portland", "OR"), ("Reno", "NV"), ("Seattle", "WA"), ("Tampa", "FL"), ("Tucson", "AZ"), ("Tulsa", "OK"),
)  # fmt: skip
CATEGORIES = (
    "bakery", "books", "camping", "coffee", "cycling", "dairy", "fruit", "games", "garden", "kitchen", "music", "pets",
    "shoes", "tea", "tools", "toys",
)  # fmt: skip

TABLES: dict[str, dict[str, Any]] = {
    "stores": {"columns": "store_id BIGINT, city STRING, state STRING", "key": ["store_id"]},
    "items": {"columns": "item_id BIGINT, category STRING", "key": ["item_id"]},
    "sales": {
        "columns": "sale_id BIGINT, store_id BIGINT, item_id BIGINT, day DATE, price DECIMAL(10,2)",
        "key": ["sale_id"],
        "foreign_keys": {"store_id": "stores", "item_id": "items"},
    },
}

VIEWS = {
    "si_sales": """\
SELECT store_id, item_id, SUM(price) AS total, COUNT(*) AS n
FROM sales GROUP BY store_id, item_id""",
    "city_sales": """\
SELECT city, SUM(price) AS total, COUNT(*) AS n
FROM sales JOIN stores ON sales.store_id = stores.store_id GROUP BY city""",
    "category_sales": """\
SELECT category, SUM(price) AS total, COUNT(*) AS n
FROM sales JOIN items ON sales.item_id = items.item_id GROUP BY category""",
}


def load(wh: Warehouse, sales: int) -> None:
    """The tables and their first rows, in one transaction."""
    for name, table in TABLES.items():
        wh.create_table(name, **table)
    stores, items = np.arange(STORES), np.arange(ITEMS)
    cities, states = zip(*(CITIES[i % len(CITIES)] for i in stores), strict=True)
    with wh.transaction() as tx:
        tx.insert("stores", pa.table({"store_id": stores, "city": cities, "state": states}))
        tx.insert("items", pa.table({"item_id": items, "category": [CATEGORIES[i % len(CATEGORIES)] for i in items]}))
        tx.insert("sales", spark_sales(wh, sales))


def spark_sales(wh: Warehouse, count: int) -> Any:
    """The first sales, made inside Spark; the hashes stand in for chance and are the same everywhere."""
    return wh.spark.range(count).selectExpr(
        "id AS sale_id",
        f"pmod(xxhash64(id, 1), {STORES}) AS store_id",
        f"pmod(xxhash64(id, 2), {ITEMS}) AS item_id",
        "date_add(DATE'1996-01-01', CAST(id * 365 DIV " + str(count) + " AS INT)) AS day",
        "CAST((pmod(xxhash64(id, 4), 9900) + 100) / 100 AS DECIMAL(10,2)) AS price",
    )


def new_sales(first: int, count: int) -> pa.Table:
    """Later sales, made by numpy; their keys follow on."""
    chance = np.random.default_rng(SEED + first)
    cents = chance.integers(100, 10_000, count)
    return pa.table(
        {
            "sale_id": np.arange(first, first + count),
            "store_id": chance.integers(0, STORES, count),
            "item_id": chance.integers(0, ITEMS, count),
            "day": pa.array(np.full(count, np.datetime64("1997-01-01"))),
            "price": pa.array([f"{c // 100}.{c % 100:02d}" for c in cents.tolist()]),
        }
    )


@dataclass(frozen=True, slots=True)
class Round:
    """One transaction, told and done."""

    title: str
    change: Callable[[Transaction], None]


def rounds(sales: int) -> tuple[Round, ...]:
    """What happens: about one sale in two hundred is touched."""
    day = sales // 200
    every = 1_000  # one sale in so many

    def business(tx: Transaction) -> None:
        tx.insert("sales", new_sales(sales + day, day))

    def returns(tx: Transaction) -> None:
        tx.delete("sales", where=f"sale_id % {every} = 7")
        tx.update("sales", set={"price": "price * 0.9"}, where=f"sale_id % {every} = 8")

    def everything(tx: Transaction) -> None:
        tx.insert("sales", new_sales(sales + 2 * day, day))
        tx.delete("sales", where=f"sale_id % {every} = 9")
        tx.update("stores", set={"city": "'Savannah'", "state": "'GA'"}, where="store_id = 1")

    few = sales // every
    return (
        Round(f"{day:,} new sales", business),
        Round(f"{few:,} sales returned, {few:,} prices corrected", returns),
        Round(f"{day:,} new sales, {few:,} returned, a store moves", everything),
    )


def warm_up(sales: int) -> tuple[Round, ...]:
    """Every kind of change once, before anything is measured."""

    def others(tx: Transaction) -> None:
        tx.delete("sales", where="sale_id % 1000 = 1")
        tx.update("sales", set={"price": "price + 1"}, where="sale_id % 1000 = 2")
        tx.update("stores", set={"state": "'MA'"}, where="store_id = 4")

    return (Round("", lambda tx: tx.insert("sales", new_sales(sales, sales // 200))), Round("", others))


def crash_round(sales: int) -> Round:
    day = sales // 200
    return Round(f"{day:,} new sales", lambda tx: tx.insert("sales", new_sales(sales + 3 * day, day)))

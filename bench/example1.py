"""Gupta and Mumick's Example 1: stores, items, sales, and the views SISales, CitySales and CategorySales.

10 M sales of 1,000 stores and 10,000 items; 10,000 insertions and 1,000 deletions a round.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import rollview
from bench.measure import Measured, Meter, middle
from rollview.lake.session import local_session

STORES, ITEMS, CITIES, CATEGORIES = 1_000, 10_000, 100, 1_000
INSERTS, DELETES = 10_000, 1_000
VIEWS = {
    "city_sales": """SELECT city, SUM(price) AS total, COUNT(*) AS n
        FROM sales JOIN stores ON sales.store_id = stores.store_id
        WHERE day > DATE'1995-01-01' GROUP BY city""",
    "category_sales": """SELECT category, SUM(price) AS total, COUNT(*) AS n
        FROM sales JOIN items ON sales.item_id = items.item_id
        WHERE day > DATE'1995-01-01' GROUP BY category""",
    "si_sales": """SELECT store_id, item_id, SUM(price) AS total, COUNT(*) AS n
        FROM sales WHERE day > DATE'1995-01-01' GROUP BY store_id, item_id""",
}
KEYS = {"city_sales": ["city"], "category_sales": ["category"], "si_sales": ["store_id", "item_id"]}


def warehouse(path: Path, sales: int) -> rollview.Warehouse:
    url = f"sqlite:///{(path / 'catalog.db').absolute()}"
    path.mkdir(parents=True, exist_ok=True)
    watched = {} if SparkSession.getActiveSession() else {"spark.ui.enabled": "true", "spark.ui.port": "0"}
    spark = local_session(path, url, driver_memory="6g", extra=watched)
    wh = rollview.open(path, spark=spark)
    if wh.tick == 0:
        load(wh, sales)
    return wh


def load(wh: rollview.Warehouse, sales: int) -> None:
    wh.create_table("stores", "store_id BIGINT, city STRING, state STRING", key=["store_id"])
    wh.create_table("items", "item_id BIGINT, category STRING", key=["item_id"])
    wh.create_table(
        "sales", "sale_id BIGINT, store_id BIGINT, item_id BIGINT, day DATE, price DECIMAL(10,2)", key=["sale_id"]
    )
    with wh.transaction() as tx:
        tx.insert("stores", [(i, f"city {i % CITIES}", f"state {i % 20}") for i in range(STORES)])
        tx.insert("items", [(i, f"category {i % CATEGORIES}") for i in range(ITEMS)])
    step = 25_000_000
    for start in range(0, sales, step):
        with wh.transaction() as tx:
            tx.insert("sales", generated(wh.spark, start, min(sales, start + step)))


def generated(spark: Any, start: int, end: int) -> Any:
    return spark.range(start, end).selectExpr(
        "id AS sale_id",
        f"pmod(xxhash64(id, 1), {STORES}) AS store_id",
        f"pmod(xxhash64(id, 2), {ITEMS}) AS item_id",
        "date_add(DATE'1994-06-01', CAST(pmod(xxhash64(id, 3), 3000) AS INT)) AS day",
        "CAST(pmod(xxhash64(id, 4), 100000) / 100 AS DECIMAL(10,2)) AS price",
    )


def change(wh: rollview.Warehouse, sales: int, turn: int) -> int:
    """One round: new sales at the end, old ones (never the same twice) gone; returns the tick before."""
    before = wh.tick
    fresh = generated(wh.spark, sales + turn * INSERTS, sales + (turn + 1) * INSERTS).toArrow()
    with wh.transaction() as tx:
        tx.insert("sales", fresh)
        step = max(1, sales // 20_000)
        low, high = turn * DELETES * step, (turn + 1) * DELETES * step
        tx.delete("sales", where=f"sale_id >= {low} AND sale_id < {high} AND sale_id % {step} = 0")
    return before


def hand_written(wh: rollview.Warehouse, view: str) -> str:
    """The best MERGE that we could write by hand over the same delta."""
    on = " AND ".join(f"v.{k} = d.{k}" for k in KEYS[view])
    keys = ", ".join(KEYS[view])
    source = {
        "city_sales": "delta JOIN rollview.default.stores s ON delta.store_id = s.store_id",
        "category_sales": "delta JOIN rollview.default.items i ON delta.item_id = i.item_id",
        "si_sales": "delta",
    }[view]
    return f"""MERGE INTO rollview.bench.{view} v USING (
        SELECT {keys}, SUM(IF(__count < 0, -price, price)) AS total, SUM(__count) AS n
        FROM {source} WHERE day > DATE'1995-01-01' GROUP BY {keys}) d
      ON {on}
      WHEN MATCHED AND v.n + d.n = 0 THEN DELETE
      WHEN MATCHED THEN UPDATE SET total = v.total + d.total, n = v.n + d.n
      WHEN NOT MATCHED THEN INSERT *"""


def prepare(wh: rollview.Warehouse, views: Mapping[str, str]) -> None:
    wh.spark.sql("CREATE NAMESPACE IF NOT EXISTS rollview.bench")
    for view, text in views.items():
        if view not in {r["name"] for r in wh.status()}:
            wh.create_view(view, text, policy="incremental")
        with wh._lake.in_warehouse():
            frame = wh.spark.sql(text).orderBy(*KEYS[view])
        writer = frame.writeTo(f"rollview.bench.{view}").using("iceberg")
        for name, value in {"format-version": "3", "write.merge.mode": "merge-on-read"}.items():
            writer = writer.tableProperty(name, value)
        writer.createOrReplace()
        with wh._lake.in_warehouse():
            wh.spark.sql(text).writeTo(f"rollview.bench.{view}_full").using("iceberg").createOrReplace()


def recompute(wh: rollview.Warehouse, view: str) -> None:
    from pyspark.sql.functions import lit

    with wh._lake.in_warehouse():
        wh.spark.sql(VIEWS[view]).writeTo(f"rollview.bench.{view}_full").overwrite(lit(True))


def run(path: Path, sales: int, rounds: int = 3, warm: int = 3, full: int = 3) -> dict[str, Any]:
    """Above 20 M sales only the two summaries that stay small: those of SISales would be written for minutes."""
    wh = warehouse(path, sales)
    views = VIEWS if sales <= 20_000_000 else {v: VIEWS[v] for v in ("city_sales", "category_sales")}
    prepare(wh, views)
    meter = Meter(wh.spark)
    samples: dict[tuple[str, str], list[Measured]] = {}
    spent = len(wh.history("city_sales"))
    for turn in range(rounds + warm):
        before = change(wh, sales, spent + turn)
        for view in views:
            work = {
                "refresh": lambda view=view: wh.refresh(view),
                "hand": lambda view=view, before=before: by_hand(wh, view, before),
            }
            if turn >= rounds + warm - full or turn == 0:
                work["recompute"] = lambda view=view: recompute(wh, view)
            for kind, what in work.items():
                measured = meter.measure(what)
                print(f"  {sales:>11,} {view:15} {kind:9} {measured}", file=sys.stderr)
                if turn >= warm:
                    samples.setdefault((view, kind), []).append(measured)
    ok = all(wh.verify(v).ok for v in views)
    result = {f"{v}/{k}": middle(s).__dict__ for (v, k), s in samples.items()}
    wh.close()
    return {"sales": sales, "verified": ok, "measured": result}


def by_hand(wh: rollview.Warehouse, view: str, before: int) -> None:
    wh.changes("sales", before).createOrReplaceTempView("delta")
    wh.spark.sql(hand_written(wh, view))


if __name__ == "__main__":
    import json

    sales = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    found = run(Path(f"bench/data/example1-{sales}"), sales)
    print(json.dumps(found, indent=1))

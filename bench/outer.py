"""Gupta and Mumick's Example 2 (SSFullInfo): new sales under two FULL OUTER joins, while the large side grows tenfold.

The change needs the new sales, stores and states. Sales are not read again, so the bytes do not grow with them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import rollview
from bench.measure import Meter, middle
from rollview.lake.session import local_session

VIEW = """WITH ss_info AS (
        SELECT sale_id, item_id, price, stores.store_id, city, stores.state
        FROM sales FULL OUTER JOIN stores ON sales.store_id = stores.store_id)
    SELECT sale_id, item_id, price, store_id, city, info_states.state, area, population
    FROM ss_info FULL OUTER JOIN info_states ON ss_info.state = info_states.state"""
STORES, STATES, NEW = 1_000, 100, 1_000


def run(path: Path, sales: int, rounds: int = 5, warm: int = 4) -> dict[str, Any]:
    """Each round brings new sales, among them the first sale of one store."""
    path.mkdir(parents=True, exist_ok=True)
    url = f"sqlite:///{(path / 'catalog.db').absolute()}"
    spark = local_session(path, url, driver_memory="6g", extra={"spark.ui.enabled": "true", "spark.ui.port": "0"})
    wh = rollview.open(path, spark=spark)
    if wh.tick == 0:
        load(wh, sales)
    meter = Meter(spark)
    samples = []
    spent = len(wh.history("ss_full_info"))
    for turn in range(spent, spent + rounds + warm):
        first = sales + turn * NEW
        fresh = [(first + i, STORES - 1 - turn if i == 0 else i % 100, i % 9, "1.50") for i in range(NEW)]
        with wh.transaction() as tx:
            tx.insert("sales", fresh)
        measured = meter.measure(lambda: wh.refresh("ss_full_info"))
        print(f"  {sales:,} sales: {measured}", file=sys.stderr)
        if turn >= spent + warm:
            samples.append(measured)
    ok = wh.verify("ss_full_info").ok
    wh.close()
    return {"sales": sales, "verified": ok, "measured": middle(samples).__dict__}


def load(wh: rollview.Warehouse, sales: int) -> None:
    wh.create_table("info_states", "state STRING, area BIGINT, population BIGINT", key=["state"])
    wh.create_table("stores", "store_id BIGINT, city STRING, state STRING", key=["store_id"])
    wh.create_table("sales", "sale_id BIGINT, store_id BIGINT, item_id BIGINT, price DECIMAL(10,2)", key=["sale_id"])
    session = wh.spark
    with wh.transaction() as tx:
        tx.insert(
            "info_states",
            session.range(STATES).selectExpr("concat('s', id) AS state", "id AS area", "id AS population"),
        )
        tx.insert(
            "stores",
            session.range(STORES).selectExpr(
                "id AS store_id", "concat('c', id % 50) AS city", f"concat('s', id % {STATES - 1}) AS state"
            ),
        )
    rows = session.range(sales).selectExpr(
        "id AS sale_id",
        f"id % {STORES // 2} AS store_id",
        "id % 1000 AS item_id",
        "CAST(id % 100 AS DECIMAL(10,2)) AS price",
    )
    with wh.transaction() as tx:
        tx.insert("sales", rows)
    wh.create_view("ss_full_info", VIEW, policy="strict")


if __name__ == "__main__":
    size = int(sys.argv[1])
    print(json.dumps(run(Path(f"bench/data/outer-{size}"), size)))

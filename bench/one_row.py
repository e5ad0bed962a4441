"""One changed row in a join view: what is read when the base grows tenfold and the change stays one row."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import rollview
from bench.measure import Meter, middle
from rollview.lake.session import local_session

VIEW = """SELECT line_id, lines.order_id, product, customer, placed
    FROM lines JOIN orders ON lines.order_id = orders.order_id"""


def run(path: Path, orders: int, rounds: int = 5, warm: int = 4) -> dict[str, Any]:
    """`orders` orders with five lines each, both clustered by the order; each round moves one order to another day."""
    url = f"sqlite:///{(path / 'catalog.db').absolute()}"
    path.mkdir(parents=True, exist_ok=True)
    spark = local_session(path, url, driver_memory="6g", extra={"spark.ui.enabled": "true", "spark.ui.port": "0"})
    wh = rollview.open(path, spark=spark)
    if wh.tick == 0:
        load(wh, orders)
    meter = Meter(spark)
    samples = []
    for turn in range(rounds + warm):
        with wh.transaction() as tx:
            tx.update("orders", set={"placed": "date_add(placed, 1)"}, where=f"order_id = {orders // 2 + turn * 7}")
        measured = meter.measure(lambda: wh.refresh("order_lines"))
        print(f"  {orders:,} orders: {measured}", file=sys.stderr)
        if turn >= warm:
            samples.append(measured)
    ok = wh.verify("order_lines").ok
    wh.close()
    return {"orders": orders, "verified": ok, "measured": middle(samples).__dict__}


def load(wh: rollview.Warehouse, orders: int) -> None:
    wh.create_table("orders", "order_id BIGINT, customer BIGINT, placed DATE", key=["order_id"])
    wh.create_table(
        "lines",
        "line_id BIGINT, order_id BIGINT, product BIGINT",
        key=["line_id"],
        cluster=["order_id"],
        foreign_keys={"order_id": "orders"},
    )
    day = "date_add(DATE'2020-01-01', CAST(pmod(xxhash64(id, 2), 2000) AS INT)) AS placed"
    with wh.transaction() as tx:
        tx.insert(
            "orders", wh.spark.range(orders).selectExpr("id AS order_id", "pmod(xxhash64(id), 100000) AS customer", day)
        )
    lines = wh.spark.range(5 * orders).selectExpr(
        "id AS line_id", "CAST(id / 5 AS BIGINT) AS order_id", "pmod(xxhash64(id), 50000) AS product"
    )
    with wh.transaction() as tx:
        tx.insert("lines", lines)
    wh.create_view("order_lines", VIEW, policy="incremental")


if __name__ == "__main__":
    size = int(sys.argv[1])
    print(json.dumps(run(Path(f"bench/data/one-row-{size}"), size)))

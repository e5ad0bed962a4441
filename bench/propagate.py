"""Propagating a small change without applying it, against the full refresh of the same view by the same change.

A refresh of a view whose changes are stored, as they are once it has been propagated, stores them as well: that is the
same view's refresh. Beside it stands the refresh of a view of the same definition whose changes nobody asks for.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import rollview
from bench.measure import Meter, middle
from rollview.lake.session import local_session

VIEWS = {
    "small": """SELECT product, COUNT(*) AS n, SUM(quantity) AS quantity
        FROM lines JOIN orders ON lines.order_id = orders.order_id GROUP BY product""",
    "large": """SELECT customer, product, COUNT(*) AS n, SUM(quantity) AS quantity
        FROM lines JOIN orders ON lines.order_id = orders.order_id GROUP BY customer, product""",
}
"""one whose extent the driver rewrites, and one that takes a MERGE"""
WAYS = ("refreshed", "stored", "propagated")
"""refreshed without and with a view delta, and propagated alone"""


def run(path: Path, orders: int, rounds: int = 9, warm: int = 6) -> dict[str, Any]:
    """Twice three views of one definition get the same hundred changed rows; two are refreshed, one is propagated.

    They go first in turns: the first one reads the change, the others find it read.
    """
    path.mkdir(parents=True, exist_ok=True)
    url = f"sqlite:///{(path / 'catalog.db').absolute()}"
    spark = local_session(path, url, driver_memory="4g", extra={"spark.ui.enabled": "true", "spark.ui.port": "0"})
    wh = rollview.open(path, spark=spark)
    if wh.tick == 0:
        load(wh, orders)
    meter = Meter(spark)
    samples: dict[str, list[Any]] = {f"{size} {how}": [] for size in VIEWS for how in WAYS}
    for turn in range(rounds + warm):
        with wh.transaction() as tx:
            tx.update(
                "lines", set={"quantity": "quantity + 1"}, where=f"order_id BETWEEN {turn * 50} AND {turn * 50 + 24}"
            )
        for size in VIEWS:
            for how in WAYS[turn % 3 :] + WAYS[: turn % 3]:
                run_it = wh.propagate if how == "propagated" else wh.refresh
                measured = meter.measure(lambda name=f"{size}_{how}", run=run_it: run(name))
                print(f"  {size} {how}: {measured}", file=sys.stderr)
                if turn >= warm:
                    samples[f"{size} {how}"].append(measured)
    for size in VIEWS:
        wh.apply(f"{size}_propagated")
    ok = all(wh.verify(f"{size}_{how}").ok for size in VIEWS for how in WAYS)
    wh.close()
    found = {name: middle(s) for name, s in samples.items()}
    ratios = {
        size: {how: found[f"{size} propagated"].seconds / found[f"{size} {how}"].seconds for how in WAYS[:2]}
        for size in VIEWS
    }
    return {"orders": orders, "verified": ok, "ratios": ratios, "measured": {n: m.__dict__ for n, m in found.items()}}


def load(wh: rollview.Warehouse, orders: int) -> None:
    wh.create_table("orders", "order_id BIGINT, customer BIGINT", key=["order_id"])
    wh.create_table("lines", "line_id BIGINT, order_id BIGINT, product BIGINT, quantity INT", key=["line_id"])
    customer = "pmod(xxhash64(id), 1000) AS customer"
    lines = ("id AS line_id", "CAST(id / 4 AS BIGINT) AS order_id", "pmod(xxhash64(id), 200000) AS product")
    with wh.transaction() as tx:
        tx.insert("orders", wh.spark.range(orders).selectExpr("id AS order_id", customer))
    with wh.transaction() as tx:
        tx.insert("lines", wh.spark.range(4 * orders).selectExpr(*lines, "1 AS quantity"))
    for size, sql in VIEWS.items():
        for how in WAYS:
            wh.create_view(f"{size}_{how}", sql, policy="incremental")
        wh.propagate(f"{size}_stored")


if __name__ == "__main__":
    size = int(sys.argv[1])
    print(json.dumps(run(Path(f"bench/data/propagate-{size}"), size)))

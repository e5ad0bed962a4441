"""A day of commits propagated in one step, and in steps of a bounded duration.

``python -m bench.contention COMMITS [FOLDER]`` prints two ratios, both within one process: the longest step against the
target, and the sum of all steps against the one big step.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

import rollview

VIEW = """SELECT lines.order_id, customer, COUNT(*) AS n, SUM(quantity) AS quantity
    FROM lines JOIN orders ON lines.order_id = orders.order_id GROUP BY lines.order_id, customer"""
ORDERS = 100_000
ROWS = 50_000
"""of each commit"""
SLACK, STEPS = 5, 8
"""the target is so many times the cost of a step with one commit, or a share of the big step if that is more"""


def run(path: Path, commits: int) -> dict[str, Any]:
    wh = rollview.open(path, driver_memory="3g")
    if wh.tick == 0:
        load(wh, commits)
    small = min(s.seconds for s in wh.propagate("warm", upto=wh.tick - commits + 5, step=1))
    wh.propagate("warm", step={"rows": commits * ROWS // 4})
    (big,) = wh.propagate("once")
    target = max(SLACK * small, big.seconds / STEPS)
    steps = wh.propagate("bounded", step={"target": target})
    wh.apply("bounded")
    found = {
        "commits": commits,
        "rows": commits * ROWS,
        "verified": wh.verify("bounded").ok,
        "one commit": small,
        "one big step": big.seconds,
        "target": target,
        "steps": [s.seconds for s in steps],
        "longest / target": max(s.seconds for s in steps) / target,
        "all / one big step": sum(s.seconds for s in steps) / big.seconds,
    }
    wh.close()
    return found


def load(wh: rollview.Warehouse, commits: int) -> None:
    """Three views of one definition, and then the day."""
    wh.create_table("orders", "order_id BIGINT, customer BIGINT", key=["order_id"])
    wh.create_table("lines", "order_id BIGINT, quantity BIGINT")
    customer = "pmod(xxhash64(id), 5000) AS customer"
    with wh.transaction() as tx:
        tx.insert("orders", wh.spark.range(ORDERS).selectExpr("id AS order_id", customer))
    for name in ("warm", "once", "bounded"):
        wh.create_view(name, VIEW, policy="incremental")
    for turn in range(commits):
        with wh.transaction() as tx:
            rows = [(turn * ROWS + i) * 7919 % ORDERS for i in range(ROWS)]
            tx.insert("lines", pa.table({"order_id": rows, "quantity": [1] * ROWS}))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(run(Path(sys.argv[2] if len(sys.argv) > 2 else folder), int(sys.argv[1]))))

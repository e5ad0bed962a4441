"""All 22 TPC-H queries as views under policy auto: the strategy of each refresh, and its share of a recompute.

A round changes 0.1 % of every large table: orders and their lines come, go and are updated; customers, parts, suppliers
and what they supply are updated. ORDER BY … LIMIT is kept as top-k.
"""

from __future__ import annotations

import json
import sys
from math import exp, log
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from tests.plan.tpch import QUERIES

import rollview
from bench.measure import Measured, Meter, middle
from bench.tpch import TABLES, change, generate, recompute, warehouse

MORE: dict[str, dict[str, Any]] = {
    "region": {"key": ["r_regionkey"]},
    "supplier": {"key": ["s_suppkey"], "foreign_keys": {"s_nationkey": "nation"}},
    "part": {"key": ["p_partkey"]},
    "partsupp": {"key": ["ps_partkey", "ps_suppkey"]},
}
UPDATES = {
    "customer": ("c_custkey", "c_acctbal"),
    "supplier": ("s_suppkey", "s_acctbal"),
    "part": ("p_partkey", "p_retailprice"),
    "partsupp": ("ps_partkey", "ps_supplycost"),
}


def update_others(wh: rollview.Warehouse, turn: int) -> None:
    with wh.transaction() as tx:
        for table, (key, column) in UPDATES.items():
            tx.update(table, set={column: f"{column} + 1"}, where=f"pmod(xxhash64({key}), 1000) = {turn}")


def run(folder: Path, scale: str = "1", rounds: int = 2, warm: int = 1) -> dict[str, Any]:
    tables = {"region": MORE["region"], **TABLES, **MORE}
    generate(folder / f"tpch-{scale}", scale, tables)
    wh = warehouse(folder / f"tpch22-{scale}-warehouse", folder / f"tpch-{scale}", tables)
    wh.spark.sql("CREATE NAMESPACE IF NOT EXISTS rollview.bench")
    views = {f"q{n}": text for n, text in QUERIES.items()}
    there = {r["name"] for r in wh.status()}
    for view, text in views.items():
        if view not in there:
            wh.create_view(view, text)
        with wh._lake.in_warehouse():
            wh.spark.sql(text).writeTo(f"rollview.bench.{view}_full").using("iceberg").createOrReplace()
    meter = Meter(wh.spark)
    samples: dict[tuple[str, str], list[Measured]] = {}
    told: dict[str, dict[str, Any]] = {}
    spent = len(wh.history("q1"))
    for turn in range(rounds + warm):
        change(wh, spent + turn, int(scale))
        update_others(wh, spent + turn)
        for view, text in views.items():
            reports: list[Any] = []
            refreshed = meter.measure(lambda view=view, reports=reports: reports.append(wh.refresh(view)))
            full = meter.measure(lambda view=view, text=text: recompute(wh, view, text))
            told[view] = {"strategy": reports[0].strategy, "reason": reports[0].reason}
            print(f"  {view:4} {told[view]} refresh {refreshed} recompute {full}", file=sys.stderr)
            if turn >= warm:
                samples.setdefault((view, "refresh"), []).append(refreshed)
                samples.setdefault((view, "recompute"), []).append(full)
    for view in views:
        told[view]["verified"] = wh.verify(view).ok
        ratio = middle(samples[view, "refresh"]).seconds / middle(samples[view, "recompute"]).seconds
        told[view]["refresh / recompute"] = ratio
    wh.close()
    gain = exp(-sum(log(t["refresh / recompute"]) for t in told.values()) / len(told))
    return {"scale": scale, "views": told, "geometric mean of recompute / refresh": gain}


def show(result: dict[str, Any]) -> None:
    table = Table(title=f"TPC-H SF {result['scale']} as views")
    for name in ("view", "strategy", "reason", "share of a recompute", "verified"):
        table.add_column(name)
    for view, told in result["views"].items():
        share = f"{told['refresh / recompute']:.2f}"
        table.add_row(view, told["strategy"], told["reason"] or "", share, str(told["verified"]))
    Console(stderr=True).print(table)


if __name__ == "__main__":
    found = run(Path("bench/data"), sys.argv[1] if len(sys.argv) > 1 else "1")
    show(found)
    print(json.dumps(found, indent=1))

"""All 22 TPC-H queries as views under policy auto: the strategy of each refresh, and its share of a recompute.

Two kinds of rounds. In the first, orders and their lines come, go and are updated, 0.1 % of each; as in TPC-H's own
refresh functions, no other table changes, so some views have nothing to do. In the second, customers, parts, suppliers
and what they supply are updated as well, 0.1 % of each and everywhere. ORDER BY … LIMIT is kept as top-k. The result is
written to docs/tpch.json, and docs/tpch.md is made of it. `python -m bench.tpch22 1 q2 q11` prints what some views
take once all their queries are warm: 20 rounds that follow 20.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from math import exp, log
from pathlib import Path
from typing import Any

from tests.plan.tpch import QUERIES

import rollview
from bench.measure import Meter
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


ROUNDS = {"orders and lines": False, "every table": True}
"""whether the other tables change, too"""


def run(
    folder: Path,
    scale: str = "1",
    rounds: int = 5,
    warm: int = 5,
    only: Sequence[str] = tuple(f"q{n}" for n in QUERIES),
) -> dict[str, Any]:
    tables = {"region": MORE["region"], **TABLES, **MORE}
    generate(folder / f"tpch-{scale}", scale, tables)
    wh = warehouse(folder / f"tpch22-{scale}-warehouse", folder / f"tpch-{scale}", tables)
    wh.spark.sql("CREATE NAMESPACE IF NOT EXISTS rollview.bench")
    views = {f"q{n}": text for n, text in QUERIES.items() if f"q{n}" in only}
    there = {r["name"] for r in wh.status()}
    for view, text in views.items():
        if view not in there:
            wh.create_view(view, text)
        with wh._lake.in_warehouse():
            wh.spark.sql(text).writeTo(f"rollview.bench.{view}_full").using("iceberg").createOrReplace()
    meter = Meter(wh.spark)
    turn = wh.tick  # so that a warehouse can be used again
    found: dict[str, Any] = {"scale": scale, "rounds": rounds, "rounds before": warm, "ticks before": turn}
    for kind, others in ROUNDS.items():
        told: dict[str, list[dict[str, Any]]] = {view: [] for view in views}
        for number in range(warm + rounds):
            change(wh, turn, int(scale))
            if others:
                update_others(wh, turn)
            turn += 1
            for view, text in views.items():
                measured = refreshed(wh, meter, view, text, first=number % 2 == 0)
                print(f"  {kind}, {view:4} {measured}", file=sys.stderr)
                if number >= warm:
                    told[view].append(measured)
        found[kind] = {view: summary(wh, view, told[view]) for view in views}
        shares = [one["share"] for one in found[kind].values()]
        found[f"{kind}: geometric mean of recompute / refresh"] = exp(-sum(map(log, shares)) / len(shares))
    wh.close()
    return found


def refreshed(wh: rollview.Warehouse, meter: Meter, view: str, text: str, *, first: bool) -> dict[str, Any]:
    """A refresh, and beside it a recompute by plain Spark; whichever comes first finds the new files unread."""
    reports: list[Any] = []
    if first:
        refresh = meter.measure(lambda: reports.append(wh.refresh(view)))
    full = meter.measure(lambda: recompute(wh, view, text))
    if not first:
        refresh = meter.measure(lambda: reports.append(wh.refresh(view)))
    return {
        "strategy": reports[0].strategy,
        "reason": reports[0].reason,
        "refresh": refresh.__dict__,
        "recompute": full.__dict__,
    }


def summary(wh: rollview.Warehouse, view: str, rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """What a refresh took of a recompute, both by the mean of all rounds; the strategy is the last one's."""
    refresh, full = (sum(r[kind]["seconds"] for r in rounds) for kind in ("refresh", "recompute"))
    last = rounds[-1]
    return {
        "strategy": last["strategy"],
        "reason": last["reason"],
        "share": refresh / full,
        "jobs": last["refresh"]["jobs"],
        "rows": last["refresh"]["rows"],
        "rows of a recompute": last["recompute"]["rows"],
        "verified": wh.verify(view).ok,
    }


def page(found: dict[str, Any]) -> str:
    lines = [
        "# The TPC-H queries as views",
        "",
        f"Scale {found['scale']}, policy `auto`, made by `python -m bench.tpch22`: what a refresh takes of the "
        f"time of a recompute by plain Spark, on average over {found['rounds']} rounds that follow "
        f"{found['rounds before']} of warm-up; which of the two comes first changes from round to round. `auto` needs "
        f"a few refreshes to find out which way is faster; the warehouse had {found['ticks before']} ticks when this "
        "run began.",
    ]
    for kind in ROUNDS:
        gain = found[f"{kind}: geometric mean of recompute / refresh"]
        lines += [
            "",
            f"## {kind.capitalize()} change",
            "",
            f"Geometric mean of recompute / refresh: {gain:.2f}.",
            "",
            "| view | strategy | why | share of a recompute | Spark jobs | rows read / by recompute | verified |",
            "|---|---|---|---|---|---|---|",
        ]
        for view, one in found[kind].items():
            rows = f"{one['rows']:,} / {one['rows of a recompute']:,}"
            told = (
                view,
                one["strategy"],
                one["reason"] or "",
                f"{one['share']:.2f}",
                one["jobs"],
                rows,
                one["verified"],
            )
            lines.append("| " + " | ".join(map(str, told)) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    size, *some = sys.argv[1:] or ["1"]
    if some:
        print(page(run(Path("bench/data"), size, rounds=20, warm=20, only=some)))
        sys.exit()
    result = run(Path("bench/data"), size)
    Path("docs/tpch.json").write_text(json.dumps(result, indent=1) + "\n")
    Path("docs/tpch.md").write_text(page(result))

"""The 99 TPC-DS queries as views under policy strict: what a refresh takes of a recompute, verified at every batch.

    python -m bench.tpcds 1 100 [scale]      # the queries from 1 on, before 100; results of others stay

A batch is one transaction in which 0.1 % of the rows of each table come, as many go, and as many are updated, and at
least one of each kind: in all 24 tables, or in the seven tables of facts. After every batch each view is refreshed,
recomputed by plain Spark, and compared with that. The first batch of each kind warms up, the second is measured. The
result is kept in docs/tpcds.json, from which docs/tpcds.md takes the shares.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import functions as F
from tests.plan.tpcds import FACTS, QUERIES, TABLES

import rollview
from bench.measure import Meter
from rollview.lake.session import local_session

OUT = Path("docs/tpcds.json")
KINDS = {"all": TABLES, "facts": FACTS}
"""the tables that change in a batch"""
BATCHES = ("all", "facts", "facts", "all")
SHARE = 1000
LATER = 80_000
"""days that new dates are later than all others, so that a day is one row"""


def generate(folder: Path, scale: str) -> None:
    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    extension = files("duckdb_extension_tpcds") / "extensions" / f"v{duckdb.__version__}" / "tpcds.duckdb_extension"
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"LOAD '{extension}'; CALL dsdgen(sf={float(scale)})")
        for name in TABLES:
            connection.execute(f"COPY {name} TO '{folder / name}.parquet'")
    (folder / "done").touch()


def warehouse(path: Path, data: Path) -> rollview.Warehouse:
    path.mkdir(parents=True, exist_ok=True)
    url = f"sqlite:///{(path / 'catalog.db').absolute()}"
    spark = local_session(path, url, driver_memory="6g", extra={"spark.ui.enabled": "true", "spark.ui.port": "0"})
    wh = rollview.open(path, spark=spark)
    if wh.tick == 0:
        for name, table in TABLES.items():
            columns = ", ".join(f"{c.name} {c.type}" for c in table.columns)
            wh.create_table(name, columns, key=table.key)
            with wh.transaction() as tx:
                tx.insert(name, typed(spark.read.parquet(str(data / f"{name}.parquet")), name))
    spark.sql("CREATE NAMESPACE IF NOT EXISTS rollview.bench")
    return wh


def typed(rows: Any, name: str) -> Any:
    return rows.select(*(F.col(c.name).cast(c.type) for c in TABLES[name].columns))


def change(wh: rollview.Warehouse, turn: int, tables: Iterable[str]) -> None:
    """New rows are copies of others, under keys that are free."""
    fresh = {}
    picks = {name: picked(wh, name, turn) for name in tables}
    for name in picks:
        rows, last = wh.table(name).where(picks[name][0]), (TABLES[name].key or ())[-1]
        rows = rows.withColumn(last, F.col(last) + 10_000_000 * (turn + 1))
        if name == "date_dim":
            rows = rows.withColumn("d_date", F.date_add("d_date", LATER + turn))
        fresh[name] = typed(rows, name).toArrow()
    with wh.transaction() as tx:
        for name, rows in fresh.items():
            tx.insert(name, rows)
            tx.delete(name, where=picks[name][1])
            tx.update(name, set=updated(name), where=picks[name][2])


def picked(wh: rollview.Warehouse, name: str, turn: int) -> list[str]:
    """Which rows are copied, go and are updated; of few rows about one each."""
    key = ", ".join(TABLES[name].key or ())
    share = max(3, min(SHARE, wh.table(name).count()))
    return [f"pmod(xxhash64({key}), {share}) = {(3 * turn + part) % share}" for part in range(3)]


def updated(name: str) -> dict[str, str]:
    """Of the columns that refer to nothing: the last amount grows by one, or the last text is another, or the last
    number grows."""
    table = TABLES[name]
    free = [c for c in table.columns if c.name not in (table.key or ()) and not c.name.endswith(("_sk", "_id", "_seq"))]
    for kind in ("decimal", "string", "int"):
        if found := [c.name for c in free if c.type.startswith(kind)]:
            return {found[-1]: "'Y'" if kind == "string" else f"{found[-1]} + 1"}
    raise ValueError(name)


def run(folder: Path, scale: str, numbers: list[int]) -> None:
    generate(folder / f"tpcds-{scale}", scale)
    wh = warehouse(folder / f"tpcds-{scale}-warehouse", folder / f"tpcds-{scale}")
    known = json.loads(OUT.read_text()) if OUT.exists() else {"queries": {}}
    known |= {"scale": scale, "batches": len(BATCHES)}
    there, meter = {r["name"] for r in wh.status()}, Meter(wh.spark)
    for number in numbers:
        if f"q{number}" not in there:
            wh.create_view(f"q{number}", QUERIES[number], policy="strict")
            with wh._lake.in_warehouse():
                wh.spark.sql(QUERIES[number]).writeTo(target(number)).using("iceberg").createOrReplace()
        print(f"created q{number} at {time.perf_counter():.0f} s", file=sys.stderr, flush=True)
    told: dict[int, list[dict[str, Any]]] = {number: [] for number in numbers}
    turn = wh.tick
    for batch, kind in enumerate(BATCHES):
        change(wh, turn + batch, KINDS[kind])
        for number in numbers:
            try:
                told[number].append(refreshed(wh, meter, number, first=(batch + number) % 2 == 0))
            except Exception:
                told[number].append({"failed": traceback.format_exc(limit=1)})
            print(f"  batch {batch}, q{number}: {told[number][-1]}", file=sys.stderr, flush=True)
    for number, batches in told.items():
        known["queries"][str(number)] = summary(batches)
    wh.close()
    known["queries"] = dict(sorted(known["queries"].items(), key=lambda item: int(item[0])))
    OUT.write_text(json.dumps(known, indent=1) + "\n")


def target(number: int) -> str:
    return f"rollview.bench.q{number}_full"


def refreshed(wh: rollview.Warehouse, meter: Meter, number: int, *, first: bool) -> dict[str, Any]:
    """A refresh, and beside it a recompute by plain Spark; whichever comes first finds the new files unread."""

    def recompute() -> None:
        with wh._lake.in_warehouse():
            wh.spark.sql(QUERIES[number]).writeTo(target(number)).overwrite(F.lit(True))

    reports: list[Any] = []
    refresh = meter.measure(lambda: reports.append(wh.refresh(f"q{number}"))) if first else None
    full = meter.measure(recompute)
    if refresh is None:
        refresh = meter.measure(lambda: reports.append(wh.refresh(f"q{number}")))
    here, there = (bag(rows) for rows in (wh.table(f"q{number}"), wh.spark.table(target(number))))
    return {
        "strategy": reports[0].strategy,
        "refresh": refresh.seconds,
        "recompute": full.seconds,
        "jobs": refresh.jobs,
        "rows": refresh.rows,
        "rows of a recompute": full.rows,
        "verified": here == there or wh.verify(f"q{number}").ok,
    }


def bag(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in rows.toArrow().to_pylist())


def summary(batches: list[dict[str, Any]]) -> dict[str, Any]:
    """The second batch of each kind; all of them verified."""
    failed = [b["failed"] for b in batches if "failed" in b]
    if failed:
        return {"failed": failed[0], "verified": False}
    last = dict(zip(BATCHES, batches, strict=True))
    told = {kind: {**b, "share": b["refresh"] / b["recompute"]} for kind, b in last.items()}
    return {**told, "verified": all(b["verified"] for b in batches)}


if __name__ == "__main__":
    first, last, *rest = sys.argv[1:]
    wanted = [n for n in QUERIES if int(first) <= n < int(last)]
    run(Path("bench/data"), rest[0] if rest else "1", wanted)

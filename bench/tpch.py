"""TPC-H: a Q1-like aggregate, a Q3-like join aggregate, a four-way join kept as rows, and a Q13-like count of
counts over a LEFT join.

A round inserts, deletes and updates 0.1 % of the orders and their lineitems. As in TPC-H's own refresh functions, each
kind of change takes a run of neighbouring orders, and new ones get the key numbers that the generator leaves free.
With `scattered`, every kind of change takes orders from everywhere instead: no file can be left out.

What foreign keys save is measured by refreshing the Q3-like view once more from the same changes as if none were
declared, after orders and their lines have come and gone (no updates, as in TPC-H).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import rollview
from bench.measure import Measured, Meter, told
from rollview.lake.session import local_session
from rollview.plan.maintain import maintain

TABLES: dict[str, dict[str, Any]] = {
    "nation": {"key": ["n_nationkey"]},
    "customer": {"key": ["c_custkey"], "foreign_keys": {"c_nationkey": "nation"}},
    "orders": {"key": ["o_orderkey"], "foreign_keys": {"o_custkey": "customer"}},
    "lineitem": {"key": ["l_orderkey", "l_linenumber"], "foreign_keys": {"l_orderkey": "orders"}},
}
VIEWS = {
    "q1": """SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price,
            SUM(l_extendedprice * (1 - l_discount)) AS sum_disc_price, AVG(l_quantity) AS avg_qty,
            COUNT(*) AS count_order
        FROM lineitem WHERE l_shipdate <= DATE'1998-09-02' GROUP BY l_returnflag, l_linestatus""",
    "q3": """SELECT l_orderkey, o_orderdate, o_shippriority, SUM(l_extendedprice * (1 - l_discount)) AS revenue
        FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
            AND o_orderdate < DATE'1995-03-15' AND l_shipdate > DATE'1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority""",
    "four_way": """SELECT l_orderkey, l_linenumber, o_orderdate, c_name, n_name, l_quantity, l_extendedprice
        FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey
            JOIN nation ON c_nationkey = n_nationkey""",
    "q13": """SELECT orders_made, COUNT(*) AS customers
        FROM (SELECT c_custkey, COUNT(o_orderkey) AS orders_made FROM customer LEFT JOIN orders
            ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) q
        GROUP BY orders_made""",
}
SHARE = 1000


def generate(folder: Path, scale: str, tables: Iterable[str] = TABLES) -> None:
    missing = [t for t in tables if not (folder / f"{t}.parquet").exists()]
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        tool = Path(sys.executable).parent / "tpchgen-cli"
        names = ",".join(missing)
        command = [str(tool), "parquet", "-s", scale, f"--tables={names}", f"--output-dir={folder}"]
        subprocess.run(command, check=True, capture_output=True)


def warehouse(path: Path, data: Path, tables: Mapping[str, dict[str, Any]] = TABLES) -> rollview.Warehouse:
    url = f"sqlite:///{(path / 'catalog.db').absolute()}"
    path.mkdir(parents=True, exist_ok=True)
    spark = local_session(path, url, driver_memory="6g", extra={"spark.ui.enabled": "true", "spark.ui.port": "0"})
    wh = rollview.open(path, spark=spark)
    if wh.tick == 0:
        for name, options in tables.items():
            frame = spark.read.parquet(str(data / f"{name}.parquet"))
            columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in frame.schema.fields)
            wh.create_table(name, columns, **options)
            with wh.transaction() as tx:
                tx.insert(name, frame)
    return wh


def change(wh: rollview.Warehouse, turn: int, scale: int, *, scattered: bool = False, updates: bool = True) -> None:
    """New orders with their lines, other orders gone with theirs, others again with new dates and quantities.

    Of 32 key numbers the generator uses the first eight; new orders are copies of a run, their keys moved on by eight.
    """
    runs = 6_000_000 * scale // SHARE

    def picked(column: str, part: int) -> str:
        number = turn * 3 + part
        if scattered:
            return f"pmod(xxhash64({column}), {SHARE}) = {SHARE - 1 - number}"
        start = runs * (number * 37 % SHARE)
        return f"{column} BETWEEN {start} AND {start + runs - 1}"

    fresh = {}
    for name, column in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
        frame = wh.table(name).where(f"({column} - 1) % 32 < 8").where(picked(column, 0))
        fresh[name] = frame.withColumn(column, frame[column] + (16 if scattered else 8)).toArrow()
    with wh.transaction() as tx:
        for name in fresh:
            tx.insert(name, fresh[name])
        tx.delete("lineitem", where=picked("l_orderkey", 1))
        tx.delete("orders", where=picked("o_orderkey", 1))
        if updates:
            tx.update("lineitem", set={"l_quantity": "l_quantity + 1"}, where=picked("l_orderkey", 2))
            tx.update("orders", set={"o_orderdate": "date_add(o_orderdate, 1)"}, where=picked("o_orderkey", 2))


def recompute(wh: rollview.Warehouse, view: str, text: str) -> None:
    from pyspark.sql.functions import lit

    with wh._lake.in_warehouse():
        wh.spark.sql(text).writeTo(f"rollview.bench.{view}_full").overwrite(lit(True))


def run(folder: Path, scale: str = "1", rounds: int = 5, warm: int = 5) -> dict[str, Any]:
    generate(folder / f"tpch-{scale}", scale)
    wh = warehouse(folder / f"tpch-{scale}-warehouse", folder / f"tpch-{scale}")
    wh.spark.sql("CREATE NAMESPACE IF NOT EXISTS rollview.bench")
    there = {r["name"] for r in wh.status()}
    for view, text in {**VIEWS, "q3_free": VIEWS["q3"]}.items():
        if view not in there:
            wh.create_view(view, text, policy="incremental")
    for view, text in VIEWS.items():
        with wh._lake.in_warehouse():
            wh.spark.sql(text).writeTo(f"rollview.bench.{view}_full").using("iceberg").createOrReplace()
    meter = Meter(wh.spark)
    samples: dict[tuple[str, str], list[Measured]] = {}
    spent = len(wh.history("q1"))
    for turn in range(2 * rounds + warm):
        scattered = turn >= rounds + warm
        change(wh, spent + turn, int(scale), scattered=scattered)
        for view in VIEWS:
            name = f"{view}, scattered" if scattered else view
            for kind, work in (("refresh", wh.refresh), ("recompute", lambda v: recompute(wh, v, VIEWS[v]))):
                measured = meter.measure(lambda work=work, view=view: work(view))
                print(f"  tpch {name:20} {kind:9} {measured}", file=sys.stderr)
                if turn >= warm:
                    samples.setdefault((name, kind), []).append(measured)
    for turn in range(2 * rounds + warm, 3 * rounds + warm):
        change(wh, spent + turn, int(scale), updates=False)
        for kind, foreign_keys in (("refresh", True), ("without foreign keys", False)):
            view = "q3" if foreign_keys else "q3_free"
            with patch("rollview.refresh.maintain", partial(maintain, foreign_keys=foreign_keys)):
                measured = meter.measure(lambda view=view: wh.refresh(view))
            print(f"  tpch q3, no updates {kind:22} {measured}", file=sys.stderr)
            samples.setdefault(("q3, no updates", kind), []).append(measured)
    ok = all(wh.verify(v).ok for v in VIEWS)
    wh.close()
    return {
        "scale": scale,
        "verified": ok,
        "measured": {f"{v}/{k}": told(s) for (v, k), s in samples.items()},
    }


if __name__ == "__main__":
    print(json.dumps(run(Path("bench/data"), sys.argv[1] if len(sys.argv) > 1 else "1"), indent=1))

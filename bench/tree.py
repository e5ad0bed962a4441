"""A tree by WITH RECURSIVE: some branches move, some leaves come and go; a refresh beside a recompute by plain Spark.

The rounds of the change are those of the branches that move; a recompute goes through all of the tree.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import rollview
from bench.measure import Measured, Meter, told
from bench.tpch import recompute
from rollview.lake.session import local_session

TREE = """WITH RECURSIVE tree (id, boss, lvl) AS (
    SELECT id, boss, 1 FROM staff WHERE boss IS NULL
    UNION ALL SELECT s.id, s.boss, lvl + 1 FROM staff s JOIN tree ON s.boss = tree.id)"""
VIEWS = {
    "tree": f"{TREE} SELECT id, boss, lvl FROM tree",
    "levels": f"{TREE} SELECT lvl, COUNT(*) AS n, SUM(pay) AS pay FROM tree JOIN staff USING (id) GROUP BY lvl",
}
FAN = 10
MOVED, LEAVES = 20, 100


def run(path: Path, staff: int, rounds: int = 5, warm: int = 3) -> dict[str, Any]:
    """Each round some chiefs of about a hundred people get another chief, and as many leaves come as go."""
    path.mkdir(parents=True, exist_ok=True)
    url = f"sqlite:///{(path / 'catalog.db').absolute()}"
    spark = local_session(path, url, driver_memory="6g", extra={"spark.ui.enabled": "true", "spark.ui.port": "0"})
    wh = rollview.open(path, spark=spark)
    if wh.tick == 0:
        load(wh, staff)
    meter = Meter(spark)
    samples: dict[tuple[str, str], list[Measured]] = {}
    spent = wh.tick
    for turn in range(rounds + warm):
        change(wh, staff, spent + turn)
        for view, text in VIEWS.items():
            for kind in ("refresh", "recompute"):
                work = wh.refresh if kind == "refresh" else lambda name, text=text: recompute(wh, name, text)
                measured = meter.measure(lambda work=work, view=view: work(view))
                print(f"  {staff:,} people: {view:7} {kind:9} {measured}", file=sys.stderr)
                if turn >= warm:
                    samples.setdefault((view, kind), []).append(measured)
    ok = all(wh.verify(view).ok for view in VIEWS)
    wh.close()
    measured = {f"{view}/{kind}": told(found) for (view, kind), found in samples.items()}
    return {"staff": staff, "verified": ok, "measured": measured}


def change(wh: rollview.Warehouse, staff: int, turn: int) -> None:
    """Chiefs two levels above the leaves move to a neighbour of their chief."""
    chief = staff // FAN**2
    first = chief // FAN + turn * MOVED
    with wh.transaction() as tx:
        tx.update(
            "staff",
            set={"boss": f"boss + IF(boss % {FAN} = {FAN - 1}, -1, 1)"},
            where=f"id >= {first} AND id < {first + MOVED}",
        )
        tx.insert("staff", [(staff + turn * LEAVES + i, staff // 2 + i, 1) for i in range(LEAVES)])
        tx.delete("staff", where=f"id >= {staff - (turn + 1) * LEAVES} AND id < {staff - turn * LEAVES}")


def load(wh: rollview.Warehouse, staff: int) -> None:
    wh.create_table("staff", "id BIGINT, boss BIGINT, pay INT", key=["id"])
    rows = wh.spark.range(staff).selectExpr(
        "id", f"IF(id = 0, NULL, (id - 1) DIV {FAN}) AS boss", "CAST(id % 1000 AS INT) AS pay"
    )
    with wh.transaction() as tx:
        tx.insert("staff", rows)
    wh.spark.sql("CREATE NAMESPACE IF NOT EXISTS rollview.bench")
    for view, text in VIEWS.items():
        wh.create_view(view, text, policy="strict")
        with wh._lake.in_warehouse():
            wh.spark.sql(f"CREATE TABLE rollview.bench.{view}_full USING iceberg AS {text}")


if __name__ == "__main__":
    size = int(sys.argv[1])
    print(json.dumps(run(Path(f"bench/data/tree-{size}"), size)))

"""The deletion of one group's minimum in 10 M rows: what is read to derive that one group again.

Once where the table is laid out by the group, and once where it is not; there a scan of the two needed columns is the
most that may be read. What a refresh reads of the change log, of the view and of metadata is known from the deletion of
a row that is no minimum.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import rollview
from bench.measure import Measured, Meter, middle
from rollview.lake.session import local_session

GROUPS = 100_000
LAYOUTS = {"by_group": ["grp"], "by_id": ["id"]}


def run(path: Path, rows: int, rounds: int = 3, warm: int = 2) -> dict[str, Any]:
    path.mkdir(parents=True, exist_ok=True)
    url = f"sqlite:///{(path / 'catalog.db').absolute()}"
    spark = local_session(path, url, driver_memory="6g", extra={"spark.ui.enabled": "true", "spark.ui.port": "0"})
    wh = rollview.open(path, spark=spark)
    if wh.tick == 0:
        load(wh, rows)
    meter = Meter(spark)
    spent = len(wh.history("low_by_group"))
    samples: dict[str, list[Measured]] = {}
    derived: dict[str, list[int]] = {}
    for turn in range(rounds + warm):
        group = (spent + turn) * 7919 % GROUPS
        for layout in LAYOUTS:
            members = wh.table(layout).where(f"grp = {group}").orderBy("value", "id").collect()
            for kind, lost in (("refresh", members[0]), ("refresh, no minimum", members[-1])):
                with wh.transaction() as tx:
                    tx.delete(layout, where=f"id = {lost['id']} AND grp = {group}")
                reports: list[rollview.Report] = []
                view = f"low_{layout}"
                measured = meter.measure(lambda view=view, reports=reports: reports.append(wh.refresh(view)))
                print(f"  {layout} {kind}: {measured}", file=sys.stderr)
                if turn >= warm:
                    samples.setdefault(f"{layout}/{kind}", []).append(measured)
                    derived.setdefault(f"{layout}/{kind}", []).append(reports[0].rederived)
    for layout in LAYOUTS:
        two = wh.table(layout).selectExpr("max(grp)", "max(value)")
        samples[f"{layout}/scan of two columns"] = [meter.measure(two.collect)]
    verified = all(wh.verify(f"low_{layout}").ok for layout in LAYOUTS)
    wh.close()
    measured_ = {k: middle(s).__dict__ for k, s in samples.items()}
    return {"rows": rows, "verified": verified, "groups derived again": derived, "measured": measured_}


def load(wh: rollview.Warehouse, rows: int) -> None:
    frame = wh.spark.range(rows).selectExpr(
        "id",
        f"pmod(xxhash64(id), {GROUPS}) AS grp",
        "CAST(pmod(xxhash64(id, 1), 1000000) AS INT) AS value",
        "sha1(CAST(id AS STRING)) AS note",
    )
    for layout, cluster in LAYOUTS.items():
        wh.create_table(layout, "id BIGINT, grp BIGINT, value INT, note STRING", key=["id"], cluster=cluster)
        with wh.transaction() as tx:
            tx.insert(layout, frame)
        wh.create_view(
            f"low_{layout}", f"SELECT grp, MIN(value) AS low, COUNT(*) AS n FROM {layout} GROUP BY grp", policy="strict"
        )


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    print(json.dumps(run(Path(f"bench/data/extreme-{size}"), size), indent=1))

"""The lag of a view while others commit: a runner keeps it below its target, is stopped for a while, and catches up.

``python -m bench.lag SECONDS`` prints the lag four times a second and draws it in docs/lag.svg.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import rollview
from bench.picture import draw_lag
from rollview.runner import Runner
from rollview.status import lag_of

VIEW = "SELECT city, COUNT(*) AS n, SUM(price) AS total FROM sales JOIN stores USING (store) GROUP BY city"
STORES, ROWS = 200, 500
TARGET = 8.0
"""the view's target lag in seconds"""
COMMITS_EVERY, SAMPLES_EVERY = 0.5, 0.25


def run(path: Path, seconds: float) -> dict[str, Any]:
    """The runner is at work, but for the third quarter of the time."""
    with rollview.open(path, driver_memory="2g") as wh:
        prepare(wh)
        start, end = time.monotonic(), time.monotonic() + seconds
        stop, go_on = start + seconds * 0.4, start + seconds * 0.65
        threads = [
            threading.Thread(target=write, args=(wh, end)),
            threading.Thread(target=keep, args=(wh, start, stop)),
            threading.Thread(target=keep, args=(wh, go_on, end)),
        ]
        for thread in threads:
            thread.start()
        samples = []
        while time.monotonic() < end:
            mark = wh._control.marks.mark("city_sales")
            applied = mark.applied_tick or 0
            ahead = max(applied, mark.high_water_mark or 0)
            lags = [lag_of(wh._control, "city_sales", tick) for tick in (applied, ahead)]
            samples.append([time.monotonic() - start, *lags])
            time.sleep(SAMPLES_EVERY)
        for thread in threads:
            thread.join()
        wh.refresh("city_sales")
        ok = wh.verify("city_sales").ok
    stopped = [stop - start, go_on - start]
    return {"target": TARGET, "stopped": stopped, "verified": ok, "samples": samples}


def prepare(wh: rollview.Warehouse) -> None:
    """Tables, the view, and some rounds until Spark is warm."""
    wh.create_table("stores", "store BIGINT, city STRING", key=["store"])
    wh.create_table("sales", "store BIGINT, price BIGINT")
    with wh.transaction() as tx:
        tx.insert("stores", [(i, f"city {i % 20}") for i in range(STORES)])
    wh.create_view("city_sales", VIEW, policy="incremental")
    wh.schedule("city_sales", lag=TARGET, step={"target": 1.0})
    for turn in range(8):
        commit(wh, turn)
        wh.propagate("city_sales")
        wh.apply("city_sales")


def commit(wh: rollview.Warehouse, turn: int) -> None:
    with wh.transaction() as tx:
        tx.insert("sales", pa.table({"store": [(turn + i) % STORES for i in range(ROWS)], "price": [turn] * ROWS}))


def write(wh: rollview.Warehouse, end: float) -> None:
    turn = 0
    while time.monotonic() < end:
        commit(wh, turn := turn + 1)
        time.sleep(COMMITS_EVERY)


def keep(wh: rollview.Warehouse, start: float, end: float) -> None:
    """A runner from one moment to another."""
    time.sleep(max(0.0, start - time.monotonic()))
    runner = Runner(wh, every=0.2)
    timer = threading.Timer(end - time.monotonic(), runner.stop)
    timer.start()
    runner.run()
    timer.cancel()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        found = run(Path(folder), float(sys.argv[1]))
    draw_lag(found, Path("docs/lag.svg"))
    print(json.dumps(found))

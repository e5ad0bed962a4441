"""The same change under a tenfold table of sales: does a refresh cost what the change costs?

Both warehouses in one process, their refreshes in turns, so that a machine that slows down slows both.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

from bench.example1 import VIEWS, change, warehouse
from bench.measure import Meter

SUMMARIES = ("city_sales", "category_sales")


def run(folder: Path, sizes: list[int], rounds: int = 9, warm: int = 5) -> dict[str, Any]:
    opened = {sales: warehouse(folder / f"example1-{sales}", sales) for sales in sizes}
    seconds: dict[str, list[float]] = {}
    for wh in opened.values():
        for view in SUMMARIES:
            if view not in {r["name"] for r in wh.status()}:
                wh.create_view(view, VIEWS[view], policy="incremental")
    spent = {sales: len(wh.history("city_sales")) for sales, wh in opened.items()}
    for turn in range(rounds + warm):
        for sales, wh in opened.items():
            change(wh, sales, spent[sales] + turn)
        for view in SUMMARIES:
            for sales, wh in opened.items():
                measured = Meter(wh.spark).measure(lambda wh=wh, view=view: wh.refresh(view))
                print(f"  {sales:>11,} {view:15} {measured}", file=sys.stderr)
                if turn >= warm:
                    seconds.setdefault(f"{view}/{sales}", []).append(measured.seconds)
    ok = all(wh.verify(v).ok for wh in opened.values() for v in SUMMARIES)
    times = {name: median(found) for name, found in seconds.items()}
    small, large = (str(s) for s in sizes)
    growth = {view: times[f"{view}/{large}"] / times[f"{view}/{small}"] for view in SUMMARIES}
    return {"sizes": sizes, "verified": ok, "seconds": times, "growth": growth}


if __name__ == "__main__":
    given = [int(a) for a in sys.argv[1:]] or [10_000_000, 100_000_000]
    print(json.dumps(run(Path("bench/data"), given), indent=1))

"""One command for all numbers: ``make bench``. Each part runs in a process of its own; ratios are within one process.

``--large`` adds 100 M sales (some 20 minutes and 10 GB of disk).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

OUT = Path("docs/bench.json")
PARTS = {
    "example1": [["bench.example1", "10000000"]],
    "large": [["bench.example1", "100000000"]],
    "growth": [["bench.growth", "10000000", "100000000"]],
    "tpch": [["bench.tpch", "1"]],
    "tree": [["bench.tree", "500000"]],
    "extreme": [["bench.extreme", "10000000"]],
    "one_row": [["bench.one_row", "200000"], ["bench.one_row", "2000000"]],
    "outer": [["bench.outer", "200000"], ["bench.outer", "2000000"]],
    "propagate": [["bench.propagate", "600000"]],
    "contention": [["bench.contention", "100"]],
}
LARGE = ("large", "growth")
RATIOS = ("example1", "large", "tpch", "tree")
"""the parts that compare a refresh with a recompute"""
GROWTH = {"one_row": "one changed row in a join view", "outer": "new sales under two full outer joins"}
"""the parts that make the base grow tenfold while the change stays"""


def run(part: str) -> list[dict[str, Any]]:
    found = []
    for module, *arguments in PARTS[part]:
        done = subprocess.run([sys.executable, "-m", module, *arguments], check=True, stdout=subprocess.PIPE, text=True)
        found.append(json.loads(done.stdout))
    return found


def ratios(results: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """One row per view: refresh against recompute and against the hand-written MERGE."""
    rows = []
    for part, runs in results.items():
        if part not in RATIOS:
            continue
        for one in runs:
            measured = one["measured"]
            for view in dict.fromkeys(k.split("/")[0] for k in measured):
                if f"{view}/recompute" not in measured:
                    continue
                refresh, full = measured[f"{view}/refresh"], measured[f"{view}/recompute"]
                hand = measured.get(f"{view}/hand")
                means = [m.get("mean seconds", m["seconds"]) for m in (refresh, full)]
                rows.append(
                    {
                        "part": part,
                        "view": view,
                        "refresh / recompute": refresh["seconds"] / full["seconds"],
                        "by the mean": means[0] / means[1],
                        "refresh / by hand": refresh["seconds"] / hand["seconds"] if hand else None,
                        "jobs": refresh["jobs"],
                        "rows read": refresh["rows"],
                        "rows read by recompute": full["rows"],
                        "bytes read": refresh["bytes"],
                    }
                )
    return rows


def show(results: dict[str, list[dict[str, Any]]]) -> None:
    table = Table(title="refresh, as a share of …")
    for name in ("part", "view", "recompute", "by the mean", "by hand", "jobs", "rows read", "rows read by recompute"):
        table.add_column(name, justify="left" if name in ("part", "view") else "right")
    for row in ratios(results):
        hand = row["refresh / by hand"]
        table.add_row(
            row["part"],
            row["view"],
            f"{row['refresh / recompute']:.2f}",
            f"{row['by the mean']:.2f}",
            "—" if hand is None else f"{hand:.2f}",
            str(row["jobs"]),
            f"{row['rows read']:,}",
            f"{row['rows read by recompute']:,}",
        )
    console = Console()
    console.print(table)
    for one in results.get("tpch", ()):
        keyed, free = (one["measured"][f"q3, no updates/{k}"]["seconds"] for k in ("refresh", "without foreign keys"))
        console.print(f"q3, no updates: without foreign keys {free / keyed:.1f} times as long")
    for one in results.get("growth", ()):
        for view, growth in one["growth"].items():
            console.print(f"{view}: {growth:.2f} times as long under a tenfold table")
    for one in results.get("extreme", ()):
        near, far = (base_bytes(one["measured"], layout) for layout in ("by_group", "by_id"))
        console.print(f"one minimum deleted: {near:.3f} of a scan of two columns by group, else {far:.3f}")
    for part, what in GROWTH.items():
        if part in results:
            small, big = (r["measured"] for r in results[part])
            growth = big["bytes"] / max(1, small["bytes"])
            console.print(f"{what}: tenfold base, {growth:.2f} times the bytes, {big['jobs']} jobs")
    for one in results.get("propagate", ()):
        for size, of in one["ratios"].items():
            told = f"{of['stored']:.2f} of a refresh that stores it too, {of['refreshed']:.2f} of one that does not"
            console.print(f"{size} view, a small change propagated, not applied: {told}")
    for one in results.get("contention", ()):
        longest, total = one["longest / target"], one["all / one big step"]
        console.print(f"steps of a target duration: the longest {longest:.2f} of it, all {total:.2f} of one big step")


def base_bytes(measured: dict[str, dict[str, Any]], layout: str) -> float:
    """What deriving one group again reads of its table, as a share of a scan of the two columns."""
    refresh, plain, scan = (
        measured[f"{layout}/{kind}"]["bytes"] for kind in ("refresh", "refresh, no minimum", "scan of two columns")
    )
    return float(refresh - plain) / scan


def main(arguments: list[str]) -> None:
    wanted = [a for a in arguments if not a.startswith("-")] or [p for p in PARTS if p not in LARGE]
    if "--large" in arguments:
        wanted += LARGE
    results: dict[str, list[dict[str, Any]]] = json.loads(OUT.read_text())["parts"] if OUT.exists() else {}
    for part in wanted:
        results[part] = run(part)
    OUT.write_text(json.dumps({"parts": results, "ratios": ratios(results)}, indent=1) + "\n")
    show(results)
    from bench.picture import draw

    draw(ratios(results), Path("docs/bench.svg"))


if __name__ == "__main__":
    main(sys.argv[1:])

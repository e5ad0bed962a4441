"""Two driver processes at work on the same views at the same time."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rollview

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
ROUNDS = 4
VIEWS = ("sums", "rows", "bag")
PROGRAM = """
import json, sys
import rollview

wh = rollview.open(sys.argv[1], driver_memory="1g")
print("open", flush=True)
for line in sys.stdin:
    reports = wh.refresh()
    print(json.dumps({r.view: (r.strategy, r.since, r.upto) for r in reports}), flush=True)
"""


def start(path: Path) -> subprocess.Popen[str]:
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(path)], text=True, cwd=ROOT, **pipes)


def tell(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(word + "\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_each_change_is_applied_by_one_of_them(spark: SparkSession, tmp_path: Path) -> None:
    """Whoever comes second waits for the lease, and then finds nothing to do."""
    with rollview.open(tmp_path) as wh, ExitStack() as running:
        wh.create_table("t", "k INT, v INT")
        wh.create_table("names", "n INT, name STRING", key=["n"])
        with wh.transaction() as tx:
            tx.insert("t", [(i, i) for i in range(10)])
            tx.insert("names", [(i, f"name {i}") for i in range(10)])
        wh.create_view("sums", "SELECT k % 3 AS g, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k % 3", policy="strict")
        wh.create_view("rows", "SELECT n, name FROM names JOIN t ON n = k", policy="strict")
        wh.create_view("bag", "SELECT v FROM t UNION ALL SELECT k FROM t", policy="strict")
        both = [running.enter_context(start(tmp_path)) for _ in range(2)]
        for process in both:
            running.callback(process.kill)
        assert [hear(process) for process in both] == ["open\n", "open\n"]
        for turn in range(ROUNDS):
            since = wh.tick
            with wh.transaction() as tx:
                tx.insert("t", [(turn, 1), (turn, 1)])  # only insertions: a bag's append would happily happen twice
                if turn % 2:
                    tx.delete("t", where=f"k = {turn + 4}")
            for process in both:
                tell(process, "go")
            heard = [json.loads(hear(process)) for process in both]
            for view in VIEWS:
                done = sorted(tuple(h[view]) for h in heard)
                assert done == [("incremental", since, wh.tick), ("none", wh.tick, wh.tick)]
                assert wh.verify(view).ok
        for view in VIEWS:
            assert sum(row["strategy"] == "incremental" for row in wh.history(view)) == ROUNDS

"""Two runners under load, killed and restarted at random: nothing diverges, no change is lost or counted twice.

ROLLVIEW_LOAD_SECONDS=600 for a long run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import rollview
from rollview.status import runners

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rollview import Warehouse

ROOT = Path(__file__).parents[2]
SECONDS = float(os.environ.get("ROLLVIEW_LOAD_SECONDS", 20))
PATIENCE = 180.0
VIEWS = {
    "totals": "SELECT city, SUM(price) AS total, COUNT(*) AS n FROM sales JOIN stores USING (store) GROUP BY city",
    "joined": "SELECT sale, city, price FROM sales JOIN stores USING (store)",
    "visits": "SELECT store, kind FROM events",
    "extremes": "SELECT store, MIN(price) AS low, MAX(price) AS high FROM sales GROUP BY store",
    "sizes": "SELECT n, COUNT(*) AS cities FROM totals GROUP BY n",
    "now": "SELECT p.a, p.x, q.y FROM p JOIN q ON p.a = q.a",
}


@dataclass
class Writer:
    """Commits, and knows what must be there."""

    wh: Warehouse
    rng: Random
    sales: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    events: Counter[tuple[int, int]] = field(default_factory=Counter)
    commits: int = 0

    def prepare(self) -> None:
        self.wh.create_table("stores", "store INT, city STRING", key=["store"])
        self.wh.create_table("sales", "sale INT, store INT, price INT", key=["sale"])
        self.wh.create_table("events", "store INT, kind INT")
        for name, columns in (("p", "a INT, x INT"), ("q", "a INT, y INT")):
            self.wh.create_table(name, columns, access="present")
        with self.wh.transaction() as tx:
            tx.insert("stores", [(i, f"city {i % 3}") for i in range(6)])
        self.commit()
        for name, sql in VIEWS.items():
            self.wh.create_view(name, sql)

    def commit(self) -> None:
        """Equal events, so that one that is counted twice would not be refused; sales of all kinds of change."""
        rng = self.rng
        event, sale = (rng.randrange(6), rng.randrange(3)), (self.commits, rng.randrange(6), rng.randrange(100))
        gone = [i for i in self.sales if i % 7 == self.commits % 7 and i % 2]
        with self.wh.transaction() as tx:
            tx.insert("events", [event, event])
            tx.insert("sales", [sale])
            if gone:
                tx.delete("sales", where=f"sale IN ({', '.join(map(str, gone))})")
            if self.commits % 4 == 0:
                tx.update("stores", set={"city": f"'city {rng.randrange(4)}'"}, where=f"store = {rng.randrange(6)}")
            if self.commits % 3 == 0:
                tx.insert("p", [(rng.randrange(3), self.commits)])
                tx.insert("q", [(rng.randrange(3), self.commits)])
        self.commits += 1
        self.events[event] += 2
        self.sales = {i: row for i, row in {**self.sales, sale[0]: sale}.items() if i not in gone}

    def check(self) -> None:
        assert {tuple(r) for r in self.wh.table("sales").collect()} == set(self.sales.values())
        assert Counter(tuple(r) for r in self.wh.table("events").collect()) == self.events


@dataclass
class Pair:
    """Two runners, of which some are dead at times."""

    wh: Warehouse
    rng: Random
    alive: list[subprocess.Popen[bytes]] = field(default_factory=list)
    due: dict[int, float] = field(default_factory=dict)
    """by process: when those that are at work will be killed"""
    kills: int = 0

    @property
    def log(self) -> Path:
        return self.wh.path.parent / "runners.log"

    def start(self) -> None:
        command = [sys.executable, "-m", "rollview.cli", "run", "all", "--lag", "0.5", "--step", "rows=20"]
        environment = {**os.environ, "ROLLVIEW_DRIVER_MEMORY": "1g"}
        with self.log.open("ab") as log:
            command += ["-w", str(self.wh.path)]
            self.alive.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log))

    def trouble(self) -> None:
        """Whoever is due is killed, and another is started in its place."""
        working = {int(r["process"].rpartition(":")[2]) for r in runners(self.wh._control)}
        for runner in list(self.alive):
            assert runner.poll() is None, self.log.read_text()
            if runner.pid in working and runner.pid not in self.due:
                self.due[runner.pid] = time.monotonic() + self.rng.uniform(0, 30)
            elif time.monotonic() > self.due.get(runner.pid, time.monotonic()):
                runner.kill()
                runner.wait()
                self.alive.remove(runner)
                self.kills += 1
                self.start()

    def end(self) -> list[int]:
        for runner in self.alive:
            runner.send_signal(signal.SIGTERM)
        return [runner.wait(timeout=PATIENCE) for runner in self.alive]


def waiting(wh: Warehouse) -> dict[str, int]:
    return {r["name"]: r["behind"] for r in wh.status() if r["behind"]}


def test_two_runners_killed_at_random(spark: SparkSession, tmp_path: Path) -> None:
    rng = Random(int(os.environ.get("ROLLVIEW_LOAD_SEED", 1)))
    with rollview.open(tmp_path / "warehouse") as wh:
        writer, pair = Writer(wh, rng), Pair(wh, rng)
        writer.prepare()
        pair.start()
        pair.start()
        try:
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                writer.commit()
                pair.trouble()
                if writer.commits % 25 == 0:
                    wh.maintain(keep=0.0)
            patience = time.monotonic() + PATIENCE
            while waiting(wh) and time.monotonic() < patience:
                time.sleep(0.5)
            assert not waiting(wh), "the runners do not catch up"
            assert len(runners(wh._control)) == 2
            assert pair.end() == [0, 0]
        finally:
            for runner in pair.alive:
                runner.kill()
                runner.wait()
        assert not runners(wh._control)
        writer.check()
        for view in VIEWS:
            verification = wh.verify(view)
            assert verification.ok, (view, verification)
        done = Counter(r["reason"] if r["strategy"] == "failed" else r["strategy"] for r in wh.history(limit=100_000))
        print(f"{writer.commits} commits, {pair.kills} kills, {dict(done)}; {pair.log.read_text()}")

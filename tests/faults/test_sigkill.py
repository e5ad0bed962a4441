"""Processes that are really killed: their leases stay behind, and so does whatever Spark was doing.

ROLLVIEW_KILLS=all kills writers, runners in each role, refreshes and `maintain` at each of their durable steps.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.faults.site import VIEWS, Site, follow, read

from rollview.runner import Runner
from rollview.steps import KILL_AT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rollview import Warehouse

ROOT = Path(__file__).parents[2]
PROGRAM = """
import os, sys
from pathlib import Path
from rollview import Limits, maintain
from rollview.apply import compact
from rollview.runner import ROLES, Runner
from tests.faults.site import BRANCH, Site

path, turn, step, work = sys.argv[1:]
site = Site(Path(path), int(turn))
merged = step in ("apply.matched", "apply.branch", "compact.rewritten")
wh = site.open(BRANCH if merged else Limits(), driver_memory="1g")
if step == "compact.rewritten":
    compact.COMMITS, compact.FILES = 1, 2
maintain.FILES = 2
os.environ["ROLLVIEW_KILL_AT"] = step
print("open", flush=True)
while True:
    if "change" in work:
        site.change(wh)
        print(site.turn, flush=True)
    if "refresh" in work:
        wh.refresh()
    if "create" in work:
        wh.create_view("fresh", "SELECT id FROM r")
    if "maintain" in work:
        wh.maintain(keep=0.0)
    if work in ROLES:
        Runner(wh, work, lag=0.01).round()
"""
STEPS = {
    "change": (
        "transaction.opened",
        "transaction.logged",
        "transaction.committed",
        "fold.merged",
        "transaction.folded",
    ),
    "capture": ("capture.opened", "capture.logged", "capture.committed"),
    "propagate": ("start_delta.created", "propagate.appended", "propagate.answered", "propagate.advanced"),
    "apply": ("apply.rolled", "apply.noted", "apply.matched", "apply.branch", "compact.rewritten"),
    "refresh": (
        "refresh.logged",
        "small.written",
        "refresh.merged",
        "refresh.noted",
        "refresh.broken",
        "refresh.recomputed",
    ),
    "maintain": ("maintain.forgot", "maintain.gathered", "maintain.unmarked", "maintain.expired"),
    "create": ("create_view.computed",),
}
COMMITTED = ("transaction.committed", "fold.merged", "transaction.folded")
USUAL = ("transaction.committed", "propagate.appended", "apply.matched")
KILLS = [(w, s) for w, steps in STEPS.items() for s in steps if s in USUAL or os.environ.get("ROLLVIEW_KILLS") == "all"]
FOLLOWED = (*VIEWS, "now")


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(tmp_path_factory.mktemp("killed") / "warehouse")
    site.build()
    with site.open() as wh:
        for name, columns in (("p", "a INT, x INT"), ("q", "a INT, y INT")):
            wh.create_table(name, columns, access="present")
        wh.create_view("now", "SELECT p.a, x, y FROM p JOIN q ON p.a = q.a")
    return site


def prepare(site: Site, work: str, step: str) -> None:
    """Something new everywhere, and what the work goes on from."""
    with site.open() as wh:
        if step == "start_delta.created":  # which a view comes by only once
            wh.drop_view("joined")
            wh.create_view("joined", VIEWS["joined"], policy="incremental")
        for _ in range(2 if work == "maintain" else 1):
            wh.refresh()
            write(site, wh)
        if step == "maintain.gathered":  # from several files that are still needed
            write(site, wh)
        if work == "apply":
            Runner(wh, "propagate", lag=0.01).round()


def write(site: Site, wh: Warehouse) -> None:
    site.change(wh)
    site.they_write(wh)
    with wh.transaction() as tx:
        tx.insert("p", [(site.turn % 2, site.turn)])
        tx.insert("q", [(site.turn % 3, site.turn)])
        tx.upsert("s", [(2, f"name of turn {site.turn}")])


@contextmanager
def child(site: Site, step: str, work: str) -> Iterator[subprocess.Popen[str]]:
    arguments = [str(site.path), str(site.turn), step, work]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != KILL_AT},
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "open\n"
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(("work", "step"), KILLS)
def test_a_process_killed_at_a_step(site: Site, work: str, step: str) -> None:
    prepare(site, work, step)
    with child(site, step, work) as process:
        assert process.wait(timeout=300) == -signal.SIGKILL
    if step in COMMITTED:
        site.move_on()
    clock = time.monotonic()
    with site.open() as wh:
        assert time.monotonic() - clock < 20, "waited for a lease that nobody holds"
        assert site.intact(wh)
        assert "fresh" not in {r["name"] for r in wh.status()}
        if work == "maintain":
            wh.maintain(keep=0.0)
        Runner(wh, lag=0.01).round()
        follow(wh, *FOLLOWED)
        assert sum(v for _, v in read(wh, "followed")) == sum(v for _, v in read(wh, "theirs"))


def test_a_process_killed_anywhere(site: Site) -> None:
    """Not at a step of ours but in the middle of something, wherever chance has it."""
    with child(site, "nowhere", "change and refresh") as process:
        assert process.stdout is not None
        done = int(process.stdout.readline())
        time.sleep(random.uniform(0.0, 4.0))
        process.send_signal(signal.SIGKILL)
        done = max([done, *map(int, process.stdout.read().split())])
    while site.turn < done:
        site.move_on()
    with site.open() as wh:
        if not site.intact(wh):
            site.move_on()  # committed, but not told any more
        assert site.intact(wh)
        follow(wh, *FOLLOWED)

"""Processes that are really killed: their leases stay behind, and so does whatever Spark was doing."""

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
from tests.faults.site import VIEWS, Site, follow

from rollview.steps import KILL_AT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
PROGRAM = """
import os, sys
from pathlib import Path
from rollview import Limits
from tests.faults.site import BRANCH, Site

path, turn, step, work = sys.argv[1:]
site = Site(Path(path), int(turn))
wh = site.open(BRANCH if step.startswith("apply") else Limits(), driver_memory="1g")
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
"""
AT_STEPS = {
    "transaction.logged": ("change", False),
    "transaction.committed": ("change", True),
    "apply.matched": ("refresh", False),
    "create_view.computed": ("create", False),
}


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(tmp_path_factory.mktemp("killed") / "warehouse")
    site.build()
    return site


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


@pytest.mark.parametrize("step", AT_STEPS)
def test_a_process_killed_at_a_step(site: Site, step: str) -> None:
    work, committed = AT_STEPS[step]
    with site.open() as wh:
        site.change(wh)
    with child(site, step, work) as process:
        assert process.wait(timeout=300) == -signal.SIGKILL
    if committed:
        site.move_on()
    clock = time.monotonic()
    with site.open() as wh:
        assert time.monotonic() - clock < 20, "waited for a lease that nobody holds"
        assert site.intact(wh)
        assert "fresh" not in {r["name"] for r in wh.status()}
        follow(wh, "totals", "joined")


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
        follow(wh, *VIEWS)

"""Several processes on one database."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from rollview.errors import SourceError

if TYPE_CHECKING:
    from rollview.catalog import ControlStore

pytestmark = pytest.mark.long
ALLOCATE = """
import sys
from datetime import UTC, datetime
from rollview.catalog import ControlStore
with ControlStore(sys.argv[1]) as store:
    for i in range(15):
        with store.leases.hold(sys.argv[2], wait=60) as lease:
            tick = store.ticks.open_tick(lease, sys.argv[3])
            if sys.argv[2] == "writer" and i % 3:
                now = datetime.now(UTC)
                store.ticks.commit_tick(lease, tick, position=str(tick), committed_at=now, tables={})
            print(tick)
"""

HOLD = """
import sys, time
from rollview.catalog import ControlStore
store = ControlStore(sys.argv[1])
with store.leases.hold("writer", ttl=600) as lease:
    print(store.ticks.open_tick(lease, "lake"), flush=True)
    time.sleep(600)
"""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("leases", [("writer", "writer"), ("a", "b")])
def test_two_processes_allocate_unique_increasing_ticks(
    store: ControlStore, location: str, leases: tuple[str, str]
) -> None:
    processes = [start(ALLOCATE, location, lease, f"source{i}") for i, lease in enumerate(leases)]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    ticks = [[int(line) for line in output.split()] for output in outputs]
    assert all(each == sorted(each) for each in ticks)
    assert sorted(ticks[0] + ticks[1]) == list(range(1, 31))
    if leases == ("writer", "writer"):
        assert len(store.ticks.ticks_between(0, 30)) == 20
        assert len(store.ticks.open_ticks(0, 30)) == 10
        times = [store.ticks.commit_time(tick) for tick in store.ticks.ticks_between(0, 30)]
        assert times == sorted(times, key=str)


def test_holder_killed_and_taken_over_at_once(store: ControlStore, location: str) -> None:
    holder = start(HOLD, location)
    assert holder.stdout is not None
    orphan = int(holder.stdout.readline())
    with pytest.raises(SourceError) as caught, store.leases.hold("writer", wait=0):
        pass
    assert str(holder.pid) in caught.value.message
    holder.kill()
    holder.wait(10)
    begin = time.monotonic()
    with store.leases.hold("writer", wait=0) as lease:
        assert time.monotonic() - begin < 5
        assert store.ticks.open_tick(lease, "lake") == orphan + 1
    assert store.ticks.open_ticks(0, orphan) == (orphan,)
    holder.stdout.close()


def test_holder_killed_and_not_yet_reaped(store: ControlStore, location: str) -> None:
    holder = start(HOLD, location)
    assert holder.stdout is not None
    holder.stdout.readline()
    holder.kill()
    with store.leases.hold("writer", wait=10) as lease:  # a zombie keeps its pid
        lease.check()
    holder.wait(10)
    holder.stdout.close()

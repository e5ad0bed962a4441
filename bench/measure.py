"""Times, Spark jobs and bytes of a piece of work. Absolute times are noise; only ratios of one run are reported."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any


@dataclass(frozen=True)
class Measured:
    """One piece of work: seconds, Spark jobs, rows that its stages read, and bytes that Java read from files."""

    seconds: float
    jobs: int
    rows: int
    bytes: int


class Meter:
    """Measures through Spark's own REST interface, so the session must have its UI on."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        context = spark.sparkContext
        self.url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/{path}", timeout=30) as answer:
            return json.load(answer)

    def measure(self, work: Callable[[], object]) -> Measured:
        last_job = max((j["jobId"] for j in self.get("jobs")), default=-1)
        last_stage = max((s["stageId"] for s in self.get("stages")), default=-1)
        read = bytes_read()
        clock = time.perf_counter()
        work()
        seconds = time.perf_counter() - clock
        read = bytes_read() - read
        time.sleep(0.2)  # the listener of the REST interface lags a little behind
        jobs = [j for j in self.get("jobs") if j["jobId"] > last_job]
        stages = [s for s in self.get("stages") if s["stageId"] > last_stage]
        rows = sum(s["inputRecords"] for s in stages)
        return Measured(seconds, len(jobs), rows, read)


def middle(samples: list[Measured]) -> Measured:
    """The median time, and what belongs to it."""
    wanted = median(s.seconds for s in samples)
    return min(samples, key=lambda s: abs(s.seconds - wanted))


def told(samples: list[Measured]) -> dict[str, Any]:
    """For a report: the median, and the mean time beside it, which also knows what comes only now and then."""
    return {**middle(samples).__dict__, "mean seconds": fmean(s.seconds for s in samples)}


def bytes_read() -> int:
    """What the processes that this one has started have read so far, as the kernel counts it.

    Spark's own figure is of no use here: it leaves out what Iceberg's readers fetch.
    """
    total = 0
    for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        counters = dict(line.split(": ") for line in Path(f"/proc/{child}/io").read_text().splitlines())
        total += int(counters["rchar"])
    return total

"""Times, Spark jobs and bytes of a piece of work. Absolute times are noise; only ratios of one run are reported."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Measured:
    """One piece of work: seconds, Spark jobs, rows and bytes that its stages read."""

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
        clock = time.perf_counter()
        work()
        seconds = time.perf_counter() - clock
        time.sleep(0.2)  # the listener of the REST interface lags a little behind
        jobs = [j for j in self.get("jobs") if j["jobId"] > last_job]
        stages = [s for s in self.get("stages") if s["stageId"] > last_stage]
        rows = sum(s["inputRecords"] for s in stages)
        read = sum(s["inputBytes"] for s in stages)
        return Measured(seconds, len(jobs), rows, read)


def middle(samples: list[Measured]) -> Measured:
    """The median time, and what belongs to it."""
    wanted = median(s.seconds for s in samples)
    return min(samples, key=lambda s: abs(s.seconds - wanted))

"""The other way: plain Spark runs the view's SQL and overwrites a table of its own with the result."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rollview.lake.jobs import JobCounter

if TYPE_CHECKING:
    from rollview.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Recompute:
    """What it took."""

    seconds: float
    jobs: int | None


class PlainSpark:
    """Scratch tables beside the warehouse's, one for each view."""

    def __init__(self, wh: Warehouse, views: dict[str, str]) -> None:
        self.wh = wh
        self.views = views
        wh.sql("CREATE NAMESPACE rollview.scratch")
        for name, query in views.items():
            wh.sql(f"CREATE TABLE {self.table(name)} USING iceberg AS {query} LIMIT 0")

    @staticmethod
    def table(view: str) -> str:
        return f"rollview.scratch.{view}"

    def run(self, view: str) -> Recompute:
        jobs = JobCounter(self.wh.spark)
        clock = time.perf_counter()
        with jobs.here():
            self.wh.sql(f"INSERT OVERWRITE {self.table(view)} {self.views[view]}")
        return Recompute(time.perf_counter() - clock, jobs.count)

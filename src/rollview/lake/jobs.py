"""How many Spark jobs a piece of work ran, asked of Spark's public status tracker.

Jobs carry the job group of the thread that starts them, and so do the broadcasts that they wait for. A thread
that helps with counted work enters `counter.here()` itself, because Python threads do not inherit groups.
"""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_GROUP_PROPERTIES = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


class JobCounter:
    """Counts the jobs that run inside `with counter.here():`, in whichever thread."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = _context(spark)
        self._group = f"rollview-{uuid.uuid4().hex}"

    @contextmanager
    def here(self, description: str = "rollview") -> Iterator[None]:
        """Count what this thread runs meanwhile; nested counters count their own part only."""
        context = self._context
        if context is None:
            yield
            return
        before = {name: context.getLocalProperty(name) for name in _GROUP_PROPERTIES}
        context.setJobGroup(self._group, description)
        try:
            yield
        finally:
            for name, value in before.items():
                _set_property(context, name, value)

    @property
    def count(self) -> int | None:
        """Jobs so far; None where the session cannot tell (Spark Connect)."""
        if self._context is None:
            return None
        return len(self._context.statusTracker().getJobIdsForGroup(self._group))


def _context(spark: SparkSession) -> SparkContext | None:
    try:
        return spark.sparkContext
    except PySparkException:  # Spark Connect has no context on this side
        return None


def _set_property(context: SparkContext, name: str, value: str | None) -> None:
    # PySpark passes None on to Java, which clears the property; its type hint forgets that.
    context.setLocalProperty(name, value)  # type: ignore[arg-type]

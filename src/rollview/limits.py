"""Where small ends: the settings that choose between the executors of a refresh, and what is stored for a view."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """A change of at most `small_rows` rows goes through the driver as Arrow; a larger one stays inside Spark.

    An extent of at most `rewrite_bytes` is written anew in one pass, for a small change by the driver, without a job.
    A change that may touch at most `few_bytes` of an extent is one MERGE; otherwise matched rows and new rows go as two
    commits to a branch, which are published together. Both executors do the same; only the time differs.
    Rows that were looked up are computed before those of a table of at least `far_bytes` are looked up from them
    (plan/waypoints.py). Inner groups of a view over at least `part_bytes` are stored as a part of it (plan/parts.py).
    """

    small_rows: int = 100_000
    rewrite_bytes: int = 1024 * 1024
    few_bytes: int = 4 * 1024 * 1024
    part_bytes: int = 16 * 1024 * 1024
    far_bytes: int = 16 * 1024 * 1024


USUAL = Limits()

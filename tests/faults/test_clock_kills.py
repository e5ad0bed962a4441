"""The clock: whoever is killed while it moves, the next one finds it where it was or where it went."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests.faults.test_kills import Ends, crash

import rollview

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["crash"]
START = datetime(2024, 5, 10, 12, tzinfo=UTC)
RECENT = "SELECT id FROM events WHERE day > current_date - INTERVAL 2 DAYS"


def test_the_clock_killed_at_every_step(spark: SparkSession, tmp_path: Path, crash: Ends) -> None:
    now = START

    def place() -> rollview.Warehouse:
        return rollview.open(tmp_path, clock=lambda: now)

    with place() as wh:
        wh.create_table("events", "id INT, day DATE", key=["id"])
        with wh.transaction() as tx:
            tx.insert("events", [(i, (START + timedelta(days=i)).date()) for i in range(-3, 4)])
    crash("clock.registered", lambda: place().create_view("recent", RECENT, policy="strict"))
    with place() as wh:
        wh.create_view("recent", RECENT, policy="strict")
        assert ids(wh) == [-1, 0, 1, 2, 3]
    now += timedelta(days=1)
    crash("clock.opened", lambda: place().refresh("recent"))
    with place() as wh:
        wh.refresh("recent")
        assert ids(wh) == [0, 1, 2, 3] and wh.verify("recent").ok
    now += timedelta(days=1)
    crash("clock.moved", lambda: place().refresh("recent"))
    with place() as wh:
        wh.refresh("recent")
        assert ids(wh) == [1, 2, 3] and wh.verify("recent").ok


def ids(wh: rollview.Warehouse) -> list[int]:
    return sorted(row["id"] for row in wh.table("recent").collect())

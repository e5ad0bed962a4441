"""incremental == recompute, as bags, on Spark: random views and histories, at every tick, by every executor."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.property.random_tables import declared, history
from tests.property.random_views.views import Views
from tests.spark.histories import advance, create_tables

import rollview
from rollview import Limits

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

EXECUTORS = {
    "driver": Limits(),
    "merge": Limits(rewrite_bytes=0),
    "driver_to_branch": Limits(few_bytes=0, rewrite_bytes=0),
    "spark": Limits(small_rows=0),
    "spark_to_branch": Limits(small_rows=0, few_bytes=0, rewrite_bytes=0),
    "parts": Limits(part_bytes=0),
    "waypoints": Limits(far_bytes=0),
}
VIEWS = 4
REFRESH_AT = (1, 3)
"""the states at which views are refreshed: a small step, and a span of two ticks"""


@pytest.mark.parametrize(("seed", "executor"), list(enumerate(EXECUTORS, 1)), ids=list(EXECUTORS))
def test_incremental_equals_recompute(spark: SparkSession, tmp_path: Path, seed: int, executor: str) -> None:
    rng = Random(seed)
    tables = declared(rng)
    states = history(rng, REFRESH_AT[-1] + 1)
    wh = rollview.open(tmp_path, limits=EXECUTORS[executor])
    create_tables(wh, tables)
    advance(rng, wh, tables, {}, states[0])
    views = create_views(wh, rng, tables)
    for at in range(1, len(states)):
        advance(rng, wh, tables, states[at - 1], states[at])
        if at in REFRESH_AT:
            check_all(wh, views)
    wh.close()


def create_views(wh: rollview.Warehouse, rng: Random, tables) -> dict[str, str]:
    views = {f"v{i}": Views(rng, tables).view() for i in range(VIEWS)}
    for name, sql in views.items():
        wh.create_view(name, sql, policy="incremental")
    for name in list(views)[::4]:
        views[f"over_{name}"] = over(wh, name)
        wh.create_view(f"over_{name}", views[f"over_{name}"], policy="incremental")
    return views


def over(wh: rollview.Warehouse, name: str) -> str:
    """A view over a view: a count for each value of its first column."""
    first = wh.table(name).columns[0]
    return f"SELECT {first}, COUNT(*) AS n FROM {name} GROUP BY {first}"


def check_all(wh: rollview.Warehouse, views: dict[str, str]) -> None:
    for report in wh.refresh():
        assert report.strategy != "recompute", (report, views[report.view])
    for name, sql in views.items():
        verification = wh.verify(name)
        assert verification.ok, f"{verification}\n{sql}\n{wh.explain(name)}"

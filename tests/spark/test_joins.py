"""Outer, semi and anti joins on Spark: the law on random histories, and what a refresh reads."""

from __future__ import annotations

import os
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.property.join_views import JOINS
from tests.property.random_tables import PARENTS_FIRST, history
from tests.spark.histories import advance, create_tables

import rollview
from rollview import Limits
from rollview.lake.lake import Lake

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

TABLES = {t.name: t for t in PARENTS_FIRST}
VIEWS = 8
RUNS = -(-int(os.environ.get("ROLLVIEW_CASES", VIEWS)) // VIEWS)
EXECUTORS = (Limits(), Limits(few_bytes=0, rewrite_bytes=0), Limits(small_rows=0))


@pytest.mark.parametrize("seed", range(RUNS))
def test_incremental_equals_recompute(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    states = history(rng, 3)
    with rollview.open(tmp_path, limits=EXECUTORS[seed % len(EXECUTORS)]) as wh:
        create_tables(wh, TABLES)
        advance(rng, wh, TABLES, {}, states[0])
        chosen = dict(rng.sample(sorted(JOINS.items()), VIEWS))
        for name, sql in chosen.items():
            wh.create_view(name, sql, policy="strict")
        for before, after in pairwise(states):
            advance(rng, wh, TABLES, before, after)
            for report in wh.refresh():
                assert report.strategy != "recompute", (report, chosen[report.view])
            for name, sql in chosen.items():
                verification = wh.verify(name)
                assert verification.ok, f"{verification}\n{sql}\n{wh.explain(name)}"


def test_an_outer_join_change_table_never_reads_the_table_that_gained(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Example 2 of Gupta and Mumick: SSFullInfo; and a view over it, whose log holds only what was really there."""
    plans: list[str] = []
    fetch = Lake.fetch

    def recorded(self: Lake, query: Any, limit: int | None = None, *, grouped: bool = False) -> Any:
        plans.append(self.run(query)._jdf.queryExecution().optimizedPlan().toString())  # type: ignore[operator]
        return fetch(self, query, limit, grouped=grouped)

    with rollview.open(tmp_path) as wh:
        wh.create_table("sales", "id BIGINT, store BIGINT, price INT", key=["id"])
        wh.create_table("stores", "id BIGINT, city STRING, state STRING", key=["id"])
        wh.create_table("info", "state STRING, area INT", key=["state"])
        with wh.transaction() as tx:
            tx.insert("sales", [(i, i % 3, i) for i in range(30)])
            tx.insert("stores", [(i, "c", f"s{i % 2}") for i in range(6)])
            tx.insert("info", [("s0", 1), ("s1", 2), ("s9", 3)])
        wh.create_view(
            "ss_full_info",
            "SELECT q.id, q.price, q.sid, q.city, info.state, info.area FROM "
            "(SELECT sales.id, price, stores.id AS sid, city, stores.state AS state FROM sales FULL JOIN stores "
            "ON sales.store = stores.id) q "
            "FULL JOIN info ON q.state = info.state",
        )
        wh.create_view("by_city", "SELECT city, COUNT(*) AS n, COUNT(id) AS sold FROM ss_full_info GROUP BY city")
        with wh.transaction() as tx:
            tx.insert("sales", [(100, 0, 1), (101, 4, 1), (102, 4, 2), (103, 77, 1)])
        monkeypatch.setattr(Lake, "fetch", recorded)
        report = wh.refresh("ss_full_info")
        monkeypatch.undo()
        assert (report.inserted, report.deleted) == (4, 1)
        scanned = [line for plan in plans for line in plan.splitlines() if "RelationV2" in line]
        assert any("stores" in line for line in scanned)
        assert not any("sales" in line and "extent" not in line for line in scanned), "\n".join(scanned)
        wh.refresh("by_city")
        assert wh.verify("ss_full_info").ok and wh.verify("by_city").ok

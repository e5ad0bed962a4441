"""Tables that show only their present, while others go on committing: rolling propagation on Spark.

A history is one propagation of a view with random windows while two threads commit. ROLLVIEW_CASES=300 for many.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from itertools import product
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.spark.three import VIEWS, Truth, commit, place

from rollview.apply import compact
from rollview.errors import BadInput, RecomputeRefused, SourceError
from rollview.propagate.summands import DRIVERS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

KINDS = list(product(DRIVERS, VIEWS))
HISTORIES = int(os.environ.get("ROLLVIEW_CASES", 2))
WRITERS, COMMITS = 2, 2


def propagate_while_others_commit(wh: Warehouse, view: str, driver: str, rng: Random) -> None:
    def write(seed: float) -> None:
        for i in range(COMMITS):
            commit(wh, Random(f"{seed} {i}"))

    writers = [threading.Thread(target=write, args=(rng.random(),)) for _ in range(WRITERS)]
    for writer in writers:
        writer.start()
    try:
        bounds = {"r": rng.randint(1, 4), "s": rng.randint(1, 4), "t": {"rows": rng.randint(1, 6)}}
        wh.propagate(view, steps=bounds, driver=driver)
    finally:
        for writer in writers:
            writer.join()


def check_every_tick(wh: Warehouse, view: str, since: int, truth: Truth) -> int:
    """From the rows at one tick, the timed delta leads to those of every later one up to the mark, which it returns."""
    mark: int = {r["name"]: r["mark"] for r in wh.status()}[view]
    changes = [tuple(r) for r in wh.changes(view, since, mark).collect()]
    rows = Counter(truth.at(view, since))
    for tick in range(since + 1, mark + 1):
        for *row, count, at in changes:
            rows[tuple(row)] += count if at == tick else 0
        assert all(n >= 0 for n in rows.values()), (view, tick)
        assert sorted(rows.elements()) == truth.at(view, tick), (view, tick)
    return mark


def test_every_tick_up_to_the_mark_while_others_commit(spark: SparkSession, tmp_path: Path) -> None:
    rng, truth = Random(1), Truth()
    with place(tmp_path) as wh:
        for number, (driver, view) in enumerate(KINDS):
            histories = len(range(5 * number % len(KINDS), HISTORIES, len(KINDS)))
            if histories:
                follow(wh, view, driver, histories, rng, truth)
                print(f"{histories} histories of {view} by {driver}, tick {wh.tick}", flush=True)


def follow(wh: Warehouse, view: str, driver: str, histories: int, rng: Random, truth: Truth) -> None:
    """A view from its creation on, through some histories."""
    wh.create_view(view, VIEWS[view])
    mark = wh.tick
    for number in range(histories):
        commit(wh, rng)
        last = wh.tick
        propagate_while_others_commit(wh, view, driver, rng)
        truth.follow(wh)
        mark = check_every_tick(wh, view, mark, truth)
        assert mark >= last, (driver, view)
        if rng.random() < 0.2:
            wh.apply(view)
        if number % 5 == 4:
            wh.maintain(keep=0.0)
    wh.refresh(view)
    assert sorted(tuple(r) for r in wh.table(view).collect()) == truth.at(view, wh.tick)
    wh.drop_view(view)


def test_a_controller_narrows_the_windows_that_take_too_long(spark: SparkSession, tmp_path: Path) -> None:
    """It begins with a thousand rows, and every window takes longer than a millisecond."""
    with place(tmp_path) as wh:
        wh.create_view("pairs", VIEWS["pairs"])
        for i in range(5):
            with wh.transaction() as tx:
                tx.insert("r", [(i, i)] * 400)
        steps = wh.propagate("pairs", step={"target": 0.001}, driver="propagate")
        assert [s.upto - s.since for s in steps] == [2, 1, 1, 1]
        wh.apply("pairs")
        assert wh.verify("pairs").ok


def test_a_table_that_cannot_be_read_has_views_that_need_only_its_changes(spark: SparkSession, tmp_path: Path) -> None:
    with place(tmp_path, access="none") as wh:
        for sql in (VIEWS["pairs"], "SELECT a, MIN(x) AS x FROM r GROUP BY a"):
            with pytest.raises(BadInput) as caught:
                wh.create_view("refused", sql)
            assert caught.value.code == "RV-NO-ACCESS" and "r" in caught.value.message
        wh.create_view("sums", "SELECT a, SUM(x) AS x, COUNT(*) AS n FROM r WHERE x > 0 GROUP BY a")
        wh.create_view("both", "SELECT a, x FROM r UNION ALL SELECT a, y FROM s")
        with wh.transaction() as tx:
            tx.insert("r", [(1, 1)])
        with pytest.raises(SourceError) as unread:
            wh.refresh("sums", policy="full")
        assert unread.value.code == "RV-NO-ACCESS"
        for i in range(4):
            commit(wh, Random(i))
            wh.propagate("sums")
            wh.refresh()
        r, s = ([tuple(row) for row in wh.table(n).collect()] for n in "rs")
        groups = {a: [x for b, x in r if b == a and x > 0] for a, x in r if x > 0}
        assert {tuple(row) for row in wh.table("sums").collect()} == {(a, sum(g), len(g)) for a, g in groups.items()}
        assert sorted(tuple(row) for row in wh.table("both").collect()) == sorted(r + s)


def test_a_compacted_table_whose_past_is_gone_is_still_seen_at_its_tick(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit of a compaction says no tick, and the one before it that said it has expired."""
    monkeypatch.setattr(compact, "COMMITS", 1)
    monkeypatch.setattr(compact, "FILES", 2)
    with place(tmp_path) as wh:
        wh.create_view("pairs", VIEWS["pairs"])
        for i in range(5):  # the last one is followed by a compaction
            with wh.transaction() as tx:
                tx.insert("s", [(i % 3, i)])
        wh.refresh()
        wh.maintain(keep=0.0)
        with wh.transaction() as tx:
            tx.insert("r", [(1, 1)])
        wh.refresh("pairs")
        assert wh.verify("pairs").ok


def test_the_past_of_such_a_table_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    with place(tmp_path) as wh:
        tick = wh.tick
        with wh.transaction() as tx:
            tx.insert("r", [(1, 1)])
        with pytest.raises(SourceError) as caught:
            wh.table("r", at=tick).collect()
        assert caught.value.code == "RV-PRESENT-ONLY"


def test_other_views_of_such_tables_are_recomputed(spark: SparkSession, tmp_path: Path) -> None:
    """Said when they are made; nobody commits while they are read."""
    with place(tmp_path) as wh:
        for number, sql in enumerate(
            ("SELECT r.a, s.y FROM r LEFT JOIN s ON r.a = s.a", "SELECT a, MAX(x) AS x FROM r GROUP BY a")
        ):
            with pytest.raises(RecomputeRefused) as refused:
                wh.create_view("strict", sql, policy="strict")
            assert refused.value.code == "RV-PRESENT-VIEW"
            assert wh.create_view(f"v{number}", sql).reason == "RV-PRESENT-VIEW"
        wh.create_view("pairs", VIEWS["pairs"])
        for i in range(2):
            with wh.transaction() as tx:
                tx.insert("r", [(i, 7)])
                tx.delete("r", where=f"x = {i}")
            assert [r.reason for r in wh.refresh("v0", "v1")] == ["RV-PRESENT-VIEW"] * 2
            assert wh.verify("v0").ok and wh.verify("v1").ok
        wh.refresh("pairs", policy="full")
        assert wh.verify("pairs").ok
        with pytest.raises(SourceError, match="RV-PRESENT-ONLY"):
            wh.refresh("v0", to=commit_behind(wh))


def commit_behind(wh: Warehouse) -> int:
    """The tick of a commit that another one on every table has followed."""
    for tick in range(2):
        commit(wh, Random(tick), most=1)
    with wh.transaction() as tx:
        for name in "rst":
            tx.insert(name, [(1, 1)])
    return wh.tick - 1

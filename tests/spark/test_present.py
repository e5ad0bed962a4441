"""Tables that show only their present, while others go on committing: rolling propagation on Spark."""

from __future__ import annotations

import threading
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import rollview
from rollview.errors import SourceError
from rollview.propagate.present import DRIVERS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

VIEWS = {
    "pairs": "SELECT r.a, r.x, s.y FROM r JOIN s ON r.a = s.a",
    "threes": "SELECT r.x, s.y, t.z FROM r JOIN s ON r.a = s.a JOIN t ON s.y = t.y",
    "sums": "SELECT t.z, SUM(r.x) AS x, COUNT(*) AS n FROM r JOIN s ON r.a = s.a JOIN t ON s.y = t.y GROUP BY t.z",
    "both": "SELECT p.x AS x, q.x AS other FROM r p JOIN r q ON p.a = q.a",
}


def place(path: Path) -> Warehouse:
    wh = rollview.open(path)
    for name, columns in (("r", "a INT, x INT"), ("s", "a INT, y INT"), ("t", "y INT, z INT")):
        wh.create_table(name, columns, access="present")
    with wh.transaction() as tx:
        for name in "rst":
            tx.insert(name, [(i % 3, i) for i in range(4)])
    return wh


def commit(wh: Warehouse, rng: Random) -> None:
    with wh.transaction() as tx:
        for name in rng.sample("rst", rng.randint(1, 3)):
            tx.insert(name, [(rng.randrange(3), rng.randrange(4))])
            if rng.random() < 0.5:
                column = {"r": "x", "s": "y", "t": "z"}[name]
                tx.delete(name, where=f"{column} = {rng.randrange(4)}")


def truth(wh: Warehouse, tick: int) -> dict[str, Counter[tuple[int, int]]]:
    """The tables at a tick, from their logs: the tests may look where propagation must not."""
    states: dict[str, Counter[tuple[int, int]]] = {}
    for name in "rst":
        rows: Counter[tuple[int, int]] = Counter()
        for a, b, count, _ in (tuple(r) for r in wh.changes(name, 0, tick).collect()):
            rows[a, b] += count
        states[name] = rows
    return states


def expected(view: str, state: dict[str, Counter[tuple[int, int]]]) -> list[tuple[Any, ...]]:
    r, s, t = (list(state[n].elements()) for n in "rst")
    pairs = [(a, x, y) for a, x in r for b, y in s if a == b]
    threes = [(x, y, z) for _, x, y in pairs for v, z in t if y == v]
    if view == "pairs":
        return sorted(pairs)
    if view == "threes":
        return sorted(threes)
    if view == "both":
        return sorted((x, y) for a, x in r for b, y in r if a == b)
    groups: dict[int, list[int]] = {}
    for x, _, z in threes:
        groups.setdefault(z, []).append(x)
    return sorted((z, sum(xs), len(xs)) for z, xs in groups.items())


def found(wh: Warehouse, view: str, tick: int) -> list[tuple[Any, ...]]:
    return sorted(tuple(r) for r in wh.table(view, at=tick).collect())


@pytest.mark.parametrize("driver", DRIVERS)
def test_every_tick_up_to_the_mark_while_others_commit(spark: SparkSession, tmp_path: Path, driver: str) -> None:
    rng = Random(driver)
    with place(tmp_path) as wh:
        for name, sql in VIEWS.items():
            wh.create_view(name, sql)
        start, stop = wh.tick, threading.Event()

        def write() -> None:
            mine = Random(1)
            while not stop.is_set():
                commit(wh, mine)
                stop.wait(0.2)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(2):
                for view in VIEWS:
                    bounds = {"r": rng.randint(1, 4), "s": rng.randint(1, 4), "t": {"rows": 3}}
                    wh.propagate(view, steps=bounds, driver=driver)
        finally:
            stop.set()
            writer.join()
        for view in VIEWS:
            mark = {r["name"]: r["mark"] for r in wh.status()}[view]
            assert mark > start
            for tick in range(start, mark + 1):
                assert found(wh, view, tick) == expected(view, truth(wh, tick)), (driver, view, tick)
            wh.refresh(view)
            assert found(wh, view, wh.tick) == expected(view, truth(wh, wh.tick))


def test_the_past_of_such_a_table_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    with place(tmp_path) as wh:
        tick = wh.tick
        commit(wh, Random(3))
        commit(wh, Random(4))
        with pytest.raises(SourceError) as caught:
            wh.table("r", at=tick).collect()
        assert caught.value.code == "RV-PRESENT-ONLY"

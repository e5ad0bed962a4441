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


COMMITS = 5


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


Logs = dict[str, list[tuple[int, int, int, int]]]


def logs(wh: Warehouse) -> Logs:
    """All changes of the tables: the tests may look where propagation must not."""
    return {name: [tuple(r) for r in wh.changes(name, 0).collect()] for name in "rst"}


def truth(changes: Logs, tick: int) -> dict[str, Counter[tuple[int, int]]]:
    """The tables at a tick."""
    states: dict[str, Counter[tuple[int, int]]] = {name: Counter() for name in changes}
    for name, rows in changes.items():
        for a, b, count, at in rows:
            states[name][a, b] += count if at <= tick else 0
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
        commit(wh, rng)
        start = wh.tick

        def write() -> None:
            mine = Random(1)
            for _ in range(COMMITS):
                commit(wh, mine)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for view in VIEWS:
                bounds = {"r": rng.randint(1, 4), "s": rng.randint(1, 4), "t": {"rows": 3}}
                wh.propagate(view, steps=bounds, driver=driver)
        finally:
            writer.join()
        changes = logs(wh)
        marks = {r["name"]: r["mark"] for r in wh.status()}
        for view in VIEWS:
            assert marks[view] >= start
            for tick in range(start - 1, marks[view] + 1):
                assert found(wh, view, tick) == expected(view, truth(changes, tick)), (driver, view, tick)
            wh.refresh(view)
            assert found(wh, view, wh.tick) == expected(view, truth(changes, wh.tick))


def test_the_past_of_such_a_table_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    with place(tmp_path) as wh:
        tick = wh.tick
        with wh.transaction() as tx:
            tx.insert("r", [(1, 1)])
        with pytest.raises(SourceError) as caught:
            wh.table("r", at=tick).collect()
        assert caught.value.code == "RV-PRESENT-ONLY"

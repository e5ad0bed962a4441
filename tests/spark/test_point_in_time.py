"""A join of three tables, and an aggregate over it, at many random ticks of a long history."""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from random import Random
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from tests.spark.three import VIEWS, Truth, commit, place

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

TICKS = 50
READ = 50
THREES = ("threes", "sums")


def at_each(wh: Warehouse, view: str, ticks: Iterable[int]) -> dict[int, list[tuple[Any, ...]]]:
    """The view at many ticks, by one action."""
    frames = [wh.table(view, at=tick).withColumn("at", F.lit(tick)) for tick in sorted(set(ticks))]
    found = defaultdict(list)
    for *row, tick in reduce(lambda a, b: a.union(b), frames).collect():
        found[tick].append(tuple(row))
    return {tick: sorted(found[tick]) for tick in ticks}


def test_fifty_random_ticks(spark: SparkSession, tmp_path: Path) -> None:
    rng, truth = Random(3), Truth()
    with place(tmp_path, access="versioned") as wh:
        for view in THREES:
            wh.create_view(view, VIEWS[view])
        start = wh.tick
        while wh.tick < start + TICKS:
            commit(wh, rng, most=rng.choice((1, 1, 1, 1, 3)), lost=0.25)
            if rng.random() < 0.1:
                wh.propagate(rng.choice(THREES), upto=rng.randint(start, wh.tick), step={"rows": rng.randint(1, 20)})
        truth.follow(wh)
        for view in THREES:
            steps = wh.propagate(view, step=rng.randint(10, 30))
            assert steps[-1].upto == wh.tick and all(s.exact for s in steps)
            ticks = [rng.randint(start, wh.tick) for _ in range(READ)]
            right = {tick: truth.at(view, tick) for tick in ticks}
            assert at_each(wh, view, ticks) == right
            for tick in sorted(rng.sample(ticks, 3)):
                wh.apply(view, to=tick)
                assert sorted(tuple(r) for r in wh.table(view).collect()) == right[tick]
            later = [t for t in ticks if t >= tick][:5]
            assert at_each(wh, view, later) == {t: right[t] for t in later}
            wh.refresh(view, to=wh.tick)
            assert wh.verify(view).ok

"""A join of three tables, and an aggregate over it, at many random ticks of a long history.

ROLLVIEW_TICKS=50 for a long run.
"""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING

from tests.spark.shop import by_tick, rows
from tests.spark.three import VIEWS, Truth, commit, place

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

READ = int(os.environ.get("ROLLVIEW_TICKS", 10))
TICKS = READ + 5
THREES = ("threes", "sums")


def test_random_ticks(spark: SparkSession, tmp_path: Path) -> None:
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
            ticks = rng.sample(range(start, wh.tick + 1), READ)
            right = {tick: sorted(truth.at(view, tick), key=repr) for tick in ticks}
            assert by_tick({tick: wh.table(view, at=tick) for tick in right}) == right
            for tick in sorted(rng.sample(ticks, 3)):
                wh.apply(view, to=tick)
                assert rows(wh, view) == right[tick]
            later = [t for t in right if t >= tick][:5]
            assert by_tick({t: wh.table(view, at=t) for t in later}) == {t: right[t] for t in later}
            wh.refresh(view, to=wh.tick)
            assert wh.verify(view).ok

"""Views that stop only where a step of propagation ends: MIN and MAX, medians, outer joins, ranks of groups."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.property.random_tables import declared, history
from tests.property.random_views.views import Views
from tests.spark.histories import advance, create_tables
from tests.spark.shop import add_sales, by_tick, checked, open_shop, refresh, rows
from tests.spark.test_rolling_views import busy

import rollview
from rollview import Limits
from rollview.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

VIEWS = {
    "extremes": """SELECT city, MIN(price) AS low, MAX(sale_id) AS last, COUNT(*) AS n
        FROM sales JOIN stores USING (store_id) GROUP BY city""",
    "extreme": "SELECT MAX(price) AS most, COUNT(*) AS n FROM sales WHERE price > 20",
    "medians": "SELECT store_id, median(price) AS mid, COUNT(DISTINCT item_id) AS items FROM sales GROUP BY store_id",
    "padded": "SELECT t.store_id, city, sale_id, price FROM stores t LEFT JOIN sales s ON t.store_id = s.store_id",
    "full": """SELECT category, sale_id, price FROM (SELECT * FROM sales WHERE price > 12) s
        FULL OUTER JOIN items i ON s.item_id = i.item_id""",
    "ranked": """SELECT city, SUM(price) AS total, RANK() OVER (ORDER BY SUM(price) DESC) AS place
        FROM sales JOIN stores USING (store_id) GROUP BY city""",
    "ranked_low": """SELECT store_id, MIN(price) AS low, RANK() OVER (ORDER BY MIN(price)) AS place
        FROM sales GROUP BY store_id""",
}
EXECUTORS = {
    "driver": Limits(),
    "rewritten": Limits(small_rows=0),
    "merged": Limits(rewrite_bytes=0),
    "branch": Limits(small_rows=0, few_bytes=0, rewrite_bytes=0),
}


def shop(path: Path, *names: str, limits: Limits = EXECUTORS["driver"]) -> Warehouse:
    wh = open_shop(path, limits=limits)
    for name in names:
        wh.create_view(name, VIEWS[name], policy="strict")
    return wh


@pytest.mark.parametrize("executor", EXECUTORS)
def test_they_are_rolled_from_stop_to_stop_and_back(spark: SparkSession, tmp_path: Path, executor: str) -> None:
    views = list(VIEWS) if executor == "driver" else ["extremes", "extreme", "padded"]
    with shop(tmp_path, *views, limits=EXECUTORS[executor]) as wh:
        start = wh.tick
        busy(wh, 2)
        add_sales(wh, 900, price="0.01")  # a new least, which the last transaction takes away
        with wh.transaction() as tx:
            tx.delete("sales", where="price < 1 OR sale_id % 5 = 0")
        for view in views:
            steps = wh.propagate(view, step=2)
            stops = [start, *(s.upto for s in steps)]
            right = by_tick({t: wh.snapshot(t).sql(VIEWS[view]) for t in stops})
            assert rows(wh, view) == right[start], "propagation writes no extent"
            assert by_tick({t: wh.table(view, at=t) for t in stops}) == right, view
            for tick in (stops[1], stops[2], stops[0], stops[2]):
                report = wh.apply(view, to=tick)
                assert report.inserted + report.updated + report.deleted or right[tick] == right[report.since], view
                assert rows(wh, view) == right[tick], (view, tick)
            checked(wh, view)


def test_they_say_where_they_stop(spark: SparkSession, tmp_path: Path) -> None:
    with shop(tmp_path, "extremes") as wh:
        start = wh.tick
        busy(wh, 3)
        (step,) = wh.propagate("extremes")
        assert not step.exact
        assert "RV-STEPS-OPERATOR" in str(wh.explain("extremes"))
        with pytest.raises(BadInput) as caught:
            wh.apply("extremes", to=start + 1)
        assert caught.value.code == "RV-NO-STOP" and f"{start} or {wh.tick}" in (caught.value.hint or "")
        busy(wh, 1, seed=2)
        report = refresh(wh, "extremes")
        assert (report.strategy, report.upto) == ("incremental", wh.tick), "what was stored first, then what is new"


def test_views_over_them_and_what_their_readers_saw(spark: SparkSession, tmp_path: Path) -> None:
    names = ("extremes", "padded", "ranked", "ranked_low")
    with shop(tmp_path, *names) as wh:
        above = {
            "extremes": "SELECT n, COUNT(*) AS k, MIN(low) AS low FROM extremes GROUP BY n",
            "padded": "SELECT city, COUNT(sale_id) AS k FROM padded GROUP BY city",
            "ranked": "SELECT place, COUNT(*) AS k FROM ranked GROUP BY place",
            "ranked_low": "SELECT place, MAX(low) AS low FROM ranked_low GROUP BY place",
        }
        for name, sql in above.items():
            wh.create_view(f"above_{name}", sql, policy="strict")
        start = wh.tick
        states = {name: Counter(rows(wh, name)) for name in names}
        for turn in range(3):
            busy(wh, 2, seed=10 + turn)
            if turn == 1:  # one below is ahead of its extent
                wh.propagate("extremes")
                wh.propagate("above_extremes")
            for report in wh.refresh():
                assert report.strategy in ("incremental", "apply", "none"), report
            checked(wh, *names, *(f"above_{n}" for n in names))
        for name in names:
            for row in wh.changes(name, start).toArrow().to_pylist():
                *values, count, _ = row.values()
                states[name][tuple(values)] += count
            assert sorted(states[name].elements(), key=repr) == rows(wh, name), name


def test_random_views_propagated(spark: SparkSession, tmp_path: Path) -> None:
    """As in test_law, but every change is stored first, read there, and then applied."""
    rng = Random(4)
    tables = declared(rng)
    states = history(rng, 3)
    with rollview.open(tmp_path) as wh:
        create_tables(wh, tables)
        advance(rng, wh, tables, {}, states[0])
        views = {f"v{i}": Views(rng, tables).view() for i in range(6)}
        for name, sql in views.items():
            wh.create_view(name, sql, policy="incremental")
        codes: Counter[str] = Counter()
        for before, after in pairwise(states):
            advance(rng, wh, tables, before, after)
            for name in views:
                codes[propagated(wh, name)] += 1
                ahead = rows(wh, name, at=wh.tick)
                wh.refresh(name)
                assert ahead == rows(wh, name), views[name]
                checked(wh, name)
        assert codes[""] and set(codes) <= {"", "RV-NOT-PROPAGATED", "RV-UNDEFINED"}, codes


def propagated(wh: Warehouse, name: str) -> str:
    """The reason why a view was not propagated, if it was not."""
    try:
        wh.propagate(name)
    except BadInput as error:
        return error.code
    return ""

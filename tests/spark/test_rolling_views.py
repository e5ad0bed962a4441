"""Propagate and apply apart from each other: view deltas, high-water marks, any tick forward and back."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.spark.shop import BIG_SALES, CITIES, CITY_SALES, add_sales, by_tick, checked, open_shop, refresh, rows

from rollview import Limits
from rollview.errors import BadInput
from rollview.lake.jobs import JobCounter
from rollview.propagate.standing import relations_below

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

VIEWS = {
    "city_sales": CITY_SALES,
    "big_sales": BIG_SALES,
    "cities": CITIES,
    "totals": "SELECT SUM(price) AS s, COUNT(*) AS n FROM sales",
}
LARGE = Limits(small_rows=0)


def shop(path: Path, *views: str, **options: object) -> Warehouse:
    wh = open_shop(path, **options)
    for view in views:
        wh.create_view(view, VIEWS[view])
    return wh


def busy(wh: Warehouse, commits: int, seed: int = 1) -> None:
    """Transactions of all kinds on all three tables, several of them at once."""
    rng = Random(seed)
    for i in range(commits):
        with wh.transaction() as tx:
            tx.insert(
                "sales",
                [
                    (1000 * seed + 10 * i + j, rng.randint(1, 3), rng.randrange(5), f"{rng.randint(1, 30)}.25")
                    for j in range(3)
                ],
            )
            if rng.random() < 0.6:
                tx.delete("sales", where=f"sale_id % 7 = {rng.randrange(7)} AND store_id = {rng.randint(1, 3)}")
            if rng.random() < 0.6:
                tx.update("stores", set={"city": f"'City {rng.randrange(3)}'"}, where=f"store_id = {rng.randint(1, 3)}")
            if rng.random() < 0.4:
                tx.update(
                    "items", set={"category": f"'category {rng.randrange(4)}'"}, where=f"item_id = {rng.randrange(5)}"
                )


@pytest.mark.parametrize("limits", [Limits(), LARGE], ids=["small", "large"])
def test_a_view_is_rolled_to_any_tick_forward_and_back(spark: SparkSession, tmp_path: Path, limits: Limits) -> None:
    with shop(tmp_path, *VIEWS, limits=limits) as wh:
        start = wh.tick
        busy(wh, 4)
        ticks = range(start, wh.tick + 1)
        rng = Random(7)
        for view in VIEWS:
            right = by_tick({t: wh.snapshot(t).sql(VIEWS[view]) for t in ticks})
            steps = wh.propagate(view, step={"rows": 8})
            assert (steps[0].since, steps[-1].upto, all(s.exact for s in steps)) == (start, wh.tick, True)
            for step in steps:
                taken = wh._control.ticks.waiting(step.since, step.upto, relations_below(wh._control, view))
                assert sum(w.rows for w in taken) <= 8 or len(taken) == 1, "whole transactions, within the limit"
            assert rows(wh, view) == right[start], "propagation writes no extent"
            assert by_tick({t: wh.table(view, at=t) for t in ticks}) == right
            for tick in [*(rng.randint(start, wh.tick) for _ in range(2)), wh.tick, start]:
                wh.apply(view, to=tick)
                assert rows(wh, view) == right[tick], (view, tick)
            checked(wh, view)


def test_the_way_of_a_view_through_refresh_propagate_and_apply(spark: SparkSession, tmp_path: Path) -> None:
    with shop(tmp_path, "city_sales") as wh:
        first = wh.tick
        busy(wh, 3)
        wh.propagate("city_sales", upto=first + 2)
        with pytest.raises(BadInput) as beyond:
            wh.apply("city_sales", to=wh.tick)
        assert beyond.value.code == "RV-BEYOND-MARK" and str(first + 2) in beyond.value.message
        assert f"wh.propagate('city_sales', upto={wh.tick})" in (beyond.value.hint or "")
        assert {r["name"]: (r["tick"], r["mark"]) for r in wh.status()}["city_sales"] == (first, first + 2)
        report = refresh(wh, "city_sales")
        assert (report.strategy, report.since, report.upto) == ("apply", first, wh.tick)
        add_sales(wh, 500)
        assert refresh(wh, "city_sales").strategy == "incremental", "nothing stored ahead: as ever"
        with pytest.raises(BadInput) as gone:
            wh.apply("city_sales", to=first - 1)
        assert gone.value.code == "RV-NO-WAY-BACK" and str(first) in (gone.value.hint or "")
        wh.apply("city_sales", to=first)
        checked(wh, "city_sales")
        refresh(wh, "city_sales")


def test_times_name_ticks(spark: SparkSession, tmp_path: Path) -> None:
    with shop(tmp_path, "city_sales") as wh:
        first = wh.tick
        busy(wh, 2)
        moment = wh._control.ticks.commit_time(first + 1)
        assert moment is not None
        wh.propagate("city_sales")
        wh.apply("city_sales", to=moment + timedelta(microseconds=1))
        assert {r["name"]: r["tick"] for r in wh.status()}["city_sales"] == first + 1
        checked(wh, "city_sales")


def test_a_view_over_views_stops_where_those_have_stopped(spark: SparkSession, tmp_path: Path) -> None:
    with shop(tmp_path, "city_sales") as wh:
        wh.create_view("rich", "SELECT city, total FROM city_sales WHERE total > 50")
        start = wh.tick
        busy(wh, 3)
        (step,) = wh.propagate("rich")
        assert not step.exact
        with pytest.raises(BadInput) as caught:
            wh.apply("rich", to=start + 1)
        assert caught.value.code == "RV-NO-STOP"
        assert f"{start} or {wh.tick}" in (caught.value.hint or "")
        wh.apply("rich")
        checked(wh, "rich", "city_sales")
        busy(wh, 2, seed=2)
        assert refresh(wh, "rich").strategy == "incremental"
        checked(wh, "rich", "city_sales")


def test_changes_of_a_view_at_every_tick(spark: SparkSession, tmp_path: Path) -> None:
    views = ("city_sales", "cities", "totals")
    with shop(tmp_path, *views) as wh:
        start = wh.tick
        busy(wh, 4)
        for view in views:
            wh.propagate(view)
            state = Counter(rows(wh, view))
            right = by_tick({t: wh.table(view, at=t) for t in range(start + 1, wh.tick + 1)})
            found = sorted(
                (tuple(r.values()) for r in wh.changes(view, start).toArrow().to_pylist()), key=lambda r: r[-1]
            )
            for tick in right:
                for row in found:
                    state[row[:-2]] += row[-2] if row[-1] == tick else 0
                assert sorted(state.elements(), key=repr) == right[tick], (view, tick)


def test_several_views_at_one_tick(spark: SparkSession, tmp_path: Path) -> None:
    with shop(tmp_path, "city_sales") as wh:
        start = wh.tick
        busy(wh, 3)
        wh.refresh("city_sales")
        past = wh.snapshot(start + 1)
        joined = past.sql("SELECT SUM(n) AS a, (SELECT COUNT(*) FROM sales) AS b FROM city_sales").collect()[0]
        assert joined["a"] == joined["b"] == past.table("sales").count()
        assert joined["b"] != wh.table("sales").count()


def test_propagating_is_one_action_and_no_merge(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its jobs are that of the query and those of the broadcasts that it waits for."""
    with shop(tmp_path, "city_sales") as wh:
        busy(wh, 1)
        wh.propagate("city_sales")
        busy(wh, 1, seed=2)
        before = wh._lake.commit(wh._stored("city_sales").extent)
        actions: list[object] = []
        to_arrow = type(wh.table("sales")).toArrow
        monkeypatch.setattr(type(wh.table("sales")), "toArrow", lambda f: actions.append(f) or to_arrow(f))
        counter = JobCounter(wh.spark)
        with counter.here():
            wh.propagate("city_sales")
        assert len(actions) == 1 and counter.count in (1, 2, 3)
        assert wh._lake.commit(wh._stored("city_sales").extent) == before


def test_changes_of_a_distinct_view_are_minimal(spark: SparkSession, tmp_path: Path) -> None:
    """Definition 1.11: what is lost was there, what is gained was not, and nothing is both."""
    with shop(tmp_path) as wh:
        wh.create_view("pairs", "SELECT DISTINCT city, item_id FROM sales JOIN stores USING (store_id)")
        start = wh.tick
        with wh.transaction() as tx:
            tx.insert("sales", [(100, 1, 0, "1.00"), (101, 1, 7, "2.00"), (102, 1, 7, "3.00")])  # one is there already
        with wh.transaction() as tx:
            tx.delete("sales", where="sale_id IN (100, 101)")  # each has others like it
        with wh.transaction() as tx:
            tx.delete("sales", where="sale_id = 102")
            tx.update("stores", set={"city": "'Bari'"}, where="store_id = 2")  # store 3 is in Rome as well
        wh.propagate("pairs")
        state = Counter(rows(wh, "pairs"))
        changes = wh.changes("pairs", start).toArrow().to_pylist()
        found = sorted((tuple(r.values()) for r in changes), key=lambda r: r[-1])
        moved = Counter((*row, tick) for *row, _, tick in found)
        assert set(moved.values()) == {1} and {tick for *_, tick in found} == {start + 1, start + 3}
        for *row, count, tick in found:
            assert count == (-1 if state[tuple(row)] else 1), (row, tick)
            state[tuple(row)] += count
        wh.apply("pairs")
        assert sorted(state.elements(), key=repr) == rows(wh, "pairs")
        checked(wh, "pairs")

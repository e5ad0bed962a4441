"""The end at every durable step of propagate and apply; whoever comes next goes on, and nothing is counted twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.faults.test_kills import APPLY, MAINTAIN, Ends, crash

import rollview

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

__all__ = ["crash"]
JOINED = "SELECT a.k, a.x, b.y FROM a JOIN b ON a.k = b.k"
SUMS = "SELECT a.k, SUM(a.x) AS x, COUNT(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY a.k"
LEAST = "SELECT a.k, MIN(a.x) AS least, COUNT(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY a.k"
TOP = "SELECT n, COUNT(*) AS k FROM sums GROUP BY n"
NOW = "SELECT p.k, p.x, q.y FROM p JOIN q ON p.k = q.k"
EITHER = """SELECT k, x FROM p WHERE x > 1
    UNION ALL SELECT q.k, p.x FROM q JOIN p ON q.y = p.x
    UNION ALL SELECT k, y FROM q"""
VIEWS = {"joined": JOINED, "sums": SUMS, "least": LEAST, "top": TOP, "now": NOW, "either": EITHER}
VERSIONED, PRESENT = ("a", "b"), ("p", "q")


class Place:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.turn = 0

    def open(self) -> Warehouse:
        return rollview.open(self.path)

    def change(self, wh: Warehouse, *pairs: tuple[str, str], times: int = 1) -> None:
        """Transactions on tables that are joined in pairs."""
        for _ in range(times):
            self.turn += 1
            with wh.transaction() as tx:
                for left, right in pairs:
                    tx.insert(left, [(self.turn % 3, self.turn), (1, 1)])
                    tx.insert(right, [(self.turn % 2, self.turn)])
                    tx.delete(left, where=f"x = {self.turn - 2}")


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("rolled"))
    with place.open() as wh:
        for name, value in (("a", "x"), ("b", "y")):
            wh.create_table(name, f"k INT, {value} INT")
        for name, value in (("p", "x"), ("q", "y")):
            wh.create_table(name, f"k INT, {value} INT", access="present")
        place.change(wh, VERSIONED, PRESENT, times=2)
        for name, sql in VIEWS.items():
            wh.create_view(name, sql)
    yield place
    with place.open() as wh:
        place.change(wh, VERSIONED, PRESENT)
        wh.refresh()
        for name in VIEWS:
            verification = wh.verify(name)
            assert verification.ok, verification


def right(wh: Warehouse, *names: str) -> None:
    for name in names:
        verification = wh.verify(name)
        assert verification.ok, verification


@pytest.mark.parametrize("view", ["joined", "least"])
@pytest.mark.parametrize("step", ["start_delta.created", "propagate.appended"])
def test_a_propagation_killed_anywhere_is_done_once(place: Place, crash: Ends, step: str, view: str) -> None:
    with place.open() as wh:
        place.change(wh, VERSIONED, times=3)
    crash(step, lambda: place.open().propagate(view, step=1))
    with place.open() as wh:
        place.change(wh, VERSIONED)
        last = wh.propagate(view, step=1)[-1]
        for tick in (last.since, last.upto):
            wh.apply(view, to=tick)
            right(wh, view)


@pytest.mark.parametrize("step", APPLY)
@pytest.mark.parametrize("view", ["joined", "sums", "least"])
def test_an_apply_killed_anywhere_is_done_once(place: Place, crash: Ends, step: str, view: str) -> None:
    with place.open() as wh:
        place.change(wh, VERSIONED, times=2)
        wh.propagate(view)
        before = {r["name"]: r["tick"] for r in wh.status()}[view]
    crash(step, lambda: place.open().apply(view))
    with place.open() as wh:
        wh.refresh(view)
        right(wh, view)
        crash(step, lambda: place.open().apply(view, to=before))
    with place.open() as wh:
        right(wh, view)
        wh.refresh(view)
        right(wh, view)


def test_a_view_delta_that_no_longer_holds_is_cut_once(place: Place, crash: Ends) -> None:
    with place.open() as wh:
        wh.refresh()
        place.change(wh, VERSIONED, times=2)
        wh.propagate("top")
        wh.refresh("top", to=wh.tick - 1, policy="full")
    crash("propagate.cut", lambda: place.open().propagate("top"))
    with place.open() as wh:
        wh.refresh("top")
        right(wh, "top", "sums")


@pytest.mark.parametrize("step", ["propagate.answered", "propagate.advanced"])
@pytest.mark.parametrize("driver", ["rolling", "stepwise", "propagate"])
@pytest.mark.parametrize("view", ["now", "either"])
def test_a_query_killed_anywhere_is_answered_once(place: Place, crash: Ends, step: str, view: str, driver: str) -> None:
    """Of a union every summand has a driver, and each is where it was."""
    with place.open() as wh:
        place.change(wh, PRESENT, times=2)
    propagate: Callable[[], object] = lambda: place.open().propagate(view, step=1, driver=driver)  # noqa: E731
    crash(step, propagate)
    with place.open() as wh:
        if driver == "rolling":
            wh.maintain(keep=0.0)
        place.change(wh, PRESENT)
    crash(step, propagate)
    with place.open() as wh:
        wh.propagate(view, driver=driver)
        wh.apply(view, to=wh.tick)
        right(wh, view)


@pytest.mark.parametrize("step", MAINTAIN)
def test_tidying_killed_anywhere_takes_nothing_that_is_needed(
    place: Place, crash: Ends, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rollview.maintain.FILES", 2)
    with place.open() as wh:
        place.change(wh, VERSIONED, PRESENT, times=2)
        wh.refresh()
        place.change(wh, VERSIONED, PRESENT, times=2)
        wh.propagate("joined", step=1)
    crash(step, lambda: place.open().maintain(keep=0.0))
    with place.open() as wh:
        wh.maintain(keep=0.0)
        wh.refresh()
        right(wh, "joined", "sums", "top", "now", "either")

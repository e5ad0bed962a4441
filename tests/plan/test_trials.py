"""What `auto` pays for trying a refresh from changes again, where recomputes have been faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rollview.catalog import ControlStore, HistoryRow
from rollview.forecast import Forecast
from rollview.lake.lake import Lake
from rollview.plan.cost import AGAIN, TRIAL, Work, estimate, repaid
from rollview.plan.maintain import Maintenance

MB = 1 << 20
ROWS = 1000
WORK = Work(delta_rows=ROWS, base_bytes=100 * MB, looked_up_bytes=100 * MB, extent_bytes=MB, merged_bytes=MB)


class Imagined(Forecast):
    """The forecast for a view of one table, of which nothing exists but its history."""

    def __init__(self, control: ControlStore, rows: int) -> None:
        self.lake = cast(Lake, SimpleNamespace(bytes=lambda _: MB))
        self.control = control
        self.view = cast(Any, SimpleNamespace(name="v", extent=None))
        self.sizes = {"t": 100 * MB}
        self.rows = rows
        self.worth = True

    def logged(self, since: int, upto: int) -> dict[str, int]:
        return {"t": self.rows}

    def work(self, plan: Maintenance, rows: int) -> Work:
        return WORK


class View:
    """A view that is refreshed under `auto`, and how long it took either way."""

    def __init__(self, control: ControlStore) -> None:
        self.control = control
        self.taken: list[tuple[str, float]] = []
        self.record("create", 1.0, WORK.base_bytes * 1e-8)

    def record(self, strategy: str, seconds: float, model: float | None) -> None:
        self.control.history.record_refresh(
            HistoryRow(
                view="v",
                started=datetime.now(UTC),
                strategy=strategy,
                seconds=seconds,
                actual_cost=seconds,
                model_cost=model,
                delta_rows=ROWS,
                since=0,
                upto=1,
            )
        )
        self.taken.append((strategy, seconds))

    def refresh(self, incremental: float, recompute: float, rows: int = ROWS) -> str:
        forecast = Imagined(self.control, rows)
        predicted = forecast.foregone(1, 2)
        strategy = "recompute"
        if predicted is None:
            predicted, reason = forecast.better(cast(Maintenance, None), rows)
            strategy = "recompute" if reason else "incremental"
        seconds = recompute if strategy == "recompute" else incremental
        self.record(strategy, seconds, predicted.of(strategy)[1])
        return strategy

    def trials(self) -> list[int]:
        """How many recomputes there were before each trial, once there were any."""
        runs, run = [], 0
        for strategy, _ in self.taken:
            if strategy == "recompute":
                run += 1
            elif run:
                runs.append(run)
                run = 0
        return runs


@pytest.fixture
def view(tmp_path: Path) -> Iterator[View]:
    with ControlStore(tmp_path / "catalog.db") as control:
        yield View(control)


def warmed(view: View, incremental: float, recompute: float) -> View:
    """Both ways are known."""
    model = estimate(WORK).model
    for way, (strategy, seconds) in enumerate((("incremental", incremental), ("recompute", recompute))):
        for _ in range(2):
            view.record(strategy, seconds, model[way])
    view.taken.clear()
    return view


def test_what_a_trial_costs_is_paid_off_by_recomputing() -> None:
    assert repaid(2.5, 0.4) == pytest.approx(2.1 / TRIAL)
    assert repaid(0.3, 0.4) == 0.0, "it cost nothing"


def test_trials_cost_a_twentieth_of_the_recomputes(view: View) -> None:
    """TPC-H's q2, if every table changes: a trial takes 2.1 s longer than a recompute of 0.4 s."""
    warmed(view, 2.5, 0.4)
    for _ in range(500):
        view.refresh(2.5, 0.4)
    assert sum(seconds for _, seconds in view.taken) <= 1.1 * 500 * 0.4
    assert len(view.trials()) == 4, "but it is tried"
    assert min(view.trials()) >= 100


def test_a_trial_that_costs_little_comes_after_twenty(view: View) -> None:
    warmed(view, 0.55, 0.4)
    for _ in range(90):
        view.refresh(0.55, 0.4)
    assert view.trials()[1:] == [AGAIN] * 3


def test_more_than_a_hundred_recomputes_do_not_forget(view: View) -> None:
    """Neither the refreshes from changes, nor the creation: it would count as one that was never tried."""
    warmed(view, 20.0, 0.4)
    for _ in range(300):
        view.refresh(20.0, 0.4)
    assert {strategy for strategy, _ in view.taken} == {"recompute"}


def test_changes_that_have_become_cheap_are_found_out(view: View) -> None:
    warmed(view, 2.5, 0.4)
    for _ in range(60):
        view.refresh(2.5, 0.4)
    assert view.trials() == []
    ways = [view.refresh(0.1, 0.4) for _ in range(100)]
    found = ways.index("incremental")
    assert found < 60
    assert set(ways[found:]) == {"incremental"}, "it stays with them"


def test_a_trial_that_takes_longer_each_time_is_made_less_often(view: View) -> None:
    warmed(view, 2.5, 0.4)
    for _ in range(400):
        view.refresh(2.5 * (2 + len(view.trials())), 0.4)
    first, second = view.trials()[:2]
    assert second > 2 * first


@pytest.mark.parametrize(("recompute", "then"), [(0.25, "recompute"), (0.9, "incremental")])
def test_the_first_recompute_comes_when_it_matters_little(view: View, recompute: float, then: str) -> None:
    """The creation took a second, refreshes half of it: nobody knows which way is shorter."""
    for _ in range(60):
        view.refresh(0.5, recompute)
    ways = [strategy for strategy, _ in view.taken[1:]]
    first = ways.index("recompute")
    assert 15 < first < 30
    assert set(ways[first + 1 :][:15]) == {then}


@pytest.mark.parametrize(("seconds", "model"), [(0.4, 0.118), (0.05, None)], ids=["small", "unseen"])
def test_a_quick_one_in_between_does_not_make_trials_cheap(view: View, seconds: float, model: float | None) -> None:
    """A small change takes the other way now and then, or one that the view does not see; the large ones are what
    they were."""
    warmed(view, 2.5, 0.4)
    for number in range(200):
        if number % 30 == 0:
            view.record("incremental", seconds, model)
        else:
            view.refresh(2.5, 0.4)
    slow = sum(seconds == 2.5 for _, seconds in view.taken)
    assert slow <= 2


def test_smaller_changes_are_looked_at_as_before(view: View) -> None:
    warmed(view, 2.5, 0.4)
    seen: list[Callable[[int, int], object]] = [Imagined(view.control, rows).foregone for rows in (ROWS, ROWS // 3)]
    assert [f(1, 2) is None for f in seen] == [False, True]

"""When the clock moves, and what it said at a tick. No Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from rollview.algebra.clock import NOW, TODAY
from rollview.capture.clock import Clock, last_reading, reading_at
from rollview.catalog import ControlStore
from rollview.errors import SourceError
from rollview.names import CLOCK

START = datetime(2024, 2, 28, 22, 30, 0, 123456, tzinfo=UTC)


class Time:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def utc_day(time: datetime) -> date:
    return time.date()


@pytest.fixture
def control(tmp_path: Path) -> Iterator[ControlStore]:
    with ControlStore(tmp_path / "control.db") as store:
        yield store


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def clock(control: ControlStore, time: Time) -> Clock:
    made = Clock(control, time, utc_day)
    made.make()
    return made


def test_it_is_made_once(clock: Clock, control: ControlStore) -> None:
    clock.make()
    assert [r.name for r in control.relations.list(state="ready")] == [CLOCK]


@pytest.mark.parametrize("columns", [[NOW], [TODAY], [NOW, TODAY]])
def test_the_first_reading_is_always_taken(clock: Clock, control: ControlStore, columns: list[str]) -> None:
    clock.move(columns)
    found = last_reading(control)
    assert found is not None and (found.now, found.today) == (START, START.date())


@pytest.mark.parametrize(
    ("columns", "later", "patience", "moves"),
    [
        ([TODAY], timedelta(minutes=80), 0.0, False),
        ([TODAY], timedelta(minutes=90), 0.0, True),
        ([TODAY], timedelta(minutes=90), 86400.0, True),
        ([NOW], timedelta(microseconds=1), 0.0, True),
        ([NOW], timedelta(seconds=30), 30.0, False),
        ([NOW], timedelta(seconds=31), 30.0, True),
        ([NOW, TODAY], timedelta(minutes=90), 86400.0, True),
        ([NOW, TODAY], timedelta(0), 0.0, False),
        ([NOW, TODAY], timedelta(days=-1), 0.0, False),
    ],
)
def test_it_moves_if_it_matters(
    clock: Clock, control: ControlStore, time: Time, columns: list[str], later: timedelta, patience: float, moves: bool
) -> None:
    clock.move(columns)
    first = control.ticks.last_tick()
    time.now = START + later
    clock.move(columns, patience)
    assert control.ticks.last_tick() == first + moves
    found = last_reading(control)
    assert found is not None and found.now == (time.now if moves else START)


def test_a_time_without_a_zone_is_utc(clock: Clock, control: ControlStore, time: Time) -> None:
    time.now = START.replace(tzinfo=None)
    clock.move([NOW])
    assert reading_at(control, control.ticks.last_tick()).now == START


def test_every_tick_has_its_reading(clock: Clock, control: ControlStore, time: Time) -> None:
    days = []
    for _ in range(3):
        clock.move([TODAY])
        days.append(time.now.date())
        time.now += timedelta(days=1)
    last = control.ticks.last_tick()
    assert [reading_at(control, last - 2 + i).today for i in range(3)] == days
    assert reading_at(control, last + 5).today == days[-1]
    with pytest.raises(SourceError) as caught:
        reading_at(control, last - 3)
    assert caught.value.code == "RV-NO-STATE"

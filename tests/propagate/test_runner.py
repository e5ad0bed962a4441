"""The runner's decisions, on a warehouse that only pretends to work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rollview.catalog import ControlStore, Step, TableChange
from rollview.errors import BadInput, SourceError
from rollview.runner import FIRST_PAUSE, LONGEST_PAUSE, BackOff, Runner
from rollview.status import lag_of, runners, status


@dataclass
class Pretender:
    """Keeps the books of a warehouse, without one."""

    _control: ControlStore
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    refuses: dict[str, Exception] = field(default_factory=dict)

    @property
    def tick(self) -> int:
        return self._control.ticks.last_tick()

    def capture(self, *, patience: float = 0.0) -> int:
        return self.tick

    def propagate(self, name: str, step: Any = None) -> None:
        self.calls.append(("propagate", name, step))
        if name in self.refuses:
            raise self.refuses[name]
        since = self._control.marks.mark(name).high_water_mark or 0
        self._control.steps.record(name, Step(since, self.tick, exact=True))

    def apply(self, name: str) -> None:
        self.calls.append(("apply", name))
        self._control.marks.record_extent(name, self._control.marks.mark(name).high_water_mark or 0, 1)

    def refresh(self, name: str) -> None:
        self.calls.append(("refresh", name))
        self._control.marks.record_extent(name, self.tick, 1)

    def commit(self, age: float) -> None:
        with self._control.leases.hold("writer") as lease:
            tick = self._control.ticks.open_tick(lease, "managed")
            at = datetime.now(UTC) - timedelta(seconds=age)
            self._control.ticks.commit_tick(
                lease, tick, position=None, committed_at=at, tables={"t": TableChange(1, 0)}
            )


@pytest.fixture
def wh(tmp_path: Path) -> Iterator[Pretender]:
    with ControlStore(tmp_path / "catalog.db") as control:
        control.relations.create("t", "table", [("a", "int", True)], created_tick=0)
        for name, reads in (("v", ["t"]), ("over", ["v"])):
            control.relations.create(name, "view", [("a", "int", True)], created_tick=0, reads=reads)
        for name in ("t", "v", "over"):
            control.relations.set_state(name, "ready")
        yield Pretender(control)


def rounds(wh: Pretender, role: str = "all", **options: Any) -> list[tuple[Any, ...]]:
    wh.calls.clear()
    Runner(wh, role, **options).round()  # type: ignore[arg-type]
    return [c[:2] for c in wh.calls]


def test_what_is_old_enough_is_propagated_and_applied(wh: Pretender) -> None:
    wh.commit(age=40)
    assert rounds(wh, lag=120) == []
    assert rounds(wh, lag=60) == [("propagate", "v"), ("apply", "v"), ("refresh", "over")]
    assert rounds(wh, lag=60) == []


def test_the_roles_share_the_work(wh: Pretender) -> None:
    wh.commit(age=40)
    assert rounds(wh, "apply", lag=60) == [("refresh", "over")]
    assert rounds(wh, "propagate", lag=60) == [("propagate", "v")]
    assert rounds(wh, "propagate", lag=60) == []
    assert rounds(wh, "apply", lag=60) == [("apply", "v")]


def test_a_view_has_wishes_of_its_own(wh: Pretender) -> None:
    wh.commit(age=40)
    wh._control.relations.update_definition("v", {"schedule": {"lag": 20, "step": {"rows": 5}}})
    assert rounds(wh, lag=1000) == [("propagate", "v"), ("apply", "v")]
    assert wh.calls[0] == ("propagate", "v", {"rows": 5})


def test_a_view_that_cannot_be_propagated_is_refreshed(wh: Pretender) -> None:
    wh.commit(age=40)
    wh.refuses["v"] = BadInput("no", code="RV-NOT-PROPAGATED")
    assert rounds(wh, lag=60) == [("propagate", "v"), ("refresh", "v"), ("refresh", "over")]


def test_what_fails_is_left_alone_for_a_while_and_the_others_go_on(wh: Pretender) -> None:
    wh.commit(age=40)
    wh.refuses["v"] = SourceError("away", code="RV-AWAY", retryable=True)
    runner = Runner(wh, lag=60)  # type: ignore[arg-type]
    runner.round()
    runner.round()
    assert [c[:2] for c in wh.calls] == [("propagate", "v"), ("refresh", "over")]
    assert runner.back_off["v"].last is wh.refuses["v"]


def test_pauses_grow_to_a_limit_and_end_with_success() -> None:
    state, again = BackOff(), SourceError("x", code="RV-X", retryable=True)
    pauses = []
    for _ in range(12):
        state.failed(again, now=100.0)
        pauses.append(state.pause)
        assert 0.7 * state.pause <= state.until - 100.0 <= 1.3 * state.pause
    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE] and pauses[-1] == LONGEST_PAUSE
    state.succeeded()
    assert state.until == 0.0
    state.failed(SourceError("x", code="RV-X", retryable=False), now=0.0)
    assert state.pause == LONGEST_PAUSE


def test_two_runners_do_not_work_on_one_view(wh: Pretender) -> None:
    wh.commit(age=40)
    with wh._control.leases.hold("runner:all:v"):
        assert rounds(wh, lag=60) == [("refresh", "over")]


def test_a_runner_stops_when_it_is_told_and_is_shown_while_it_runs(wh: Pretender) -> None:
    runner = Runner(wh, every=0.01)  # type: ignore[arg-type]
    thread = threading.Thread(target=runner.run)
    thread.start()
    while not runners(wh._control):
        assert thread.is_alive()
    assert runners(wh._control)[0]["role"] == "all"
    runner.stop()
    thread.join(timeout=10)
    assert not thread.is_alive() and not runners(wh._control)


def test_lag_is_the_age_of_the_first_commit_that_is_missing(wh: Pretender) -> None:
    wh.commit(age=40)
    wh.commit(age=10)
    assert lag_of(wh._control, "v", 0) == pytest.approx(40, abs=2)
    assert lag_of(wh._control, "over", 1) == pytest.approx(10, abs=2)
    assert lag_of(wh._control, "v", 2) == 0.0
    shown = {r["name"]: r["lag"] for r in status(wh._control)}
    assert shown["v"] == pytest.approx(40, abs=2) and shown["t"] is None

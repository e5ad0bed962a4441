"""Long-running capture, propagate and apply: each can be stopped for hours, and catches up in bounded steps.

A view has a target lag. Every round the runner looks at what waits: once the oldest commit that a view lacks is half as
old as that, it is propagated and applied. Two runners never work on one view at a time: whoever does holds its lease.
What fails is tried again, later and later; the others go on.
"""

from __future__ import annotations

import logging
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rollview.catalog import ControlStore, Relation
from rollview.errors import BadInput, RollviewError, SourceError
from rollview.names import CLOCK
from rollview.status import PROCESS, lag_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rollview.warehouse import Warehouse

log = logging.getLogger(__name__)
ROLES = ("capture", "propagate", "apply", "all")
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
LAG = 60.0
"""a view's target lag in seconds, unless it says otherwise"""
STEP = {"target": 10.0}
"""how long a step of propagation should take, unless the view says otherwise"""


@dataclass(slots=True)
class BackOff:
    """When something that failed may be tried again."""

    pause: float = 0.0
    until: float = 0.0
    last: Exception | None = None

    def failed(self, error: Exception, now: float) -> None:
        """Twice the pause each time, with some chance in it so that runners do not come back all at once."""
        fatal = isinstance(error, SourceError) and not error.retryable
        self.pause = LONGEST_PAUSE if fatal else min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * self.pause))
        self.until = now + self.pause * (0.75 + random.random() / 2)
        self.last = error

    def succeeded(self) -> None:
        self.pause, self.until, self.last = 0.0, 0.0, None


@dataclass
class Runner:
    """One process in one role. `lag` and `step` are for views that have none of their own."""

    warehouse: Warehouse
    role: str = "all"
    lag: float = LAG
    step: Mapping[str, float] = field(default_factory=lambda: STEP)
    every: float = 1.0
    stopped: threading.Event = field(default_factory=threading.Event)
    back_off: dict[str, BackOff] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    """views that cannot be propagated apart from being applied"""

    def run(self, rounds: int | None = None) -> None:
        """Rounds until somebody stops it; the step at hand is finished first."""
        with self.known(), self.signals():
            while not self.stopped.is_set() and rounds != 0:
                worked = self.round()
                rounds = None if rounds is None else rounds - 1
                if not worked and rounds != 0:
                    self.stopped.wait(self.every)

    def stop(self, *_: Any) -> None:
        self.stopped.set()

    def round(self) -> bool:
        """Everything that is due, once; views after what they read. True if there was something."""
        worked = False
        if self.role in ("capture", "all"):
            worked |= self.tried("capture", self.capture)
        for relation in self.control.relations.list(kind="view", state="ready"):
            if self.stopped.is_set() or self.role == "capture":
                break
            if relation.definition.get("part_of"):
                continue  # its view takes it along
            worked |= self.tried(relation.name, lambda r=relation: self.turn(r))  # type: ignore[misc]
        return worked

    # --- what is due ----------------------------------------------------------------------------------

    def capture(self) -> bool:
        before = self.warehouse.tick
        return self.warehouse.capture(patience=self.patience()) > before

    def patience(self) -> float:
        """For how long a reading of the clock is good enough for every view that reads it."""
        views = self.control.relations.list(kind="view", state="ready")
        lags = [self.wishes(v)[0] for v in views if CLOCK in v.definition.get("uses", ())]
        return min(lags, default=self.lag) / 2

    def turn(self, relation: Relation) -> bool:
        """One view's turn: propagate what is old enough, apply what must be."""
        target, step = self.wishes(relation)
        mark = self.control.marks.mark(relation.name)
        applied = mark.applied_tick or 0
        ahead = max(applied, mark.high_water_mark or 0)
        worked = False
        if not self.can_propagate(relation):
            return self.role in ("apply", "all") and self.refreshed(relation, applied, target)
        if self.role in ("propagate", "all") and self.age(relation.name, ahead) > target / 2:
            try:
                self.warehouse.propagate(relation.name, step=step)
            except BadInput as error:
                if error.code != "RV-NOT-PROPAGATED":
                    raise
                self.whole.add(relation.name)
                return self.turn(relation)
            worked = True
            ahead = max(ahead, self.control.marks.mark(relation.name).high_water_mark or 0)
        if self.role in ("apply", "all") and ahead > applied and self.age(relation.name, applied) > target / 2:
            self.warehouse.apply(relation.name)
            worked = True
        return worked

    def wishes(self, relation: Relation) -> tuple[float, Mapping[str, float]]:
        """The target lag and the step of a view."""
        own = relation.definition.get("schedule", {})
        return float(own.get("lag", self.lag)), own.get("step", self.step)

    def can_propagate(self, relation: Relation) -> bool:
        """Views over views, and those whose changes do not add up, are refreshed in one go."""
        below = self.control.relations.dependencies_of(relation.name)
        return relation.name not in self.whole and not any(r.kind == "view" for r in below)

    def refreshed(self, relation: Relation, applied: int, target: float) -> bool:
        due = self.age(relation.name, applied) > target / 2
        if due:
            self.warehouse.refresh(relation.name)
        return due

    def age(self, view: str, tick: int) -> float:
        """Seconds since the first commit that the view does not have; 0 if it has all."""
        return lag_of(self.control, view, tick)

    # --- how it is done -------------------------------------------------------------------------------

    @property
    def control(self) -> ControlStore:
        return self.warehouse._control

    def tried(self, name: str, work: Callable[[], bool]) -> bool:
        """Do it if nobody else does and it is not being left alone for a while."""
        state = self.back_off.setdefault(name, BackOff())
        if time.monotonic() < state.until:
            return False
        try:
            with self.control.leases.hold(f"runner:{self.role}:{name.lower()}", wait=0.0):
                worked = work()
        except Exception as error:  # whatever it is, the others go on
            if isinstance(error, RollviewError) and error.code == "RV-LEASE-HELD":
                return False
            state.failed(error, time.monotonic())
            log.warning("%s: %s; again in %.0f s", name, error, state.pause)
            return False
        state.succeeded()
        return worked

    @contextmanager
    def known(self) -> Iterator[None]:
        """While it runs, `status` shows it."""
        with self.control.leases.hold(f"{PROCESS}{self.role}:{uuid4().hex}", wait=0.0, fenced=False):
            yield

    @contextmanager
    def signals(self) -> Iterator[None]:
        """SIGTERM and Ctrl-C end it after the step at hand."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {s: signal.signal(s, self.stop) for s in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

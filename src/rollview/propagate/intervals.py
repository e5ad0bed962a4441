"""How far the next step of propagation goes: fixed by the user, or found by a controller.

A step covers whole ticks, because a transaction is never split. So a step may be larger than was asked for by what one
transaction holds, and by no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import accumulate
from typing import Any, Protocol

from rollview.catalog.ticks import Waiting
from rollview.errors import BadInput

GROWTH = 4.0
"""the most by which a controller widens or narrows from one step to the next"""


class Interval(Protocol):
    """Says where the next window ends, given the ticks that wait, in order; never before the first of them."""

    def upto(self, waiting: Sequence[Waiting]) -> int: ...


@dataclass(frozen=True, slots=True)
class Ticks:
    """At most so many ticks that changed something."""

    ticks: int

    def upto(self, waiting: Sequence[Waiting]) -> int:
        return waiting[min(self.ticks, len(waiting)) - 1].tick


@dataclass(frozen=True, slots=True)
class Rows:
    """As many ticks as stay within so many changed rows; one tick if even that has more."""

    rows: int

    def upto(self, waiting: Sequence[Waiting]) -> int:
        totals = accumulate(w.rows for w in waiting)
        fitting = [w.tick for w, total in zip(waiting, totals, strict=True) if total <= self.rows]
        return fitting[-1] if fitting else waiting[0].tick


@dataclass(frozen=True, slots=True)
class Period:
    """The ticks that were committed within so many seconds of the first that waits."""

    seconds: float

    def upto(self, waiting: Sequence[Waiting]) -> int:
        end = waiting[0].committed + timedelta(seconds=self.seconds)
        return [w.tick for w in waiting if w.committed <= end][-1]


@dataclass(frozen=True, slots=True)
class Target:
    """Holds each step near a duration by the rows it may have: fewer after a longer step, more after a shorter one."""

    seconds: float
    rows: int = 1000
    """the next step's rows"""

    def upto(self, waiting: Sequence[Waiting]) -> int:
        return Rows(self.rows).upto(waiting)

    def after(self, rows: int, seconds: float) -> Target:
        """What was learned from a step. One that had fewer rows than it might have says nothing against more."""
        if seconds <= self.seconds and rows < self.rows / GROWTH:
            return self
        factor = min(GROWTH, max(1 / GROWTH, self.seconds / max(seconds, 1e-3)))
        return replace(self, rows=max(1, int(max(rows, 1) * factor)))


MADE: Mapping[str, Callable[[Any], Interval]] = {"ticks": Ticks, "rows": Rows, "seconds": Period, "target": Target}


def interval(plain: Mapping[str, Any] | int | None) -> Interval | None:
    """From what a user gives: ticks, or one of {"ticks": n}, {"rows": n}, {"seconds": s}, {"target": s}; None: all."""
    if plain is None:
        return None
    given = {"ticks": plain} if isinstance(plain, int) else dict(plain)
    if len(given) == 1 and not isinstance(plain, bool):
        ((kind, value),) = given.items()
        if kind in MADE and isinstance(value, int | float) and value > 0:
            return MADE[kind](value)
    raise BadInput(
        f"{plain!r} is not a step of propagation",
        code="RV-STEP",
        hint='a number of ticks, or {"ticks": 100}, {"rows": 10000}, {"seconds": 3600} or {"target": 5.0}',
    )

"""A union of joins over tables that show only their present: each summand has a driver of its own.

Law: Δ(R ⊎ S) = ΔR ⊎ ΔS. So the view delta is complete up to where that of every summand is; one summand is asked for
at a time, the one that is furthest behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from rollview.propagate.compute_delta import Ask, Propagate
from rollview.propagate.rolling import Rolling, Stepwise

Driver = Propagate | Rolling | Stepwise
DRIVERS: Mapping[str, type[Propagate] | type[Rolling] | type[Stepwise]] = {
    "propagate": Propagate,
    "rolling": Rolling,
    "stepwise": Stepwise,
}


@dataclass(frozen=True, slots=True)
class Summands:
    """The drivers of all summands, between two queries."""

    driver: str
    each: tuple[Driver, ...]

    @classmethod
    def start(cls, driver: str, tables: Sequence[int], tick: int) -> Self:
        """`tables` is how many each summand has."""
        return cls(driver, tuple(DRIVERS[driver].start(n, tick) for n in tables))

    @property
    def turn(self) -> int:
        """The summand that is being asked for, or else the one that is next."""
        return min(range(len(self.each)), key=lambda i: (not self.each[i].asks, self.each[i].mark))

    @property
    def here(self) -> Driver:
        return self.each[self.turn]

    @property
    def asks(self) -> tuple[Ask, ...]:
        return self.here.asks

    @property
    def mark(self) -> int:
        return min(d.mark for d in self.each)

    def step(self, upto: int) -> Self:
        """Begin the next window."""
        return self.moved(self.here.step(upto))

    def answered(self, executed: int) -> Self:
        """The first ask has run, and saw the state of tick `executed`."""
        return self.moved(self.here.answered(executed))

    def moved(self, driver: Driver) -> Self:
        return type(self)(self.driver, (*self.each[: self.turn], driver, *self.each[self.turn + 1 :]))

    def plain(self) -> dict[str, Any]:
        return {"driver": self.driver, "each": [d.plain() for d in self.each]}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        kind = DRIVERS[plain["driver"]]
        return cls(plain["driver"], tuple(kind.of(d) for d in plain["each"]))

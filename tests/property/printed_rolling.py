"""Figure 10 of Salem et al. as it is printed, with three slips corrected and the error left in.

Corrected: the compensation is negated, the first table's progress advances too, and a table without pending queries
gives its own progress as CompTime and no bound as CompInterval. Left in: the tables above i are taken at the time of
the new query (t_e) also where an earlier query of a lower table, which ran before, is given back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from rollview.propagate.compute_delta import Ask, Times, Window, compensation, compute_delta, view
from rollview.propagate.rolling import Forward


@dataclass(frozen=True, slots=True)
class PrintedRolling:
    fwd: Times
    lists: tuple[Forward, ...] = ()
    advancing: tuple[int, Window] | None = None
    ran: bool = False
    asks: tuple[Ask, ...] = ()

    @classmethod
    def start(cls, tables: int, tick: int) -> Self:
        return cls((tick,) * tables)

    @property
    def mark(self) -> int:
        return min(min((f.window.since for f in self.lists if f.table == i), default=t) for i, t in enumerate(self.fwd))

    def step(self, upto: int) -> Self:
        i = min(range(len(self.fwd)), key=lambda j: self.fwd[j])
        window = Window(self.fwd[i], upto)
        left = tuple(f for f in self.lists if f.executed > self.fwd[i])
        query = view(len(self.fwd)).with_window(i, window)
        return replace(self, lists=left, advancing=(i, window), ran=False, asks=(Ask(query, ()),))

    def answered(self, executed: int) -> Self:
        assert self.advancing is not None
        first, *rest = self.asks
        if self.ran:
            return self.settled((*compensation(first, executed), *rest))
        i, window = self.advancing
        asks: tuple[Ask, ...] = ()
        at = window.since
        while i > 0 and at < window.upto:
            bounds = [f.executed for f in self.lists if f.table < i and f.executed > at]
            strip = Window(at, min([window.upto, *bounds]))
            old = tuple(self.comp_time(k, at) if k < i else executed for k in range(len(self.fwd)))
            asks += compute_delta(view(len(self.fwd)).with_window(i, strip).negated(), old, executed)
            at = strip.upto
        added = (Forward(i, window, executed),) if i < len(self.fwd) - 1 else ()
        return replace(self, ran=True, lists=self.lists + added).settled(asks)

    def comp_time(self, k: int, at: int) -> int:
        return next((f.window.since for f in self.lists if f.table == k and f.executed > at), self.fwd[k])

    def settled(self, asks: tuple[Ask, ...]) -> Self:
        if asks or self.advancing is None:
            return replace(self, asks=asks)
        i, window = self.advancing
        return replace(self, asks=(), advancing=None, fwd=(*self.fwd[:i], window.upto, *self.fwd[i + 1 :]))

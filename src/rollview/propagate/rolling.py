"""Rolling propagation (Salem et al., Figure 10, corrected): every table advances by windows of its own length.

A forward query of table i joins the delta of a window with all other tables as they are when it runs, at tick e. In the
space of ticks, one axis per table, it covers the box {p : pᵢ in the window, pⱼ ≤ e for all other j}.

Law: each point is counted once, by the lowest-numbered table whose forward query covers it.

So a new query of table i gives back, for every lower table k,

- what k has not reached yet (pₖ > fwd[k]): a later query of k, which runs later, covers all of it;
- what an earlier query of k, over (c, d] and run at tick e, covers: pₖ in (c, d] and everything else ≤ e. The tables
  above i are taken at that same e. (The printed algorithm takes them at the new query's own time, and so gives back
  points that nobody has counted.)

A box is given back by the forward queries of two tables over both windows, which is one more query to ask, with the
tick at which each other table should be seen. A lower table k' is seen where its own queries stood when e came, so that
no point is given back twice.

`Stepwise` is a simpler way with the same freedom: it keeps one progress vector and corrects every query back to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from rollview.propagate.compute_delta import Ask, Query, Times, Window, compensation, view


@dataclass(frozen=True, slots=True)
class Forward:
    """A forward query that ran: the table's window, and the tick at which it saw the other tables."""

    table: int
    window: Window
    executed: int


@dataclass(frozen=True, slots=True)
class Rolling:
    """The state between two queries.

    `forward` are the queries that a higher table may still overlap, in the order in which they ran. `advancing` is the
    window that is being propagated, `asks` what is left to ask for it; the first ask is the forward query itself until
    `ran` says that it was answered.
    """

    fwd: Times
    forward: tuple[Forward, ...] = ()
    advancing: tuple[int, Window] | None = None
    ran: bool = False
    asks: tuple[Ask, ...] = ()

    @classmethod
    def start(cls, tables: int, tick: int) -> Self:
        return cls((tick,) * tables)

    @property
    def next(self) -> int:
        """The table that is furthest behind."""
        return min(range(len(self.fwd)), key=lambda i: self.fwd[i])

    @property
    def comp(self) -> Times:
        """How far the forward queries of each table are complete: compensated by every table above it."""
        return tuple(
            min((f.window.since for f in self.pending if f.table == i), default=self.fwd[i])
            for i in range(len(self.fwd))
        )

    @property
    def mark(self) -> int:
        """The view delta is complete up to here."""
        return min(self.comp)

    @property
    def pending(self) -> tuple[Forward, ...]:
        """The queries that some higher table has not passed yet."""
        return tuple(f for f in self.forward if any(f.executed > t for t in self.fwd[f.table + 1 :]))

    def step(self, upto: int) -> Self:
        """Begin the next window of the table that is furthest behind."""
        i = self.next
        window = Window(self.fwd[i], upto)
        query = view(len(self.fwd)).with_window(i, window)
        return replace(self, advancing=(i, window), ran=False, asks=(Ask(query, ()),))

    def answered(self, executed: int) -> Self:
        """The first ask has run, and saw the state of tick `executed`."""
        assert self.advancing is not None
        first, *rest = self.asks
        if self.ran:
            return self._settled((*compensation(first, executed), *rest))
        i, window = self.advancing
        intended = tuple(self.fwd[k] if k < i else executed for k in range(len(self.fwd)))
        overlaps = tuple(self._overlap(i, window, place) for place in self._overlapped(i, window))
        asks = (*compensation(Ask(first.query, intended), executed), *overlaps)
        return replace(self, ran=True, forward=(*self.forward, Forward(i, window, executed)))._settled(asks)

    def _settled(self, asks: tuple[Ask, ...]) -> Self:
        """The window is done when nothing is left to ask."""
        if asks or self.advancing is None:
            return replace(self, asks=asks)
        i, window = self.advancing
        done = replace(self, asks=(), advancing=None, fwd=(*self.fwd[:i], window.upto, *self.fwd[i + 1 :]))
        return replace(done, forward=done.pending)

    def _overlapped(self, i: int, window: Window) -> list[int]:
        """Places of the queries of lower tables that cover part of the window."""
        return [n for n, f in enumerate(self.forward) if f.table < i and f.executed > window.since]

    def _overlap(self, i: int, window: Window, place: int) -> Ask:
        """What one earlier query of a lower table has counted already."""
        earlier = self.forward[place]
        later = self.forward[place + 1 :]

        def seen(k: int) -> int:
            """A lower table stands where its first query after the earlier one begins."""
            if k > i:
                return earlier.executed
            return next((f.window.since for f in later if f.table == k), self.fwd[k])

        shared = Window(window.since, min(window.upto, earlier.executed))
        query = Query((None,) * len(self.fwd), -1).with_window(i, shared).with_window(earlier.table, earlier.window)
        return Ask(query, tuple(seen(k) for k in range(len(self.fwd))))

    def plain(self) -> dict[str, Any]:
        forward = [[f.table, f.window.since, f.window.upto, f.executed] for f in self.forward]
        advancing = None if self.advancing is None else [self.advancing[0], *window_plain(self.advancing[1])]
        return {
            "fwd": list(self.fwd),
            "forward": forward,
            "advancing": advancing,
            "ran": self.ran,
            "asks": [a.plain() for a in self.asks],
        }

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Self:
        forward = tuple(Forward(t, Window(since, upto), e) for t, since, upto, e in plain["forward"])
        asks = tuple(Ask.of(a) for a in plain["asks"])
        return cls(tuple(plain["fwd"]), forward, advancing_of(plain["advancing"]), plain["ran"], asks)


@dataclass(frozen=True, slots=True)
class Stepwise:
    """V_τ' - V_τ, where τ' advances one table: its window joined with the others, corrected back to τ."""

    progress: Times
    advancing: tuple[int, Window] | None = None
    asks: tuple[Ask, ...] = ()

    @classmethod
    def start(cls, tables: int, tick: int) -> Self:
        return cls((tick,) * tables)

    @property
    def next(self) -> int:
        return min(range(len(self.progress)), key=lambda i: self.progress[i])

    @property
    def mark(self) -> int:
        return min(self.progress)

    def step(self, upto: int, table: int | None = None) -> Self:
        """Begin the next window of a table: any, or the one that is furthest behind."""
        i = self.next if table is None else table
        window = Window(self.progress[i], upto)
        ask = Ask(view(len(self.progress)).with_window(i, window), self.progress)
        return replace(self, advancing=(i, window), asks=(ask,))

    def answered(self, executed: int) -> Self:
        assert self.advancing is not None
        first, *rest = self.asks
        left = (*compensation(first, executed), *rest)
        if left:
            return replace(self, asks=left)
        i, window = self.advancing
        progress = (*self.progress[:i], window.upto, *self.progress[i + 1 :])
        return replace(self, progress=progress, advancing=None, asks=())

    def plain(self) -> dict[str, Any]:
        advancing = None if self.advancing is None else [self.advancing[0], *window_plain(self.advancing[1])]
        return {"progress": list(self.progress), "advancing": advancing, "asks": [a.plain() for a in self.asks]}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Self:
        asks = tuple(Ask.of(a) for a in plain["asks"])
        return cls(tuple(plain["progress"]), advancing_of(plain["advancing"]), asks)


def window_plain(window: Window) -> list[int]:
    return [window.since, window.upto]


def advancing_of(plain: list[int] | None) -> tuple[int, Window] | None:
    return None if plain is None else (plain[0], Window(plain[1], plain[2]))

"""Propagation when the base tables show only their present (Salem et al., Figures 4 and 5).

A query Q = Q[1] ⋈ … ⋈ Q[n] reads each table either as the delta of a window or as it is when the query runs. The delta
of Q over (old, new] is one query per table that it reads as it is, with tables on the left as of `old` and on the right
as of `new`. Such a query sees a later state than it should, so the same law, applied to it with the opposite sign,
takes back what came in between; every round has one table less to correct. The tick of a result is the least tick of
the delta rows that joined in it.

All of this is data: `Ask` is a query that is still to run, `answered` replaces it by what corrects it. Whoever keeps
the list of asks can stop and go on at any time, and asks may be answered in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

Times = tuple[int, ...]
"""a tick for each base table of a view, by place"""


@dataclass(frozen=True, slots=True)
class Window:
    """(since, upto]: the rows of a change log with these ticks."""

    since: int
    upto: int

    def __post_init__(self) -> None:
        if self.upto <= self.since:
            raise ValueError(f"({self.since}, {self.upto}] holds no tick")


@dataclass(frozen=True, slots=True)
class Query:
    """A term of propagation: each table as the delta of a window, or (None) as it is when the query runs."""

    factors: tuple[Window | None, ...]
    sign: int = 1

    @property
    def reads_present(self) -> bool:
        return None in self.factors

    @property
    def upto(self) -> int:
        """The query cannot run before this tick: its windows are not complete earlier."""
        return max((w.upto for w in self.factors if w is not None), default=0)

    def negated(self) -> Query:
        return replace(self, sign=-self.sign)

    def with_window(self, place: int, window: Window) -> Query:
        factors = (*self.factors[:place], window, *self.factors[place + 1 :])
        return replace(self, factors=factors)


@dataclass(frozen=True, slots=True)
class Ask:
    """A query to run, and the ticks at which it should see the tables that it reads as they are."""

    query: Query
    intended: Times

    def plain(self) -> dict[str, Any]:
        factors = [None if w is None else [w.since, w.upto] for w in self.query.factors]
        return {"factors": factors, "sign": self.query.sign, "intended": list(self.intended)}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Self:
        factors = tuple(None if w is None else Window(*w) for w in plain["factors"])
        return cls(Query(factors, plain["sign"]), tuple(plain["intended"]))


def view(tables: int) -> Query:
    """The view itself: every table as it is."""
    return Query((None,) * tables)


def compute_delta(query: Query, old: Times, new: int) -> tuple[Ask, ...]:
    """ComputeDelta: what to ask for Q_new - Q_old, where `old` gives each table its own start."""
    asks = []
    for i, factor in enumerate(query.factors):
        if factor is None and old[i] < new:
            intended = tuple(old[j] if j < i else new for j in range(len(old)))
            asks.append(Ask(query.with_window(i, Window(old[i], new)), intended))
    return tuple(asks)


def compensation(ask: Ask, executed: int) -> tuple[Ask, ...]:
    """What takes back the difference between the state that a query saw and the one that it should have seen."""
    return compute_delta(ask.query.negated(), ask.intended, executed)


@dataclass(frozen=True, slots=True)
class Propagate:
    """Propagate (Figure 5): the view delta is complete up to `mark`; `asks` are left of the step up to `target`."""

    tables: int
    mark: int
    target: int
    asks: tuple[Ask, ...] = ()

    @classmethod
    def start(cls, tables: int, tick: int) -> Self:
        return cls(tables, tick, tick)

    def step(self, upto: int) -> Self:
        """Begin the next interval."""
        asks = compute_delta(view(self.tables), (self.mark,) * self.tables, upto)
        return replace(self, target=upto, asks=asks)

    def answered(self, executed: int) -> Self:
        """The first ask has run, and saw the state of tick `executed`."""
        first, *rest = self.asks
        left = (*compensation(first, executed), *rest)
        return replace(self, asks=left, mark=self.mark if left else self.target)

    def plain(self) -> dict[str, Any]:
        return {
            "tables": self.tables,
            "mark": self.mark,
            "target": self.target,
            "asks": [a.plain() for a in self.asks],
        }

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Self:
        asks = tuple(Ask.of(a) for a in plain["asks"])
        return cls(plain["tables"], plain["mark"], plain["target"], asks)

"""Base tables that show only their present, while others go on committing to them; and a view's timed delta.

A join view of n tables with columns (a, b). Queries run at the tick that is the last one then, read change logs by
window, and put their rows with `count` and `tick` into the view delta, as the drivers of `propagate` ask.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from random import Random

    from rollview.propagate.compute_delta import Ask, Query

Row = tuple[int, int]
Joined = tuple[Row, ...]
Timed = Counter[tuple[Joined, int]]
"""signed counts by view row and tick"""


class Driver(Protocol):
    """What all ways of propagating have in common."""

    @property
    def asks(self) -> tuple[Ask, ...]: ...
    @property
    def mark(self) -> int: ...
    def answered(self, executed: int) -> Self: ...
    def step(self, upto: int) -> Self: ...


@dataclass
class Source:
    """n tables and their logs; `commit` is the rest of the world."""

    tables: int
    chained: bool
    """the view joins neighbours by b = a; otherwise it is the cross product"""
    states: list[list[Counter[Row]]] = field(default_factory=list)
    logs: list[list[tuple[Row, int, int]]] = field(default_factory=list)
    """row, count, tick"""

    def __post_init__(self) -> None:
        self.states.append([Counter() for _ in range(self.tables)])
        self.logs = [[] for _ in range(self.tables)]

    @property
    def now(self) -> int:
        return len(self.states) - 1

    def commit(self, changes: list[tuple[int, Row, int]]) -> None:
        state = [Counter(rows) for rows in self.states[-1]]
        self.states.append(state)
        for table, row, count in changes:
            state[table][row] += count
            self.logs[table].append((row, count, self.now))

    def random_commit(self, rng: Random) -> None:
        changes: list[tuple[int, Row, int]] = []
        for table in range(self.tables):
            if rng.random() < 0.6:
                continue
            rows = self.states[-1][table]
            if rng.random() < 0.45 and (there := [r for r, n in rows.items() if n]):
                changes.append((table, rng.choice(there), -1))
            if rng.random() < 0.7:
                changes.append((table, (rng.randrange(2), rng.randrange(2)), 1))
        self.commit(changes)

    def view(self, tick: int) -> Counter[Joined]:
        factors = [[(r, n, None) for r, n in rows.items() if n] for rows in self.states[tick]]
        return Counter({row: n for (row, _), n in self.join(factors).items() if n})

    def run(self, query: Query) -> Timed:
        """The query's rows, at the present."""
        assert query.upto <= self.now, "a window reaches into the future"
        factors: list[list[tuple[Row, int, int | None]]] = []
        for table, window in enumerate(query.factors):
            if window is None:
                factors.append([(r, n, None) for r, n in self.states[-1][table].items() if n])
            else:
                factors.append([e for e in self.logs[table] if window.since < e[2] <= window.upto])
        return Counter({row: query.sign * n for row, n in self.join(factors).items()})

    def join(self, factors: list[list[tuple[Row, int, int | None]]]) -> Timed:
        """Rows with the product of the counts and the least of the ticks; rows of states have none."""
        found: dict[tuple[Joined, int], int] = {((), 1 << 30): 1}
        for rows in factors:
            wider: Timed = Counter()
            for (joined, tick), count in found.items():
                for row, n, stamp in rows:
                    if self.chained and joined and joined[-1][1] != row[0]:
                        continue
                    wider[(*joined, row), tick if stamp is None else min(tick, stamp)] += count * n
            found = wider
        return Counter(found)


def check_timed(source: Source, delta: Timed, since: int, mark: int) -> None:
    """Definition 4.2 from `since` to every tick up to the mark."""
    view = Counter(source.view(since))
    by_tick: dict[int, list[tuple[Joined, int]]] = {}
    for (row, tick), count in delta.items():
        if count:
            by_tick.setdefault(tick, []).append((row, count))
    assert not any(tick <= since for tick in by_tick), "a change before the beginning"
    for tick in range(since + 1, mark + 1):
        for row, count in by_tick.get(tick, ()):
            view[row] += count
        found = Counter({row: n for row, n in view.items() if n})
        assert found == source.view(tick), f"the view is wrong at tick {tick} of {since}..{mark}"


@dataclass
class Simulation:
    """A driver at work while commits go on."""

    rng: Random
    source: Source
    driver: Driver
    since: int
    busy: float = 0.5
    """how often somebody commits between two queries"""
    delta: Timed = field(default_factory=Counter)
    queries: int = 0

    def others(self) -> None:
        while self.rng.random() < self.busy:
            self.source.random_commit(self.rng)

    def answer(self) -> None:
        """One query runs at the present, and its rows go to the view delta."""
        self.others()
        for key, count in self.source.run(self.driver.asks[0].query).items():
            self.delta[key] += count
        self.queries += 1
        self.driver = self.driver.answered(self.source.now)

    def step(self, upto: int) -> None:
        self.driver = self.driver.step(upto)
        while self.driver.asks:
            self.answer()
            check_timed(self.source, self.delta, self.since, self.driver.mark)

"""One step of a history: the base tables before and after, their net deltas, and what shapes those have."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rollview.algebra.relation import State
from rollview.rules.dispatch import Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rollview.algebra.evaluate import Row
    from rollview.algebra.interpreter import Bag, Source
    from rollview.algebra.schema import BaseTable, Tables

Rows = dict[str, Counter[tuple[Any, ...]]]
"""The rows of every base table, by lower-case table name."""


def rows(**tables: Iterable[tuple[Any, ...]]) -> Rows:
    return {name: Counter(given) for name, given in tables.items()}


@dataclass
class Step:
    """Base tables carried from `before` to `after`."""

    tables: Tables
    before: Rows
    after: Rows
    known: dict[tuple[str, State], Bag] = field(default_factory=dict)

    def part(self, name: str, state: State) -> Bag:
        """One state of one table. Signed ones are elementary and net: rows with ±1, repeated."""
        if (name, state) not in self.known:
            self.known[name, state] = self.made(name, state)
        return self.known[name, state]

    def made(self, name: str, state: State) -> Bag:
        table, old, new = self.tables[name], self.before[name], self.after[name]
        if state is State.BEFORE:
            return old
        if state is State.AFTER:
            return new
        if state is State.DELTA:
            return signed(new - old, 1) + signed(old - new, -1)
        assert table.key is not None, f"{state} of a table without a key"
        key = key_places(table)
        kept = keys(old, key) & keys(new, key)
        if state is State.UPDATES:
            delta = self.part(name, State.DELTA)
            return Counter({r: n for r, n in delta.items() if pick(r, key) in kept})
        return Counter({r: n for r, n in old.items() if pick(r, key) not in kept})

    def source(self, bound: Mapping[str, tuple[tuple[str, ...], Bag]] | None = None) -> Source:
        """For the interpreter; `bound` is what it scans beside the base tables: an extent, a computed change …"""

        def read(table: str, state: State) -> tuple[tuple[str, ...], Bag]:
            if bound is not None and table in bound:
                return bound[table]
            columns = tuple(c.name for c in self.tables[table].columns)
            return (*columns, "__count") if state.signed else columns, self.part(table, state)

        return read

    @property
    def shapes(self) -> dict[str, Shape]:
        """The exact shape of every table that changed."""
        found = {name: shape(table, self.before[name], self.after[name]) for name, table in self.tables.items()}
        return {name: s for name, s in found.items() if s.changed}


def shape(table: BaseTable, old: Bag, new: Bag) -> Shape:
    if table.key is None:
        return Shape(inserts=bool(new - old), deletes=bool(old - new), updates=False)
    key = key_places(table)
    before, after = keys(old, key), keys(new, key)
    updated = keys(new - old, key) & keys(old - new, key)
    return Shape(inserts=bool(after - before), deletes=bool(before - after), updates=bool(updated))


def signed(bag: Bag, count: int) -> Bag:
    return Counter({(*row, count): n for row, n in bag.items()})


def key_places(table: BaseTable) -> list[int]:
    names = [c.name.lower() for c in table.columns]
    return [names.index(k.lower()) for k in table.key or ()]


def pick(row: Row, places: list[int]) -> Row:
    return tuple(row[p] for p in places)


def keys(bag: Bag, places: list[int]) -> set[Row]:
    return {pick(row, places) for row in bag}

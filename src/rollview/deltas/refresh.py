"""The refresh operator V ⊔_θ^U □V as data, and its meaning on bags (Gupta and Mumick, §4; Barbier, Definition 5.7).

A row of the change is matched with at most one stored row, and a stored row with at most one of the change. θ is a pair
of conditions on a matched pair, of which both ask that `key` be equal, NULL being equal to NULL: J1 updates the stored
row by U, J2 deletes it. A row of the change that matches nothing is inserted.

`old(x)` and `new(x)` are the column x of the stored row and of the change.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.evaluate import compile_scalar
from rollview.algebra.scalar import Scalar, col
from rollview.names import COUNT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rollview.algebra.evaluate import Row
    from rollview.algebra.interpreter import Bag

OLD, NEW = "v.", "d."


def old(name: str) -> Scalar:
    return col(OLD + name)


def new(name: str) -> Scalar:
    return col(NEW + name)


@dataclass(frozen=True, slots=True)
class Refresh:
    """J1 is same key ∧ `match` ∧ ¬`delete`, J2 is same key ∧ `match` ∧ `delete`; U is `updates`."""

    key: tuple[str, ...]
    updates: tuple[tuple[str, Scalar], ...] = ()
    match: Scalar | None = None
    """None: any pair with the same key"""
    delete: Scalar | None = None
    """None: never"""
    insert: Scalar | None = None
    """which unmatched rows of the change are inserted; None: all"""

    def apply(self, columns: Sequence[str], stored: Bag, change: Bag) -> Bag:
        """The stored rows after the change; the rows of both have `columns`."""
        names = (*(OLD + c for c in columns), *(NEW + c for c in columns))
        test = {part: compile_scalar(e, names) for part, e in self.conditions.items() if e is not None}
        places = [list(columns).index(k) for k in self.key]
        functions = [(list(columns).index(c), compile_scalar(e, names)) for c, e in self.updates]

        def holds(part: str, pair: Row, *, otherwise: bool) -> bool:
            return bool(test[part](pair)) if part in test else otherwise

        free: dict[Row, list[Row]] = {}
        for row in stored.elements():
            free.setdefault(tuple(row[p] for p in places), []).append(row)
        done: Bag = Counter()
        for row in change.elements():
            here = free.get(tuple(row[p] for p in places), [])
            partner = next((s for s in here if holds("match", s + row, otherwise=True)), None)
            if partner is None:
                if holds("insert", (None,) * len(row) + row, otherwise=True):
                    done[row] += 1
                continue
            here.remove(partner)
            if not holds("delete", partner + row, otherwise=False):
                updated = list(partner)
                for place, function in functions:
                    updated[place] = function(partner + row)
                done[tuple(updated)] += 1
        return done + Counter(row for rows in free.values() for row in rows)

    @property
    def conditions(self) -> dict[str, Scalar | None]:
        return {"match": self.match, "delete": self.delete, "insert": self.insert}


def rows_refresh(key: tuple[str, ...]) -> Refresh:
    """Signed rows: a row with a negative count deletes the row of its key, one with a positive count is inserted."""
    return Refresh(
        key, match=compare(exp.LT, new(COUNT)), delete=Scalar(exp.true()), insert=compare(exp.GT, new(COUNT))
    )


def aggregate_refresh(key: tuple[str, ...], updates: tuple[tuple[str, Scalar], ...], *, keep_empty: bool) -> Refresh:
    """States by group: every state has its update function, and a group without rows goes.

    A new group that comes and goes within the span may leave the rounding of a floating-point sum behind: only groups
    that have rows are inserted.
    """
    if keep_empty:
        return Refresh(key, updates)
    return Refresh(key, updates, delete=compare(exp.EQ, dict(updates)[COUNT]), insert=compare(exp.GT, new(COUNT)))


def outer_refresh(key: tuple[str, ...], padding: Scalar, updates: Sequence[str]) -> Refresh:
    """Outer joins that gain rows: a padded row with the same `key` is replaced; `padding` tells it by its marker."""
    return Refresh(key, tuple((c, new(c)) for c in updates), match=padding)


def total(name: str) -> Scalar:
    return Scalar(exp.Add(this=old(name).tree, expression=new(name).tree))


def compare(comparison: type[exp.Binary], scalar: Scalar) -> Scalar:
    return Scalar(comparison(this=scalar.tree.copy(), expression=exp.Literal.number(0)))

"""The change table of an aggregate, and the refresh operator that merges it into the extent.

Law (Gupta and Mumick): V_after = V ⊔_θ^U □V with θ = (same key and V.__count + □V.__count ≠ 0, same key and it is 0).
That holds because the extent stores *states*: `__count`, and for each measure what its output is derived from. Each
state has its update function in U. Sums are added and parities are XORed, whatever the change. An extreme takes the
least (greatest) of the old one and of the inserted values, unless a deletion took it away: then its group, like every
changed group of a measure that has no update function, is re-derived and replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Function
from rollview.names import PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rollview.algebra.relation import Relation


class Update(Enum):
    """How a stored state takes its change; the value is the aggregate function that does the same in bulk."""

    ADD = Function.SUM
    XOR = Function.BIT_XOR
    LEAST = Function.MIN
    GREATEST = Function.MAX
    REPLACE = Function.CALL

    def apply(self, old: exp.Expr, change: exp.Expr) -> exp.Expr:
        """The new state as an expression; NULL is no extreme, and LEAST and GREATEST pass over it."""
        match self:
            case Update.ADD:
                return exp.Add(this=old, expression=change)
            case Update.XOR:
                return exp.BitwiseXor(this=old, expression=change)
            case Update.LEAST:
                return exp.Least(this=old, expressions=[change])
            case Update.GREATEST:
                return exp.Greatest(this=old, expressions=[change])
            case Update.REPLACE:
                return change


Updates = dict[str, Update]
"""U: the update function of each state, by column"""


def lost(state: str) -> str:
    """The column of a change table that holds the extreme of the deleted values."""
    return f"{PREFIX}lost{state}"


@dataclass(frozen=True, slots=True)
class ChangeTable:
    """□V: `relation` has the key columns, then for each state its change, then the extremes of what was deleted."""

    relation: Relation
    key: tuple[str, ...]
    updates: Mapping[str, Update]
    keep_empty: bool
    """True for a global aggregate, whose single row stays when its count is zero"""

    def __post_init__(self) -> None:
        if self.relation.names[: len(self.key) + len(self.updates)] != self.key + tuple(self.updates):
            raise ValueError("a change table has its key and its states, in that order")

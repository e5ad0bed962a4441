"""The change table of an aggregate, and the refresh operator that merges it into the extent.

Law (Gupta and Mumick): V_after = V ⊔_θ^U □V with θ = (same key and V.__count + □V.__count ≠ 0, same key and
the sum = 0) and every update function an addition. That holds because the extent stores *states*, each a sum
over the group's rows: `__count`, and for each measure the sum and the number of its non-NULL arguments. The
reader derives the outputs from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rollview.algebra.relation import Relation


@dataclass(frozen=True, slots=True)
class ChangeTable:
    """□V: `relation` has the key columns and then the states, each the change of its state."""

    relation: Relation
    key: tuple[str, ...]
    states: tuple[str, ...]
    keep_empty: bool
    """True for a global aggregate, whose single row stays when its count is zero"""

    def __post_init__(self) -> None:
        if self.relation.names != self.key + self.states:
            raise ValueError("a change table has its key and its states, in that order")

"""The join keys of small deltas as literals, for restrict.py."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from rollview.algebra.relation import State
from rollview.lake.arrow import literal
from rollview.lake.bounds import ORDERED
from rollview.plan.restrict import Keys

FEW = 100
LARGE_BYTES = 4 * 1024 * 1024


def values_of(column: pa.ChunkedArray) -> Keys | None:
    """The distinct values if they are few, else their bounds; None if there are none, or none that SQL can spell."""
    if not any(test(column.type) for test in ORDERED):
        return None
    known = pc.drop_null(column)
    if not len(known):
        return None
    distinct = pc.unique(known)
    if len(distinct) <= FEW:
        return Keys(tuple(literal(v) for v in distinct.to_pylist()))
    extremes = pc.min_max(known).as_py()
    return Keys((), literal(extremes["min"]), literal(extremes["max"]))


class KnownKeys:
    """Asked for one column at a time; UPDATES are part of DELTA, so the same values bound both."""

    def __init__(self, deltas: Mapping[str, pa.Table | None], sizes: Mapping[str, int]) -> None:
        self.deltas = deltas
        self.sizes = sizes
        self.found: dict[tuple[str, str], Keys | None] = {}

    def worth(self, table: str) -> bool:
        return self.sizes.get(table, 0) >= LARGE_BYTES

    def keys(self, table: str, state: State, column: str) -> Keys | None:
        rows = self.deltas.get(table)
        if rows is None or column not in rows.column_names:
            return None
        if (table, column) not in self.found:
            self.found[table, column] = values_of(rows.column(column))
        return self.found[table, column]

"""What a small change says about where its keys lie: few values, or the few ranges that they cluster in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollview.algebra.relation import State
from rollview.lake.arrow import literal
from rollview.lake.predicates import Predicate, between, either, everything
from rollview.plan.region import Region

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

FEW = 100
RANGES = 12
GAP = 0.1
"""two ranges instead of one if the gap between them is at least this share of what they cover"""
LARGE_BYTES = 4 * 1024 * 1024
MOST = 0.5
"""of a table: a look-up that reads more of it is not worth its literals, which every row group is compared with"""

COUNTED = (pa.types.is_integer, pa.types.is_date, pa.types.is_timestamp)
ORDERED = (*COUNTED, pa.types.is_string, pa.types.is_large_string, pa.types.is_decimal)
Ranges = list[tuple[object, object]]


def regions(rows: pa.Table, key: Sequence[str]) -> dict[str, Region]:
    """The regions of the key columns that have one."""
    found = {name: region(rows.column(name)) for name in key}
    return {name: r for name, r in found.items() if r is not None}


def region(column: pa.ChunkedArray, few: int = FEW) -> Region | None:
    """None if there are no values, or none that SQL can spell."""
    known = pc.drop_null(column)
    if not len(known) or not any(test(column.type) for test in ORDERED):
        return None
    nulls = column.null_count > 0
    distinct = pc.unique(known)
    if len(distinct) <= few:
        return Region(values=tuple(literal(v) for v in distinct.to_pylist()), nulls=nulls)
    return Region(ranges=tuple((literal(low), literal(high)) for low, high in clusters(known)), nulls=nulls)


def clusters(known: pa.ChunkedArray) -> Ranges:
    """The ranges in which values lie, split at wide gaps; one range where distances mean nothing."""
    if not any(test(known.type) for test in COUNTED):
        extremes = pc.min_max(known).as_py()
        return [(extremes["min"], extremes["max"])]
    wide = pa.int32() if pa.types.is_date32(known.type) else pa.int64()
    values = np.unique(known.cast(wide).to_numpy()) if not pa.types.is_integer(known.type) else np.unique(known)
    gaps = np.diff(values.astype(np.float64))
    covered, cuts = float(values[-1]) - float(values[0]), []
    for i in np.argsort(gaps)[::-1][: RANGES - 1]:
        if gaps[i] < GAP * covered or gaps[i] <= 1:
            break
        covered -= gaps[i]
        cuts.append(int(i))
    starts = [0, *(i + 1 for i in sorted(cuts))]
    ends = [*sorted(cuts), len(values) - 1]
    plain = pa.array(values[[*starts, *ends]]).cast(wide).cast(known.type).to_pylist()
    return list(zip(plain[: len(starts)], plain[len(starts) :], strict=True))


def file_filter(column: str, values: pa.ChunkedArray) -> Predicate:
    """The files that may hold the values, for pyiceberg."""
    usable = any(t(values.type) for t in (pa.types.is_integer, pa.types.is_date32, pa.types.is_string))
    known = pc.drop_null(values)
    if not usable or not len(known):
        return everything()
    return either([between(column, low, high, nulls=values.null_count > 0) for low, high in clusters(known)])


def bytes_near(table: Table, column: str, values: pa.ChunkedArray, *, ordered: bool) -> float:
    """About how much is read of a table to find some values of a column, by which its rows may be ordered."""
    known = pc.drop_null(values)
    if ordered and len(known) and pa.types.is_integer(values.type):
        return bytes_within(table, column, clusters(known), nulls=values.null_count > 0)
    tasks = table.scan(row_filter=file_filter(column, values)).plan_files()
    return sum(task.file.file_size_in_bytes for task in tasks)


def bytes_within(table: Table, column: str, ranges: Ranges, *, nulls: bool) -> float:
    """The same for whole numbers in some ranges, in a table that is sorted by their column."""
    wanted = either([between(column, low, high, nulls=nulls) for low, high in ranges])
    number = table.schema().find_field(column).field_id
    files = (task.file for task in table.scan(row_filter=wanted).plan_files())
    return sum(file.file_size_in_bytes * read_of(file, number, ranges) for file in files)


def read_of(file: DataFile, number: int, ranges: Ranges) -> float:
    """The share of a file that is read for whole numbers in some ranges, if it is sorted by their column."""
    ends = [bounds[number] for bounds in (file.lower_bounds, file.upper_bounds) if bounds and number in bounds]
    if len(ends) < 2:
        return 1.0
    low, high = (int.from_bytes(end, "little", signed=True) for end in ends)  # as Iceberg writes whole numbers
    return share(ranges, low, high, len(file.split_offsets or ()) or 1)


def share_within(files: Sequence[DataFile], number: int, region: Region) -> float:
    """About which share of some files is read for the values of a region, at best: if each is sorted by them."""
    ranges = whole_numbers(region)
    total = sum(file.file_size_in_bytes for file in files)
    if ranges is None or not total:
        return 0.0
    return sum(file.file_size_in_bytes * read_of(file, number, ranges) for file in files) / total


def whole_numbers(region: Region) -> Ranges | None:
    """The ranges of a region of whole numbers; None if it is of something else."""
    pairs = [*region.ranges, *((v, v) for v in region.values)]
    if not all(end.is_int for pair in pairs for end in pair):
        return None
    return [(int(low.to_py()), int(high.to_py())) for low, high in pairs]


def share(ranges: Sequence[tuple[Any, Any]], low: Any, high: Any, groups: int) -> float:
    """How much of a sorted file is read for values in some ranges: what lies there, and at least a row group each."""
    inside = [(max(a, low), min(b, high)) for a, b in ranges if a <= high and b >= low]
    return min(1.0, sum(float(b - a + 1) / float(high - low + 1) + 1 / groups for a, b in inside))


Within = Callable[[str, str, Region], float]
"""about which share of a table is read for the values of a column, at best"""


def no_share(table: str, column: str, region: Region) -> float:
    return 0.0


class KnownKeys:
    """The join keys of small deltas, for plan/restrict. `part` gives a delta's rows, or a part of them, if small."""

    def __init__(
        self,
        part: Callable[[str, State], pa.Table | None],
        sizes: Mapping[str, int],
        far_bytes: int = 0,
        within: Within = no_share,
    ) -> None:
        self.part = part
        self.sizes = sizes
        self.far_bytes = far_bytes
        self.within = within
        self.found: dict[tuple[str, State, str], Region | None] = {}

    def worth(self, table: str) -> bool:
        return self.sizes.get(table, 0) >= LARGE_BYTES

    def helps(self, table: str, column: str, region: Region) -> bool:
        return self.within(table, column, region) <= MOST

    def far(self, table: str) -> bool:
        return table in self.sizes and self.sizes[table] >= self.far_bytes

    def keys(self, table: str, state: State, column: str) -> Region | None:
        asked = (table, state, column)
        if asked not in self.found:
            rows = self.part(table, state)
            self.found[asked] = None
            if rows is not None and column in rows.column_names:
                self.found[asked] = region(rows.column(column))
        return self.found[asked]

"""A small extent on the driver: the refresh operator over Arrow tables, written by one commit without a Spark job.

Laws: V ⊔ □V for states, (V ▷ V_new) ⊎ V_new for groups that are replaced, V ∸ ∇V ⊎ ΔV for rows; the same as
rewrite.py and plan/merge.py say in SQL. What Arrow computes otherwise than Spark is left to Spark: `fits` tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollview.capture.net import row_codes, unsigned_zero
from rollview.change import Applied
from rollview.deltas.change_table import Update, Updates
from rollview.names import COUNT

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIMPLE = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_date,
    pa.types.is_timestamp,
)
EXTREMES = {Update.LEAST: pc.min_element_wise, Update.GREATEST: pc.max_element_wise}


def fits(schema: pa.Schema, updates: Updates) -> bool:
    """Do Arrow and Spark agree on these columns? Of NaN and other numbers they do not find the same least."""
    if not all(any(test(field.type) for test in SIMPLE) for field in schema):
        return False
    return not any(u in EXTREMES and pa.types.is_floating(schema.field(s).type) for s, u in updates.items())


def conformed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows in the extent's types, where they have its columns."""
    typed = {
        n: c.cast(schema.field(n).type) if n in schema.names else c
        for n, c in zip(rows.column_names, rows.columns, strict=True)
    }
    return pa.table(typed)


def merged_states(
    old: pa.Table, change: pa.Table, key: Sequence[str], updates: Updates, *, keep_empty: bool
) -> tuple[pa.Table, Applied]:
    """V ⊔ □V; raises ArrowInvalid where a state overflows."""
    at = places(old, change, key)
    there = pa.array(at >= 0)
    stored, moved = old.take(pa.array(at[at >= 0])), change.filter(there)
    states = {s: combined(u, stored.column(s), moved.column(s)) for s, u in updates.items()}
    changed = pa.table({**{k: stored.column(k) for k in key}, **states}).select(old.column_names)
    fresh = change.filter(pc.invert(there))
    if not keep_empty:
        changed, fresh = counting(changed), counting(fresh)
    applied = Applied(fresh.num_rows, changed.num_rows, stored.num_rows - changed.num_rows)
    return together([rest(old, at), changed, fresh], old.schema), applied


def replaced_groups(
    old: pa.Table, groups: pa.Table, key: Sequence[str], *, keep_empty: bool
) -> tuple[pa.Table, Applied]:
    """(V ▷ V_new) ⊎ V_new: `groups` take the place of the rows with the same key; a count of zero only deletes."""
    at = places(old, groups, key)
    fresh = groups if keep_empty else counting(groups)
    there, updated = int((at >= 0).sum()), counted_at(groups, at, keep_empty=keep_empty)
    applied = Applied(fresh.num_rows - updated, updated, there - updated)
    return together([rest(old, at), fresh], old.schema), applied


def counted_at(groups: pa.Table, at: NDArray[np.int64], *, keep_empty: bool) -> int:
    """How many groups take the place of a row."""
    stays = np.ones(len(at), dtype=bool) if keep_empty else groups.column(COUNT).to_numpy() != 0
    return int(((at >= 0) & stays).sum())


def changed_rows(old: pa.Table, change: pa.Table, key: Sequence[str]) -> tuple[pa.Table, Applied]:
    """V ∸ ∇V ⊎ ΔV: of the rows with the same key as one that is lost, so many go as its count says."""
    counts = change.column(COUNT).to_numpy()
    rows = change.select(old.column_names)
    gained = rows.take(pa.array(np.repeat(np.arange(len(counts)), np.maximum(counts, 0))))
    lost = rows.filter(pa.array(counts < 0))
    here, there = codes(old, lost, key)
    goes = np.zeros(len(here) + len(there), dtype=np.int64)
    np.add.at(goes, there, -counts[counts < 0])
    stays = copies(here) >= goes[here]
    kept = old.filter(pa.array(stays))
    return together([kept, gained], old.schema), Applied(gained.num_rows, 0, old.num_rows - kept.num_rows)


def combined(update: Update, old: pa.ChunkedArray, change: pa.ChunkedArray) -> pa.ChunkedArray:
    """A state with its change; NULL is no change and no state, as for the aggregate functions."""
    if update is Update.REPLACE:
        return change
    if update in EXTREMES:
        return EXTREMES[update](old, change, skip_nulls=True)
    kind = old.type
    if pa.types.is_decimal(kind):
        wide = pa.decimal256(kind.precision + 1, kind.scale)
        total = pc.add_checked(old.cast(wide), change.cast(wide)).cast(kind)
    elif update is Update.XOR:
        total = pc.bit_wise_xor(old, change)
    else:
        total = pc.add_checked(old, change)
    return pc.coalesce(total, old, change)


def places(old: pa.Table, change: pa.Table, key: Sequence[str]) -> NDArray[np.int64]:
    """For each row of the change the row of `old` with the same key, or -1."""
    here, there = codes(old, change, key)
    first = np.full(len(here) + len(there), -1, dtype=np.int64)
    first[here] = np.arange(old.num_rows)
    return first[there]


def rest(old: pa.Table, at: NDArray[np.int64]) -> pa.Table:
    """The rows of `old` at no place."""
    stays = np.ones(old.num_rows, dtype=bool)
    stays[at[at >= 0]] = False
    return old.filter(pa.array(stays))


def copies(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each number how many equal ones are before it."""
    order = np.argsort(numbers, kind="stable")
    run = numbers[order]
    start = np.searchsorted(run, run, side="left")
    found = np.empty(len(numbers), dtype=np.int64)
    found[order] = np.arange(len(numbers)) - start
    return found


def counting(groups: pa.Table) -> pa.Table:
    return groups.filter(pc.not_equal(groups.column(COUNT), 0))


def codes(left: pa.Table, right: pa.Table, key: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of two tables' keys that are equal iff the keys are, each less than there are rows."""
    if not key:
        return np.zeros(left.num_rows, dtype=np.int64), np.zeros(right.num_rows, dtype=np.int64)
    both = pa.concat_tables([left.select(list(key)), right.select(list(key))])
    found = row_codes(pa.table([unsigned_zero(c) for c in both.columns], both.column_names))
    return found[: left.num_rows], found[left.num_rows :]


def together(parts: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([p.select(schema.names).cast(schema) for p in parts])

"""Apply on in-memory bags: what the MERGE of the real apply must amount to."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rollview.names import COUNT
from rollview.plan.extent import Extent, Kind

if TYPE_CHECKING:
    from rollview.algebra.evaluate import Row
    from rollview.algebra.interpreter import Bag


def apply_change(extent: Extent, stored: Bag, change: Bag, *, inserts_only: bool, may_miss: bool = False) -> Bag:
    """The stored rows after the change, and a check that the change is of the form its kind promises."""
    if extent.kind is Kind.AGGREGATE:
        return add_states(extent, stored, change)
    if may_miss:
        change = found(extent, stored, change)
    return add_rows(extent, stored, change, inserts_only=inserts_only)


def found(extent: Extent, stored: Bag, change: Bag) -> Bag:
    """A change without the deletions that find no row of their key; a MERGE looks at nothing but the key."""
    assert extent.kind is Kind.KEYED
    places = [extent.columns.index(k) for k in extent.key]
    by_key = {tuple(row[p] for p in places): row for row in stored}
    result: Bag = Counter()
    for (*row, count), n in change.items():
        key = tuple(row[p] for p in places)
        if count > 0:
            result[(*row, count)] += n
        elif key in by_key:
            result[(*by_key[key], -1)] = 1
    return result


def add_states(extent: Extent, stored: Bag, change: Bag) -> Bag:
    """State + change by key; a group whose count reaches zero goes, unless the aggregate is global."""
    assert extent.aggregate is not None
    width = len(extent.key)
    counter = extent.columns.index(COUNT) - width
    groups: dict[Row, Row] = {row[:width]: row[width:] for row in stored}
    for row, n in change.items():
        assert n == 1, f"a change table has one row per key: {row} occurs {n} times"
        key, moved = row[:width], row[width:]
        old = groups.get(key, (0,) * len(moved))
        groups[key] = tuple(a + b for a, b in zip(old, moved, strict=True))
        assert groups[key][counter] >= 0, f"negative support for {key}"
    keep_empty = not extent.aggregate.grouped
    return Counter({k + states: 1 for k, states in groups.items() if states[counter] or keep_empty})


def add_rows(extent: Extent, stored: Bag, change: Bag, *, inserts_only: bool) -> Bag:
    """Signed counts added; never negative; with a key, at most one row for each."""
    result: Bag = Counter(stored)
    for (*row, count), n in change.items():
        assert count > 0 or not inserts_only, "a deletion where only insertions can occur"
        assert count != 0 and (n == 1 or inserts_only), "the change is not net"
        result[tuple(row)] += count * n
    assert all(n >= 0 for n in result.values()), "a row that is not there was deleted"
    result = Counter({row: n for row, n in result.items() if n})
    if extent.kind is Kind.KEYED:
        places = [extent.columns.index(k) for k in extent.key]
        keys = Counter(tuple(row[p] for p in places) for row in result.elements())
        assert all(n == 1 for n in keys.values()), f"two rows for one key of {extent.key}"
    return result

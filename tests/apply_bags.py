"""Apply on in-memory bags: what the MERGE of the real apply must amount to."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rollview.deltas.change_table import Update
from rollview.names import COUNT
from rollview.plan import rederive
from rollview.plan.extent import Extent, Kind
from rollview.plan.group_reserve import CROWDED
from rollview.plan.stages import CHANGED, EXTENT, FRESH, SETTLED, SUSPECT, SUSPECTS

if TYPE_CHECKING:
    from rollview.algebra.evaluate import Row
    from rollview.algebra.interpreter import Bag
    from rollview.algebra.relation import Relation
    from rollview.plan.group_reserve import GroupReserve
    from rollview.plan.maintain import Maintenance


Bound = dict[str, tuple[tuple[str, ...], "Bag"]]
"""Relations that a maintenance query scans beside the base tables."""
Run = Callable[["Relation", Bound], "Bag"]


def rolled(extent: Extent, plan: Maintenance, stored: Bag, run: Run) -> Bag:
    """The stored rows after the change: the stages of a refresh, and checks that each is what it promises."""
    assert plan.change is not None
    change = run(plan.change, {})
    if extent.kind is not Kind.AGGREGATE:
        if extent.group_reserve is not None:
            change = refilled(extent.group_reserve, plan, stored, change, run)
        if plan.may_miss:
            change = found(extent, stored, change)
        return add_rows(extent, stored, change, inserts_only=plan.inserts_only)
    once(change, "a change table has one row per key")
    if not plan.rederives:
        return add_states(extent, stored, change)
    return replace_groups(extent, stored, replacing(extent, plan, stored, change, run))


def replacing(extent: Extent, plan: Maintenance, stored: Bag, change: Bag, run: Run) -> Bag:
    """The rows that take the places of the changed groups."""
    assert plan.change is not None
    before = {EXTENT: (extent.columns, stored), CHANGED: (plan.change.names, change)}
    wanted = rederive.settled(extent, always=plan.always)
    settled = run(wanted, before)
    bound: Bound = {SETTLED: (wanted.names, settled)}
    suspects = run(rederive.suspects(extent), bound)
    if suspects:
        names = rederive.suspects(extent).names
        fresh = run(rederive.rederived(extent), {SUSPECTS: (names, suspects)})
        assert len(fresh) == len(suspects), "every suspect is a group of the view"
        bound[FRESH] = (extent.columns, fresh)
    return run(rederive.replaced(extent, fresh=bool(suspects)), bound)


def refilled(reserve: GroupReserve, plan: Maintenance, stored: Bag, change: Bag, run: Run) -> Bag:
    """The change of all rows as that of the stored ones."""
    columns = (*reserve.columns, COUNT)
    extent: Bound = {EXTENT: (reserve.columns, stored)}
    wanted = reserve.placed(always=plan.always)
    bound: Bound = {**extent, SETTLED: (wanted.names, run(wanted, {**extent, CHANGED: (columns, change)}))}
    suspects, crowded = (run(reserve.flagged(flag), bound) for flag in (SUSPECT, CROWDED))
    bound |= {SUSPECTS: (reserve.groups, suspects), CROWDED: (reserve.groups, crowded)}
    return run(reserve.corrected(suspects=bool(suspects), crowded=bool(crowded)), bound)


def added(extent: Extent, stored: Bag, change: Bag) -> Bag:
    """The stored rows and a change that adds up with them."""
    if extent.kind is Kind.AGGREGATE:
        return add_states(extent, stored, change)
    return add_rows(extent, stored, change, inserts_only=False)


def once(rows: Bag, promise: str) -> None:
    assert all(n == 1 for n in rows.values()), promise


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
    """State ⊕ change by key; a group whose count reaches zero goes, unless the aggregate is global."""
    assert extent.states is not None
    width = len(extent.key)
    counter = extent.columns.index(COUNT) - width
    groups: dict[Row, Row] = {row[:width]: row[width:] for row in stored}
    updates = [UPDATES[s.update] for s in extent.states.all]
    for row in change:
        key, moved = row[:width], row[width:]
        old = groups.get(key)
        groups[key] = moved if old is None else tuple(u(a, b) for u, a, b in zip(updates, old, moved, strict=True))
        assert groups[key][counter] >= 0, f"negative support for {key}"
    return Counter({k + states: 1 for k, states in groups.items() if states[counter] or not extent.key})


def extreme(pick: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: pick((v for v in (a, b) if v is not None), default=None)


UPDATES: dict[Update, Callable[[Any, Any], Any]] = {
    Update.ADD: operator.add,
    Update.XOR: operator.xor,
    Update.LEAST: extreme(min),
    Update.GREATEST: extreme(max),
}


def replace_groups(extent: Extent, stored: Bag, rows: Bag) -> Bag:
    """New rows take the place of those with the same key; `__count` 0 means that there is none, unless global."""
    once(rows, "a group is replaced once")
    width, counter = len(extent.key), extent.columns.index(COUNT)
    groups = {row[:width]: row for row in stored} | {row[:width]: row for row in rows}
    return Counter({row: 1 for row in groups.values() if row[counter] or not extent.key})


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

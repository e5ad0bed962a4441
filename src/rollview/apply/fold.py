"""A managed table is the extent of the identity view over its own change log: this brings it up to its log.

The log is the write-ahead log. Whoever finds a table behind its last committed tick folds the missing ticks in, one
commit each; the commit carries the tick, so a fold is never done twice.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.apply.compact import compact
from rollview.apply.merge import Applier
from rollview.capture.net import counted
from rollview.catalog import ControlStore, TableChange
from rollview.catalog.held import held
from rollview.catalog.stored import Stored
from rollview.change import Change
from rollview.lake.lake import Lake
from rollview.lake.predicates import equal
from rollview.limits import USUAL, Limits
from rollview.names import COUNT, PROPERTY_TICK, TICK
from rollview.plan.emit import ident
from rollview.steps import reached

FOLDING = "__folding"


def fold(lake: Lake, control: ControlStore, stored: Stored, limits: Limits = USUAL) -> None:
    """Apply every committed tick of the log that the table does not have yet."""
    done, after = held(lake, control, stored)
    for tick, change in sorted(control.ticks.changes_of(stored.name, done, control.ticks.last_tick()).items()):
        fold_tick(lake, stored, tick, change, limits, after)
        reached("fold.merged")
        snapshot = lake.commit(stored.extent)
        assert snapshot is not None and snapshot.snapshot_id is not None
        control.marks.record_extent(stored.name, tick, snapshot.snapshot_id)
        compact(lake, control, stored, tick, laid_out_by(stored))
        after = lake.unmoved(stored.extent, None).metadata.current_snapshot_id or 0


def settle(lake: Lake, control: ControlStore, stored: Stored, upto: int, limits: Limits = USUAL) -> None:
    """Before the table is read at a tick: a writer may have died, or be busy, between its commit and the fold."""
    done = control.marks.mark(stored.name).applied_tick or 0
    if done < upto and control.ticks.totals_of(stored.name, done, upto).rows:
        with control.leases.hold("writer", wait=120.0):
            fold(lake, control, stored, limits)


def laid_out_by(stored: Stored) -> tuple[str, ...]:
    """The columns that a managed table's rows are sorted by."""
    return tuple(stored.definition.get("cluster") or stored.base.key or ())


def fold_tick(lake: Lake, stored: Stored, tick: int, change: TableChange, limits: Limits, after: int) -> None:
    columns = [c.name for c in stored.base.columns]
    order = laid_out_by(stored)
    properties = {PROPERTY_TICK: str(tick)}
    applier = Applier(lake, stored.extent, properties, limits=limits, after=after, solid=stored.base.key or ())
    small = change.inserted + change.deleted <= limits.small_rows
    try:
        found = read(lake, stored, tick, columns, small=small, netted=bool(change.deleted))
        if not small and not change.deleted:
            gained = applier.selected(found, columns)
            lake.append(stored.extent, gained, properties, order=order, spread=True, after=after)
            return
        keyed = stored.base.key is not None
        key = stored.base.key or tuple(columns)
        applier.rows(found, key, columns, unique=keyed, inserts_only=not change.deleted, order=order)
    finally:
        lake.unbind([FOLDING])


def read(lake: Lake, stored: Stored, tick: int, columns: list[str], *, small: bool, netted: bool) -> Change:
    """One tick of the log; with `netted`, equal rows of a bag as one row with their count."""
    netted = netted and stored.base.key is None
    if small:
        rows = lake.scan(stored.log, equal(TICK, tick), [*columns, COUNT]).select([*columns, COUNT])
        rows = counted(rows) if netted else rows
        return Change(lambda: lake.bind(FOLDING, rows), rows)
    names = [exp.Column(this=ident(c)) for c in columns]
    count: exp.Expr = exp.Column(this=ident(COUNT))
    this_tick = exp.EQ(this=exp.Column(this=ident(TICK)), expression=exp.Literal.number(tick))
    query = exp.select(*names).from_(stored.log.tree()).where(this_tick)
    if netted:
        query = query.group_by(*(n.copy() for n in names))
        count = exp.Sum(this=count)
    return Change(lambda: lake.bind(FOLDING, query.select(exp.alias_(count, COUNT, quoted=True))), None)

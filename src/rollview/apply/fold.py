"""A managed table is the extent of the identity view over its own change log: this brings it up to its log.

The log is the write-ahead log. Whoever finds a table behind its last committed tick folds the missing ticks in, one
commit each; the commit carries the tick, so a fold is never done twice.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from sqlglot import exp

from rollview.apply.merge import Applier, Change
from rollview.capture.net import row_codes
from rollview.catalog import ControlStore, TableChange
from rollview.catalog.stored import Stored
from rollview.lake.lake import Lake
from rollview.lake.predicates import equal
from rollview.limits import USUAL, Limits
from rollview.names import COUNT, PROPERTY_TICK, TICK
from rollview.plan.emit import ident
from rollview.steps import reached

FOLDING = "__folding"


def fold(lake: Lake, control: ControlStore, stored: Stored, limits: Limits = USUAL) -> None:
    """Apply every committed tick of the log that the table does not have yet."""
    commit = lake.commit(stored.extent)
    done = commit.number(PROPERTY_TICK) if commit is not None else 0
    mark = control.marks.mark(stored.name)
    if commit is not None and commit.snapshot_id is not None and done > (mark.applied_tick or 0):
        control.marks.record_extent(stored.name, done, commit.snapshot_id)  # the commit is believed
    for tick, change in sorted(control.ticks.changes_of(stored.name, done, control.ticks.last_tick()).items()):
        fold_tick(lake, stored, tick, change, limits)
        reached("fold.merged")
        snapshot = lake.commit(stored.extent)
        assert snapshot is not None and snapshot.snapshot_id is not None
        control.marks.record_extent(stored.name, tick, snapshot.snapshot_id)


def fold_tick(lake: Lake, stored: Stored, tick: int, change: TableChange, limits: Limits) -> None:
    columns = [c.name for c in stored.base.columns]
    order = tuple(stored.definition.get("cluster") or stored.base.key or ())
    rows = None
    if change.inserted + change.deleted <= limits.small_rows:
        rows = lake.scan(stored.log, equal(TICK, tick), [*columns, COUNT]).select([*columns, COUNT])
        name = lake.bind(FOLDING, rows)
    else:
        names = [exp.Column(this=ident(c)) for c in (*columns, COUNT)]
        this_tick = exp.EQ(this=exp.Column(this=ident(TICK)), expression=exp.Literal.number(tick))
        name = lake.bind(FOLDING, exp.select(*names).from_(stored.log.tree()).where(this_tick))
    properties = {PROPERTY_TICK: str(tick)}
    try:
        applier = Applier(lake, stored.extent, properties, limits=limits)
        if not change.deleted:
            lake.append(
                stored.extent,
                applier.selected(Change(name, rows), columns),
                properties,
                order=order,
                spread=rows is None,
            )
            return
        unique = stored.base.key is not None
        if rows is not None and not unique:
            rows = counted(rows)
            name = lake.bind(FOLDING, rows)
        key = stored.base.key or tuple(columns)
        applier.rows(Change(name, rows), key, columns, unique=unique, inserts_only=False)
    finally:
        lake.unbind([FOLDING])


def counted(rows: pa.Table) -> pa.Table:
    """Equal elementary rows as one row with their count."""
    columns = rows.drop_columns([COUNT])
    codes = row_codes(columns)
    shown, first = np.unique(codes, return_index=True)
    totals = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    np.add.at(totals, codes, rows.column(COUNT).to_numpy())
    return columns.take(pa.array(first)).append_column(COUNT, pa.array(totals[shown], pa.int64()))

"""The stored view delta of a view that other views read: what changed in its rows, as readers see them.

Written before the extent's commit. If the process dies in between, the log is ahead of the extent, and `repair` takes
the rows back before the next refresh writes its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from sqlglot import exp

from rollview.algebra.relation import (
    Aggregate,
    Filter,
    Function,
    Generate,
    Measure,
    Project,
    Relation,
    Scan,
    SemiJoin,
    State,
    UnionAll,
    Window,
    keep,
)
from rollview.algebra.scalar import Scalar, col, conjunction, equal
from rollview.apply.merge import Change
from rollview.catalog.stored import Stored
from rollview.deltas.signed import Signed, rows_as
from rollview.lake.lake import Lake
from rollview.lake.predicates import above
from rollview.names import COUNT, PREFIX, PROPERTY_TICK, TICK
from rollview.plan.compile import CompiledView
from rollview.plan.emit import emit
from rollview.plan.extent import EXTENT, Extent
from rollview.plan.maintain import net
from rollview.steps import reached

CHANGED = "__changed"


class ViewLog:
    """The change log of one view; `needed` only where another view reads it."""

    def __init__(self, lake: Lake, view: Stored) -> None:
        self.lake = lake
        self.view = view

    @property
    def needed(self) -> bool:
        return bool(self.view.definition.get("logged"))

    def repair(self, applied: int) -> None:
        """Take back what a dead refresh logged beyond the tick that the extent holds."""
        if not self.needed:
            return
        commit = self.lake.commit(self.view.log)
        if commit is not None and commit.number(PROPERTY_TICK) > applied:
            self.lake.load(self.view.log).delete(
                above(TICK, applied), snapshot_properties={PROPERTY_TICK: str(applied)}
            )
            reached("refresh.repaired")

    def write(self, view: CompiledView, change: Change, before: exp.Table, upto: int, *, may_miss: bool) -> None:
        query = emit(
            view_delta(view.extent, may_miss=may_miss),
            lambda scan: (change.name if scan.table == CHANGED else before).copy(),
        )
        properties = {PROPERTY_TICK: str(upto)}
        if change.rows is None:
            self.lake.append_delta(self.view.log, self.lake.run(query), upto, properties)
            return
        rows = elementary(self.lake.fetch(query))
        if rows.num_rows:
            stamped = rows.append_column(TICK, pa.array(np.full(rows.num_rows, upto), pa.int64()))
            self.lake.append_small(self.view.log, stamped, properties)


def elementary(rows: pa.Table) -> pa.Table:
    """Counts of more than one as several rows."""
    counts = rows.column(COUNT).to_numpy()
    at = np.repeat(np.arange(len(counts)), np.abs(counts))
    taken = rows.drop_columns([COUNT]).take(pa.array(at))
    return taken.append_column(COUNT, pa.array(np.sign(counts[at]), pa.int64()))


def view_delta(extent: Extent, *, may_miss: bool = False) -> Relation:
    """Δ of the view's visible rows, from the change of its extent and the extent before it."""
    if extent.states is None:
        changed: Relation = Scan(CHANGED, tuple((c, c) for c in (*extent.columns, COUNT)))
        if may_miss:
            changed = found(extent, changed)
        shown = extent.reader.names
        return net(Signed(keep(changed, (*shown, COUNT))))
    states = tuple(s.name for s in extent.states.all)
    marked = tuple((k, f"{PREFIX}of_{k}") for k in extent.key)
    before = Scan(EXTENT, tuple((c, c) for c in (*extent.key, *states)), State.BEFORE)
    old: Relation = before
    if extent.key and not extent.reads_all:
        keys = Scan(CHANGED, marked)
        same = conjunction(equal(col(k), col(m)) for k, m in marked)
        assert same is not None
        old = SemiJoin(before, keys, same)
    change = Scan(CHANGED, tuple((c, c) for c in (*extent.key, *states)))
    both = UnionAll((old, change), (*extent.key, *states))
    summed = Aggregate(
        both,
        tuple((k, col(k)) for k in extent.key),
        tuple(Measure(s, Function.SUM, col(s)) for s in states),
        grouped=bool(extent.key),
    )
    new: Relation = summed
    if extent.key:
        new = Filter(summed, Scalar(exp.GT(this=col(COUNT).tree, expression=exp.Literal.number(0))))
    lost, gained = (rows_as(read(extent.reader, rows), n) for rows, n in ((old, -1), (new, 1)))
    return net(Signed(UnionAll((lost, gained), (*extent.reader.names, COUNT))))


def found(extent: Extent, changed: Relation) -> Relation:
    """The change, without the deletions that find nothing in the extent."""
    before = Scan(EXTENT, tuple((c, c) for c in extent.columns), State.BEFORE)
    marked = tuple((f"{PREFIX}of_{k}", col(k)) for k in extent.key)
    lost = Project(Filter(changed, Scalar(exp.LT(this=col(COUNT).tree, expression=exp.Literal.number(0)))), marked)
    same = conjunction(equal(col(k), col(m)) for k, (m, _) in zip(extent.key, marked, strict=True))
    assert same is not None
    gained = Filter(changed, Scalar(exp.GT(this=col(COUNT).tree, expression=exp.Literal.number(0))))
    return UnionAll((gained, rows_as(SemiJoin(before, lost, same), -1)), changed.names)


def read(reader: Relation, rows: Relation) -> Relation:
    """The reader over other rows of the extent's form."""
    match reader:
        case Scan():
            return rows
        case Filter():
            return Filter(read(reader.source, rows), reader.predicate)
        case Generate() | Window():
            return replace(reader, source=read(reader.source, rows))
        case Project():
            return Project(read(reader.source, rows), reader.columns)
    raise TypeError(type(reader).__name__)

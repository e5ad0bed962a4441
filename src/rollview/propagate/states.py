"""The state of a relation at a tick, as something that FROM can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sqlglot
from sqlglot import exp

from rollview.algebra.clock import read_clock
from rollview.algebra.relation import Project, Relation, Scan
from rollview.algebra.scalar import Scalar, col
from rollview.capture.attached import reader_of
from rollview.capture.clock import reading_at
from rollview.capture.evolve import followed, selected
from rollview.capture.iceberg import EMPTY
from rollview.capture.iceberg.types import columns_of
from rollview.catalog import ControlStore
from rollview.catalog.stored import Stored
from rollview.errors import SourceError
from rollview.frontend.references import rebound
from rollview.frontend.time_filters import at_reading, clock_columns
from rollview.lake.arrow import arrow_schema
from rollview.lake.lake import Lake
from rollview.lake.refs import to_table
from rollview.names import CLOCK, delta_view
from rollview.plan.compile import CompiledView
from rollview.plan.emit import emit, ident
from rollview.propagate.standing import stands
from rollview.propagate.view_delta import ViewDelta

PRESENT = "present"
"""the access of a table that is never read as of a version"""
NONE = "none"
"""the access of a table that is read when a view over it is made, and never again"""

CompiledOf = Callable[[Stored], CompiledView | None]
"""a view, compiled; None if it is kept by recompute"""


class States:
    """Reads relations as of a tick. Temporary views that it makes are dropped by `close`."""

    def __init__(
        self,
        lake: Lake,
        control: ControlStore,
        relations: Mapping[str, Stored],
        compiled: CompiledOf,
        *,
        first: bool = False,
    ) -> None:
        self.lake = lake
        self.control = control
        self.relations = relations
        self.compiled = compiled
        self.first = first
        """is a view being made?"""
        self.bound: set[str] = set()

    def at(self, name: str, tick: int) -> exp.Table:
        """The relation's rows at a tick, as something that FROM can read."""
        if name == CLOCK:
            return self.keep(delta_view(name, f"at{tick}"), reading_at(self.control, tick).row)
        target = self.relations[name]
        if target.relation.kind == "view":
            return self.keep(delta_view(name, f"at{tick}"), self.view_at(target, tick))
        if target.definition.get("access") == PRESENT:
            return self.present(target, tick)
        if target.definition.get("access") == NONE and not self.first:
            raise SourceError(
                f"{target.name} cannot be read, only its changes are known",
                code="RV-NO-ACCESS",
                hint="views over it are kept from its changes alone",
            )
        snapshot = self.snapshot(target, tick)
        if snapshot is None or snapshot == EMPTY:
            return self.keep(delta_view(name, f"at{tick}"), arrow_schema(target.base.columns).empty_table())
        managed = target.relation.kind == "table"
        source = versioned(target.extent.tree() if managed else to_table(target.definition["table"]), snapshot)
        if managed and "fields" not in target.definition:
            return source  # it never had other columns
        there = (
            columns_of(self.lake.schema_at(target.extent, snapshot))
            if managed
            else reader_of(self.lake, target).columns_at(snapshot)
        )
        now, types = followed(target, there), {c.name: c.type for c in target.base.columns}
        if list(now.items()) == [(c.name, c) for c in there] and all(types[c.name] == c.type for c in there):
            return source
        return self.keep(delta_view(name, f"at{tick}"), selected(source, now, types))

    def lost(self, name: str, tick: int) -> bool:
        """Has the snapshot of an attached table at a tick expired?"""
        target = self.relations[name]
        if target.relation.kind != "attached" or name == CLOCK:
            return False
        snapshot = self.snapshot(target, tick)
        return snapshot is not None and snapshot != EMPTY and not reader_of(self.lake, target).has(snapshot)

    def present(self, target: Stored, tick: int) -> exp.Table:
        """A table that shows only its present, which is its state at the tick if nothing has changed since."""
        last = self.control.ticks.last_tick()
        if self.control.ticks.ticks_between(tick, last, [target.name]):
            raise SourceError(
                f"{target.name} shows only its present, and has changed since tick {tick}",
                code="RV-PRESENT-ONLY",
                hint="propagate its changes, and read the views over it at that tick",
            )
        return target.extent.tree()

    def snapshot(self, target: Stored, tick: int) -> int | None:
        """The Iceberg snapshot that holds a table at a tick; None if it was still empty."""
        relation = target.relation
        if relation.kind == "attached":
            known, first = self.control.ticks.snapshot_of(relation.name, tick), relation.created_tick + 1
        else:
            found = self.control.marks.extent_snapshot(relation.name, tick)
            known, first = found.snapshot_id if found else None, relation.created_tick
        if known is None and tick < first:
            raise SourceError(
                f"{relation.name} has no state at tick {tick}",
                code="RV-NO-STATE",
                hint=f"it is known since tick {first}",
            )
        return known

    def view_at(self, view: Stored, tick: int) -> Any:
        """A view as it is stored, or rolled there by its view delta, or its SQL where neither leads."""
        found = stands(self.control, view.name, tick)
        if found is not None:
            return reader_at(view, found.snapshot_id)
        rolled = self.rolled(view, tick)
        if rolled is None:
            return self.lake.run(self.computed(view, tick))
        return reader_over(view, self.keep(delta_view(view.name, f"rolled{tick}"), rolled))

    def extent_at(self, view: Stored, tick: int) -> exp.Table:
        """The extent's own rows at a tick where it stood or can be rolled to."""
        found = stands(self.control, view.name, tick)
        if found is not None:
            return versioned(view.extent.tree(), found.snapshot_id)
        rolled = self.rolled(view, tick)
        if rolled is None:
            raise SourceError(f"{view.name} has no state at tick {tick}", code="RV-NO-STATE")
        return self.keep(delta_view(view.name, f"rolled{tick}"), rolled)

    def summands_at(self, view: Stored, tick: int, small_rows: int) -> exp.Table:
        """Rows that add up to the extent's at a tick: those of the extent, and of the view delta since.

        At most `small_rows` of the latter are read on the driver."""
        found = stands(self.control, view.name, tick)
        mark = self.control.marks.mark(view.name)
        if found is not None or mark.applied_tick is None or mark.extent_snapshot is None or tick < mark.applied_tick:
            return self.extent_at(view, tick)
        delta = ViewDelta(self.lake, self.control, view)
        names = [exp.Column(this=ident(c)) for c in delta.layout.names]
        here = exp.select(*names).from_(versioned(view.extent.tree(), mark.extent_snapshot))
        span = (mark.applied_tick, tick)
        waiting: Any = delta.query(*span)
        if delta.count(*span) <= small_rows:
            waiting = delta.layout.net(delta.rows(*span))
        since = self.keep(delta_view(view.name, f"waiting{tick}"), waiting)
        both = exp.Union(this=here, expression=exp.select(*(n.copy() for n in names)).from_(since), distinct=False)
        return self.keep(delta_view(view.name, f"summands{tick}"), both)

    def rolled(self, view: Stored, tick: int) -> exp.Query | None:
        """The extent plus the view delta, if that leads to the tick. Nothing is applied."""
        mark = self.control.marks.mark(view.name)
        delta = ViewDelta(self.lake, self.control, view)
        if mark.applied_tick is None or mark.extent_snapshot is None or not delta.kept:
            return None
        if tick not in delta.reach(mark.applied_tick):
            return None
        return delta.extent_at(tick, mark.applied_tick, versioned(view.extent.tree(), mark.extent_snapshot))

    def clocked(self, node: Relation, tick: Callable[[Scan], int]) -> Relation:
        """The relation with the clock's readings at the ticks of its scans, as literals."""
        return read_clock(node, lambda scan: {n: Scalar(t) for n, t in self.reading(tick(scan)).items()})

    def reading(self, tick: int) -> Mapping[str, exp.Expr]:
        return reading_at(self.control, tick).literals

    def evaluated(self, node: Relation, tick: int) -> exp.Query:
        """A relation over the states at a tick."""
        return emit(self.clocked(node, lambda _: tick), lambda scan: self.at(scan.table, tick))

    def computed(self, view: Stored, tick: int) -> exp.Query | str:
        """A view's rows from what it reads: by its own SQL, or as rollview reads it where that is one of several
        readings, or Spark has none."""
        compiled = self.compiled(view)
        if compiled is None or compiled.determined:
            return self.defined(view, tick)
        names = zip(compiled.output, compiled.definition.names, strict=True)
        return self.evaluated(Project(compiled.definition, tuple((c.name, col(n)) for c, n in names)), tick)

    def defined(self, view: Stored, tick: int) -> str:
        """A view's own SQL over the states at a tick, and at the reading of the clock there."""
        sql = view.text
        return self.query(at_reading(sql, self.reading(tick)) if clock_columns(sql) else sql, tick)

    def query(self, sql: str, tick: int) -> str:
        """A user's own SQL over the states at a tick."""
        return rebound(sql, lambda name: self.at(name, tick) if name in self.relations else None)

    def keep(self, name: str, rows: Any) -> exp.Table:
        self.bound.add(name)
        return self.lake.bind(name, rows)

    def close(self) -> None:
        self.lake.unbind(self.bound)
        self.bound.clear()


def versioned(tree: exp.Table, snapshot: int) -> exp.Table:
    copy = tree.copy()
    copy.set("version", exp.Version(this="VERSION", expression=exp.Literal.number(snapshot), kind="AS OF"))
    return copy


def reader_over(view: Stored, rows: exp.Table) -> exp.Expr:
    """The reader's query over other rows of the extent's form."""
    query = sqlglot.parse_one(view.definition["reader"], read="spark")
    for found in list(query.find_all(exp.Table)):
        other = rows.copy()
        other.set("alias", found.args.get("alias"))
        found.replace(other)
    return query


def reader_at(view: Stored, snapshot: int) -> exp.Expr:
    """The reader's query over an earlier state of the extent."""
    query = sqlglot.parse_one(view.definition["reader"], read="spark")
    for found in list(query.find_all(exp.Table)):
        found.replace(versioned(found, snapshot))
    return query

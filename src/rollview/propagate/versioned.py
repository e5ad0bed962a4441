"""Propagation over base tables that can be read as of a version: one query per changed input, no compensation.

A span's deltas come from the change logs. Small ones are read without Spark and netted on the driver, which tells
exactly what kinds of change there are (so terms that must be empty are left out); large ones stay in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlglot import exp

from rollview.algebra.relation import Relation, Scan, State
from rollview.capture.clock import reading_at
from rollview.capture.net import net, row_codes
from rollview.catalog import ControlStore
from rollview.catalog.stored import Stored
from rollview.errors import BrokenInvariant
from rollview.lake.lake import Lake
from rollview.lake.predicates import Predicate, span
from rollview.lake.regions import KnownKeys
from rollview.limits import USUAL, Limits
from rollview.names import CLOCK, COUNT, TICK, delta_view
from rollview.plan.compile import CompiledView
from rollview.plan.emit import emit, ident, table
from rollview.plan.images import seen
from rollview.plan.merge import column
from rollview.plan.region import Region
from rollview.plan.restrict import restrict
from rollview.plan.stages import CHANGED, waypoint
from rollview.plan.visible import view_delta, whole_delta
from rollview.plan.waypoints import passed, waypoints
from rollview.propagate.layout import elementary
from rollview.propagate.log_rows import log_rows
from rollview.propagate.states import CompiledOf, States
from rollview.propagate.view_delta import ViewDelta
from rollview.rules.dispatch import Shape


def nobody(view: Stored) -> CompiledView | None:
    raise BrokenInvariant(f"nobody compiles {view.name}", code="RV-NOT-COMPILED")


@dataclass(frozen=True, slots=True)
class Span:
    """(since, upto]: the ticks that one step covers."""

    since: int
    upto: int

    def holds(self, tick: int) -> bool:
        return self.since < tick <= self.upto


@dataclass(slots=True)
class Delta:
    """A table's delta over the span: on the driver if small, else a query over its log."""

    shape: Shape
    rows: pa.Table | None
    logged: int
    """rows in the log, before netting"""
    updates: pa.Table | None = None
    """the rows whose keys are in both states; None if the delta is not on the driver, or has no key"""

    def part(self, state: State) -> pa.Table | None:
        return self.updates if state is State.UPDATES else self.rows


class Versioned:
    """Binds every scan of a maintenance query for one span."""

    def __init__(
        self,
        lake: Lake,
        control: ControlStore,
        relations: Mapping[str, Stored],
        span: Span,
        *,
        limits: Limits = USUAL,
        compiled: CompiledOf = nobody,
    ) -> None:
        self.lake = lake
        self.control = control
        self.relations = relations
        self.span = span
        self.small_rows = limits.small_rows
        self.compiled = compiled
        self.states = States(lake, control, relations, compiled)
        self.deltas: dict[str, Delta] = {}
        self.parts: dict[tuple[str, State], Callable[[], pa.Table | exp.Query]] = {}
        """parts of deltas that are only bound if a query reads them"""
        self.waypoints: dict[str, pa.Table] = {}
        """rows on the way of the change"""

    def read(self, scans: Iterable[Scan]) -> dict[str, Shape]:
        """Load the deltas of the tables that changed; what kinds of change each has."""
        wanted: dict[str, list[str]] = {}
        for scan in scans:
            columns = wanted.setdefault(scan.table, [])
            columns.extend(c for c, _ in scan.columns if c not in columns)
        for name, columns in wanted.items():
            stored = self.relations[name]
            logged = self.logged(stored)
            if logged == (0, 0):
                continue
            key = stored.base.key or ()
            columns.extend(k for k in key if k not in columns)
            self.deltas[name] = self.delta(stored, columns, logged)
        return {name: d.shape for name, d in self.deltas.items() if d.shape.changed}

    @property
    def small(self) -> bool:
        """Is every delta on the driver?"""
        return all(d.rows is not None for d in self.deltas.values())

    def logged(self, stored: Stored) -> tuple[int, int]:
        """Rows gained and lost in the span, as the unit of work counted them; for a view, at most so many."""
        if stored.relation.kind == "view":
            rows = self.lake.rows_in(stored.log, self.condition())
            return rows, rows
        totals = self.control.ticks.totals_of(stored.name, self.span.since, self.span.upto)
        return totals.inserted, totals.deleted

    def delta(self, stored: Stored, columns: list[str], logged: tuple[int, int]) -> Delta:
        inserted, deleted = logged
        if stored.name == CLOCK:
            return self.moved_clock(stored, columns, inserted + deleted)
        keyed = stored.base.key is not None
        view = ViewDelta(self.lake, self.control, stored)
        if view.kept and view.layout.images:
            return self.imaged(stored, columns, inserted)
        if view.keeps_states:
            return self.derived(stored, columns, inserted)
        if inserted + deleted > self.small_rows:
            shape = Shape(inserted > 0, deleted > 0, keyed and inserted > 0 and deleted > 0)
            self.bind_large(stored, columns)
            return Delta(shape, None, inserted + deleted)
        there = [*self.logged_as(stored, columns), COUNT]
        rows = self.lake.scan_shared(stored.log, self.condition(), there)
        return self.bind_small(stored, net(rows.rename_columns([*columns, COUNT])), inserted + deleted)

    def logged_as(self, stored: Stored, columns: list[str]) -> list[str]:
        """Columns as the log has them: a view delta has those of the extent, whatever readers see them called."""
        if not ViewDelta(self.lake, self.control, stored).kept:
            return columns
        compiled = self.compiled(stored)
        assert compiled is not None
        return [compiled.extent.stored_names[c] for c in columns]

    def moved_clock(self, stored: Stored, columns: list[str], logged: int) -> Delta:
        """The reading before the span and the one after it; nothing if they are the same in these columns."""
        before, after = (reading_at(self.control, t).row.select(columns) for t in (self.span.since, self.span.upto))
        rows = pa.concat_tables([before, after]).append_column(COUNT, pa.array([-1, 1], pa.int64()))
        return self.bind_small(stored, net(rows), logged)

    def imaged(self, view: Stored, columns: list[str], logged: int) -> Delta:
        """What readers of groups that are replaced saw change."""
        compiled = self.compiled(view)
        assert compiled is not None
        delta = ViewDelta(self.lake, self.control, view)
        since, upto = self.span.since, self.span.upto
        if compiled.extent.reads_all:
            before, after = (self.states.extent_at(view, t) for t in (since, upto))
            query = emit(whole_delta(compiled.extent), lambda s: (before if s.at is State.BEFORE else after).copy())
        else:
            moved: pa.Table | exp.Query = delta.layout.net_query(delta.query(since, upto))
            if logged <= self.small_rows:
                moved = delta.layout.net(delta.rows(since, upto))
            changed = self.states.keep(delta_view(view.name, CHANGED), moved)
            query = emit(seen(compiled.extent).relation, lambda _: changed.copy())
        rows = elementary(self.lake.fetch(query)).select([*columns, COUNT])
        return self.bind_small(view, net(rows), logged)

    def derived(self, view: Stored, columns: list[str], logged: int) -> Delta:
        """What readers of an aggregate saw change: its groups before the span and after it, where a state moved."""
        compiled = self.compiled(view)
        assert compiled is not None
        delta = ViewDelta(self.lake, self.control, view)
        since, upto = self.span.since, self.span.upto
        moved: pa.Table | exp.Query = delta.layout.net_query(delta.query(since, upto))
        if logged <= self.small_rows:
            moved = delta.layout.net(delta.rows(since, upto))
        changed = self.states.keep(delta_view(view.name, CHANGED), moved)
        whole = compiled.extent.reads_all
        before = self.states.extent_at(view, since) if whole else self.states.summands_at(view, since, self.small_rows)
        query = emit(
            view_delta(compiled.extent).relation, lambda scan: (changed if scan.table == CHANGED else before).copy()
        )
        rows = elementary(self.lake.fetch(query)).select([*columns, COUNT])
        return self.bind_small(view, net(rows), logged)

    def condition(self) -> Predicate:
        """The span's rows, without those of transactions that never committed."""
        orphans = self.control.ticks.open_ticks(self.span.since, self.span.upto)
        return span(TICK, self.span.since, self.span.upto, orphans)

    def bind_small(self, stored: Stored, rows: pa.Table, logged: int) -> Delta:
        counts = rows.column(COUNT).to_numpy()
        name = stored.name.lower()
        self.parts[name, State.DELTA] = lambda: rows
        if stored.base.key is None:
            return Delta(Shape(bool((counts > 0).any()), bool((counts < 0).any()), updates=False), rows, logged)
        codes = row_codes(rows.select(list(stored.base.key)))
        both = np.intersect1d(codes[counts > 0], codes[counts < 0])
        updated = np.isin(codes, both)
        removed = ~updated & (counts < 0)
        updates = rows.filter(pa.array(updated))
        self.parts[name, State.UPDATES] = lambda: updates
        self.parts[name, State.REMOVED] = lambda: rows.filter(pa.array(removed)).drop_columns([COUNT])
        shape = Shape(bool((~updated & (counts > 0)).any()), bool(removed.any()), bool(updated.any()))
        return Delta(shape, rows, logged, updates)

    def bind_large(self, stored: Stored, columns: list[str]) -> None:
        name = stored.name.lower()
        delta = self.states.keep(delta_view(name, State.DELTA.value), self.log_query(stored, columns))
        key = stored.base.key
        if key is not None:
            self.parts[name, State.UPDATES] = lambda: by_sign(delta, columns, key, opposite=True)
            self.parts[name, State.REMOVED] = lambda: by_sign(delta, columns, key, opposite=False)

    def log_query(self, stored: Stored, columns: list[str]) -> exp.Query:
        """The span's rows by Spark; net where the table has a key, so that each key is old, new or both."""
        there = self.logged_as(stored, columns)
        names = [exp.Column(this=ident(c)) for c in there]
        count = exp.Column(this=ident(COUNT))
        shown = [exp.alias_(n.copy(), c, quoted=True) for n, c in zip(names, columns, strict=True)]
        query = log_rows(self.control, stored, (), self.span.since, self.span.upto).select(*shown)
        if stored.base.key is None:
            return query.select(count)
        total = exp.Sum(this=count)
        netted = query.select(exp.alias_(total, COUNT, quoted=True)).group_by(*names)
        return netted.having(exp.NEQ(this=total.copy(), expression=exp.Literal.number(0)))

    def known(self, sizes: Mapping[str, int], far_bytes: int) -> KnownKeys:
        """What the deltas say of the keys to look up, in tables of the given sizes."""

        def part(name: str, state: State) -> pa.Table | None:
            return self.waypoints[name] if name in self.waypoints else self.deltas[name].part(state)

        def within(name: str, column: str, region: Region) -> float:
            relation = self.relations[name]
            return self.lake.within(relation.extent, column, region) if relation.relation.kind == "table" else 0.0

        return KnownKeys(part, sizes, far_bytes, within)

    def through(self, change: Relation, known: KnownKeys) -> Relation:
        """The change, its waypoints computed: one query for each. Too many rows, or types that the driver cannot carry,
        stay where they are."""
        change, refused = self.clocked(change), set[Relation]()
        while found := [w for w in waypoints(change, known) if w not in refused]:
            names: dict[Relation, str] = {}
            for few in found:
                query = emit(restrict(few, known), self.bind, lookups=True)
                rows = self.lake.fetch_plain(query, self.small_rows + 1)
                if rows is None or rows.num_rows > self.small_rows:
                    refused.add(few)
                    continue
                names[few] = name = waypoint(len(self.waypoints))
                self.waypoints[name] = rows
            change = passed(change, names)
        return change

    def bind(self, scan: Scan) -> exp.Table:
        """What a scan of the maintenance query reads."""
        if scan.table in self.waypoints:
            return self.states.keep(scan.table, self.waypoints[scan.table])
        if scan.at in (State.DELTA, State.UPDATES, State.REMOVED):
            name = delta_view(scan.table, scan.at.value)
            if (scan.table, scan.at) in self.parts:
                self.states.keep(name, self.parts.pop((scan.table, scan.at))())
            return table(name)
        return self.states.at(scan.table, self.tick_of(scan))

    def clocked(self, node: Relation) -> Relation:
        """The relation with the clock's readings, as literals."""
        return self.states.clocked(node, self.tick_of)

    def tick_of(self, scan: Scan) -> int:
        return self.span.since if scan.at is State.BEFORE else self.span.upto

    def lost(self, scan: Scan) -> bool:
        """Has the state that a scan reads expired?"""
        return scan.at in (State.BEFORE, State.AFTER) and self.states.lost(scan.table, self.tick_of(scan))

    def close(self) -> None:
        self.states.close()


def by_sign(delta: exp.Table, columns: list[str], key: tuple[str, ...], *, opposite: bool) -> exp.Query:
    """Rows whose key also occurs with the other sign; or lost rows whose key does not, as plain rows."""

    def is_(alias: str, comparison: type[exp.Binary]) -> exp.Expr:
        return comparison(this=column(alias, COUNT), expression=exp.Literal.number(0))

    same = [exp.NullSafeEQ(this=column("e", k), expression=column("d", k)) for k in key]
    other = exp.alias_(delta.copy(), "e", table=True)
    selected = [column("d", c) for c in columns]
    outer = exp.select(*selected).from_(exp.alias_(delta.copy(), "d", table=True))
    inner = exp.select(exp.Literal.number(1)).from_(other).where(*same)
    if not opposite:
        gone = exp.Not(this=exp.Exists(this=inner.where(is_("e", exp.GT))))
        return outer.where(is_("d", exp.LT), gone)
    signs = exp.NEQ(this=exp.Paren(this=is_("e", exp.GT)), expression=exp.Paren(this=is_("d", exp.GT)))
    return outer.select(column("d", COUNT)).where(exp.Exists(this=inner.where(signs)))

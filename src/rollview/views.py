"""Views as the warehouse keeps them: compiled, created, forgotten."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlglot import exp

from rollview.algebra.relation import State
from rollview.algebra.schema import Schema, Tables
from rollview.algebra.walking import scans
from rollview.apply.first_rows import computed
from rollview.catalog import ColumnInfo, ControlStore, HistoryRow
from rollview.catalog.stored import Stored, bytes_of, fingerprint, stored
from rollview.errors import BadInput, BrokenInvariant, NotYetSupported, RecomputeRefused, SourceError
from rollview.frontend.parse import parse_query
from rollview.frontend.references import Seen, is_ours, references
from rollview.frontend.refuse import bad
from rollview.frontend.scalars import Scalars
from rollview.frontend.time_filters import calls, clock_function
from rollview.lake.arrow import check_types
from rollview.lake.jobs import JobCounter
from rollview.lake.lake import Lake
from rollview.lake.statements import columns_of
from rollview.lake.tables import LOG_PROPERTIES
from rollview.lake.typer import SparkTyper
from rollview.names import CLOCK, PROPERTY_PLAN, PROPERTY_TICK, PROPERTY_VIEW
from rollview.plan.compile import CompiledView, check_output, compile_view
from rollview.plan.cost import Work, estimate
from rollview.plan.emit import emit, sql
from rollview.plan.extent import adds_up, holds
from rollview.plan.maintain import maintain
from rollview.plan.parts import Kept, nothing_kept
from rollview.plan.redefine import answered
from rollview.plan.timing import summarised
from rollview.propagate.asked import can_be_asked
from rollview.propagate.layout import Layout
from rollview.propagate.states import NONE, PRESENT, States
from rollview.report import Report
from rollview.rules.dispatch import Shape
from rollview.steps import reached

POLICIES = ("auto", "incremental", "strict", "full")
TEXTS = {"sql": "sees", "stored_for": "stored_sees"}
"""in a definition: queries, and the columns that they see of tables which have others now"""
Checked = tuple[CompiledView | None, str | None]
"""a compiled view, or the reason why it can only be recomputed"""


class Views:
    """Compiles views once per process and makes their extents."""

    def __init__(self, lake: Lake, control: ControlStore, typer: SparkTyper) -> None:
        self.lake = lake
        self.control = control
        self.typer = typer
        self._compiled: dict[tuple[int, str], CompiledView | None] = {}

    def reads(self, text: str, relations: Mapping[str, Stored]) -> list[str]:
        """The warehouse relations that a query names."""
        tree = parse_query(text)
        found = [t.name.lower() for t in references(tree) if is_ours(t) and t.name.lower() in relations]
        return list(dict.fromkeys([*found, *([CLOCK] if calls(tree) and CLOCK in relations else [])]))

    def check(self, text: str, policy: str, relations: Mapping[str, Stored], kept: Kept = nothing_kept) -> Checked:
        """The compiled view, or why it can only be recomputed; policies that forbid that refuse here."""
        closed = {n for n in self.reads(text, relations) if relations[n].definition.get("access") == NONE}
        try:
            compiled = compile_view(text, {n: s.base for n, s in relations.items()}, self.typer, kept)
            self.check_stored(compiled)
            if policy != "full":
                refuse_uncompensated(compiled, [relations[n] for n in self.reads(text, relations)])
        except NotYetSupported as error:
            if policy == "strict":
                raise RecomputeRefused(
                    error.message, code=error.code, position=error.position, hint=error.hint
                ) from None
            self.admit_recompute(text, relations)
            refuse_reading(closed)
            return None, error.code
        if closed and policy != "full":
            closed &= read_again(compiled, {n: s.base for n, s in relations.items()})
        refuse_reading(closed)
        return compiled, None

    def check_stored(self, compiled: CompiledView) -> None:
        """Can each column be stored, also those that readers do not see? Without the latter it can be recomputed."""
        check_types(compiled.output)
        try:
            check_types(self.typer.relation(compiled.extent.rows))
        except BadInput as error:
            message = f"a column that is stored beside those of the view: {error.message}"
            raise NotYetSupported(message, code=error.code, hint=error.hint) from None

    def admit_recompute(self, text: str, relations: Mapping[str, Stored]) -> None:
        """A recompute, too, needs a query that has one meaning, over relations whose changes are known."""
        tree = parse_query(text)
        for node in references(tree):
            if not is_ours(node) or node.name.lower() not in relations:
                raise bad(
                    f"there is no table or view {node.name!r} in the warehouse",
                    "RV-UNKNOWN-TABLE",
                    node,
                    "create it with create_table, or attach it",
                )
        scalars = Scalars(self.typer.is_builtin)
        for call in (c for c in tree.find_all(exp.Func) if clock_function(c) is None):
            with suppress(NotYetSupported):
                scalars.check_function(call)
        check_types(self.typer.query(text))

    def states(self, relations: Mapping[str, Stored], *, first: bool = False) -> States:
        def reading(view: Stored) -> CompiledView | None:
            return None if outdated(view, relations) else self.compiled(view, relations)

        return States(self.lake, self.control, relations, reading, first=first)

    def compiled(self, view: Stored, relations: Mapping[str, Stored]) -> CompiledView | None:
        if outdated(view, relations):
            raise SourceError(
                f"a column that {view.name} reads is gone, or has another type",
                code="RV-SCHEMA-CHANGED",
                hint=f"wh.refresh({view.name!r}) builds it anew where its query still holds; else replace it",
            )
        known = (view.relation.id, str(view.definition["fingerprint"]))
        if known not in self._compiled:
            compiled = None
            if view.definition.get("recompute_reason") is None:
                compiled = self.compile(view, {n: s.base for n, s in relations.items()})
            self._compiled[known] = compiled
        return self._compiled[known]

    def compile(self, view: Stored, bases: Tables) -> CompiledView:
        """The view over its parts, and over the rows that were stored for an earlier query of it, if they stayed."""
        parts = view.definition.get("parts", {})
        known = view.definition
        compiled, *stored_for = (
            compile_view(known[text], seen_by(bases, known.get(seen, {})), self.typer, lambda part, *_: parts.get(part))
            for text, seen in TEXTS.items()
            if text in known
        )
        found = answered(compiled, stored_for[0].extent) if stored_for else compiled
        if found is None:
            raise BrokenInvariant(f"{view.name} does not fit the rows that are stored for it", code="RV-STORED-FOR")
        return found

    def forget(self, name: str) -> None:
        self._compiled.clear()

    def create(
        self,
        name: str,
        text: str,
        policy: str,
        checked: Checked,
        relations: Mapping[str, Stored],
        reads: Sequence[str],
        tick: int,
        known: Mapping[str, Any],
    ) -> Report:
        """Register, compute, show: in this order, so that a crash leaves something that recovery can drop.

        What will replace another view is not shown yet, and not ready."""
        started, clock = datetime.now(UTC), time.perf_counter()
        compiled, reason = checked
        output = compiled.output if compiled is not None else self.typer.query(text)
        check_output(output)
        columns = [ColumnInfo(c.name, c.type, c.nullable) for c in output]
        definition: dict[str, Any] = {
            "sql": text,
            "policy": policy,
            "recompute_reason": reason,
            "uses": columns_used(compiled, {n: relations[n].base for n in reads}),
            "fingerprint": fingerprint(text, tuple(c.name for c in output)),
            **known,
        }
        relation = self.control.relations.create(
            name,
            "view",
            columns,
            key=compiled.extent.visible_key if compiled is not None else None,
            definition=definition,
            created_tick=tick,
            reads=reads,
        )
        reached("create_view.registered")
        view = stored(relation)
        jobs = JobCounter(self.lake.spark)
        with jobs.here():
            self.compute(view, compiled, relations, output, tick)
        reached("create_view.computed")
        reader = self.reader(view, compiled)
        self.control.relations.update_definition(name, {**definition, "reader": sql(reader)})
        reached("create_view.defined")
        if "replaces" not in known:
            self.lake.create_view(name, reader)
            reached("create_view.shown")
            self.control.relations.set_state(name, "ready")
        report = Report(
            name,
            "recompute",
            reason,
            0,
            tick,
            inserted=self.lake.live_rows(view.extent),
            seconds=time.perf_counter() - clock,
            jobs=jobs.count,
            predicted=self.predicted(view, relations, reads),
        )
        if "replaces" not in known:
            self.record(report, started)
        return report

    def record(self, made: Report, started: datetime) -> None:
        """A creation counts as the first recompute."""
        self.control.history.record_refresh(
            HistoryRow(
                view=made.view,
                started=started,
                strategy="create",
                seconds=made.seconds,
                reason=made.reason,
                since=made.since,
                upto=made.upto,
                inserted=made.inserted,
                jobs=made.jobs,
                predicted_cost=made.predicted,
                model_cost=made.predicted,
                actual_cost=made.seconds,
            )
        )

    def predicted(self, view: Stored, relations: Mapping[str, Stored], reads: Sequence[str]) -> float:
        """What the cost model says of the creation, which was the first recompute."""
        read = sum(bytes_of(self.lake, relations[n]) for n in reads)
        return estimate(Work(0, read, 0, self.lake.bytes(view.extent), 0)).recompute

    def start_logging(self, upstream: Stored, relations: Mapping[str, Stored]) -> None:
        """A view that another view reads keeps its own view delta from now on."""
        if upstream.relation.kind == "view" and not upstream.definition.get("logged"):
            upstream = self.start_delta(upstream, relations)
            if "delta" not in upstream.definition:
                self.lake.create_log(upstream.log, upstream.base.columns)
            reached("start_logging.created")
            self.control.relations.update_definition(upstream.name, {**upstream.definition, "logged": True})

    def start_delta(self, view: Stored, relations: Mapping[str, Stored]) -> Stored:
        """From now on the view has a place for its view delta, if its changes can be stored ahead of it.

        A part is never ahead for long, and its view reads what readers see: so it logs that where groups are replaced.
        """
        compiled = self.compiled(view, relations)
        if {"delta", "logged"} & view.definition.keys() or compiled is None or not holds(compiled.extent):
            return view
        if "part_of" in view.definition and not adds_up(compiled.extent):
            return view
        columns = self.lake.schema(self.lake.select_all(view.extent.tree()))
        layout = Layout.for_extent(compiled.extent, columns)
        self.lake.drop(view.log)
        self.lake.create_table(view.log, layout.delta, LOG_PROPERTIES)
        reached("start_delta.created")
        return stored(self.control.relations.update_definition(view.name, {**view.definition, "delta": layout.plain()}))

    def compute(
        self, view: Stored, compiled: CompiledView | None, relations: Mapping[str, Stored], output: Schema, tick: int
    ) -> None:
        states = self.states(relations, first=True)
        try:
            properties = {
                PROPERTY_TICK: str(tick),
                PROPERTY_VIEW: view.name,
                PROPERTY_PLAN: view.definition["fingerprint"],
            }
            if compiled is None:
                self.write(view, self.lake.run(states.defined(view, tick)), properties)
            else:
                order = compiled.extent.layout
                query = states.evaluated(compiled.extent.rows, tick)
                with computed(self.lake, compiled.extent, query) as (rows, said):
                    self.write(view, rows, {**properties, **said}, order)
        finally:
            states.close()
        reached("create_view.written")
        commit = self.lake.commit(view.extent)
        assert commit is not None and commit.snapshot_id is not None
        self.control.marks.record_extent(view.name, tick, commit.snapshot_id)

    def write(self, view: Stored, rows: Any, properties: Mapping[str, str], order: Sequence[str] = ()) -> None:
        self.lake.create_extent(view.extent, columns_of(rows))
        self.lake.overwrite(view.extent, rows, properties, order=order)

    def reader(self, view: Stored, compiled: CompiledView | None) -> exp.Query:
        """What the Iceberg view of the user's name reads of the extent; any Spark with the catalog can."""
        if compiled is not None:
            return emit(compiled.extent.reader, lambda _: view.extent.tree())
        return self.lake.select_all(view.extent.tree())


def seen_by(bases: Tables, seen: Seen) -> Tables:
    """The tables as a query sees them that was made over other columns."""
    return {n: replace(t, seen=tuple((c, name) for c, name in seen[n])) if n in seen else t for n, t in bases.items()}


def read_again(view: CompiledView, bases: Tables) -> set[str]:
    """The tables that the maintenance of a view reads beside their changes, whatever these are."""
    plan = maintain(view, {n: Shape(updates=bases[n].key is not None) for n in view.reads}, bases)
    anew = plan.rederives or view.extent.followed is not view.extent.rows
    found = plan.scans | (frozenset(scans(view.definition)) if anew else frozenset())
    return {s.table for s in found if s.at in (State.BEFORE, State.AFTER)}


def refuse_uncompensated(compiled: CompiledView, reads: Sequence[Stored]) -> None:
    """Over tables that show only their present what can be asked again and taken back is kept from changes."""
    if not any(r.definition.get("access") == PRESENT for r in reads):
        return
    summed = adds_up(compiled.extent) and can_be_asked(summarised(compiled))
    if not summed or any(r.relation.kind == "view" for r in reads):
        raise NotYetSupported(
            "a view that is no union of joins, over a table that shows only its present, cannot be maintained from "
            "changes yet",
            code="RV-PRESENT-VIEW",
            hint="selections, projections, inner joins and unions of tables, and sums over them, can be compensated",
        )


def refuse_reading(tables: set[str]) -> None:
    if tables:
        raise BadInput(
            f"the view cannot be kept from changes alone: it needs rows of {', '.join(sorted(tables))}",
            code="RV-NO-ACCESS",
            hint="a view that needs no other rows, or a table that can be read",
        )


def columns_used(compiled: CompiledView | None, bases: Tables) -> dict[str, dict[str, str]]:
    """The columns that a view reads of each relation, with their types; all of them if it is only recomputed."""
    types = {name: {c.name: c.type for c in base.columns} for name, base in bases.items()}
    if compiled is None:
        return types
    found: dict[str, dict[str, str]] = {}
    for scan in scans(compiled.definition):
        read = {column for column, _ in scan.columns}
        found.setdefault(scan.table, {}).update({c: t for c, t in types[scan.table].items() if c in read})
    return found


def outdated(view: Stored, relations: Mapping[str, Stored]) -> bool:
    """Has a column that the view reads gone, or got another type, since it was made?"""
    return any(
        used.items() - {(c.name, c.type) for c in relations[name].base.columns}
        for name, used in view.definition["uses"].items()
    )

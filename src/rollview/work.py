"""One piece of work on one view: where the view stands, how a change is computed and applied, what is noted of it.

The extent's own commit carries the tick that it holds; it is believed before the control database. So each step may be
repeated, and a process may die between any two of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property

from sqlglot import exp

from rollview.algebra.relation import Aggregate, Relation
from rollview.apply.compact import compact
from rollview.apply.merge import Applier
from rollview.below import Below
from rollview.capture.net import summed
from rollview.catalog import ControlStore, HistoryRow
from rollview.catalog.held import held
from rollview.catalog.stored import Stored
from rollview.change import Applied, Change
from rollview.lake.jobs import JobCounter
from rollview.lake.lake import Lake
from rollview.lake.regions import KnownKeys
from rollview.limits import USUAL, Limits
from rollview.names import PROPERTY_PLAN, PROPERTY_TICK, PROPERTY_VIEW
from rollview.plan.compile import CompiledView
from rollview.plan.cost import Estimate
from rollview.plan.emit import emit
from rollview.plan.extent import Kind, core
from rollview.plan.maintain import Maintenance
from rollview.plan.restrict import restrict
from rollview.propagate.settle import Settle
from rollview.propagate.states import CompiledOf
from rollview.propagate.versioned import Span, Versioned, nobody
from rollview.propagate.view_delta import ViewDelta
from rollview.report import Report
from rollview.steps import reached

CHANGE = "__change"


class ViewWork:
    """Keeps time and counts jobs as it goes."""

    def __init__(
        self,
        lake: Lake,
        control: ControlStore,
        relations: Mapping[str, Stored],
        view: Stored,
        compiled: CompiledView | None,
        *,
        policy: str | None = None,
        limits: Limits = USUAL,
        compiled_of: CompiledOf = nobody,
    ) -> None:
        self.lake = lake
        self.control = control
        self.relations = relations
        self.view = view
        self.compiled = compiled
        self.policy = policy or str(view.definition["policy"])
        self.limits = limits
        self.compiled_of = compiled_of
        self.below = Below(lake, control, relations, view)
        self.phases: dict[str, float] = {}
        self.jobs = JobCounter(lake.spark)
        self.predicted: Estimate | None = None
        self.delta_rows = 0
        self.rederived = 0
        """groups that were derived from the base tables"""
        self.sizes: dict[str, int] = {}
        self.after: int | None = None
        """the extent's snapshot that the work goes on from"""
        self.said: dict[str, str] = {}
        """what the extent's next commit says of its rows beside their tick"""

    # --- where the view stands ------------------------------------------------------------------------

    @cached_property
    def delta(self) -> ViewDelta:
        return ViewDelta(self.lake, self.control, self.view)

    def since(self) -> int:
        """The tick that the extent holds. A commit that the control database missed is entered there now."""
        if self.delta.kept or self.view.definition.get("logged"):
            self.delta.look()
        found = held(self.lake, self.control, self.view)
        self.after = found.snapshot_id
        return found.tick

    # --- a change: computed, then applied ------------------------------------------------------------

    def query(self, change: Relation, known: KnownKeys, versioned: Versioned, spread: Sequence[str] = ()) -> exp.Query:
        """What computes a change, near the deltas; these may be large."""
        small = versioned.small
        near = versioned.through(change, known) if small else versioned.clocked(change)
        return emit(restrict(near, known), versioned.bind, lookups=small, spread=spread)

    def computed(self, plan: Maintenance, known: KnownKeys, versioned: Versioned) -> Change:
        """The change on the driver if it is small, else kept inside Spark; net in either case."""
        assert plan.change is not None
        if versioned.small:
            made = plan.gross or plan.change
            grouped = isinstance(core(made), Aggregate)
            rows = self.lake.fetch(
                self.query(made, known, versioned), limit=self.limits.small_rows + 1, grouped=grouped
            )
            if rows.num_rows <= self.limits.small_rows:
                rows = summed(rows) if plan.gross is not None else rows
                return Change(lambda: versioned.states.keep(CHANGE, rows), rows)
        frame = self.lake.persisted(self.query(plan.change, known, versioned))
        return Change(lambda: versioned.states.keep(CHANGE, frame), None)

    @property
    def order(self) -> tuple[str, ...]:
        """What the rows of the extent are sorted by."""
        return self.compiled.extent.layout if self.compiled is not None else ()

    def applier(self, span: Span) -> Applier:
        solid = self.compiled.extent.solid if self.compiled is not None else ()
        return Applier(
            self.lake, self.view.extent, self.properties(span), limits=self.limits, after=self.after, solid=solid
        )

    def settled(self, plan: Maintenance, change: Change, versioned: Versioned, before: exp.Table) -> Change:
        """The rows that take the places of the changed groups, where the change table does not tell everything."""
        assert self.compiled is not None
        settle = Settle(self.lake, versioned, before, self.compiled.extent)
        replaced = settle.replaced(change, self.sizes, always=plan.always)
        self.rederived += settle.rederived
        return replaced

    def apply(self, applier: Applier, plan: Maintenance, change: Change) -> Applied:
        assert self.compiled is not None
        extent = self.compiled.extent
        if plan.rederives:
            return applier.groups(change, extent.key, extent.columns)
        if plan.kind is Kind.AGGREGATE and extent.states is not None:
            return applier.states(change, extent.key, extent.states.updates)
        unique = plan.kind is Kind.KEYED
        return applier.rows(
            change, extent.key, extent.columns, unique=unique, inserts_only=plan.inserts_only, order=self.order
        )

    @property
    def most(self) -> int:
        """How many rows of the extent the driver may write anew; none where that is for Spark to do."""
        if self.lake.bytes(self.view.extent) > self.limits.rewrite_bytes:
            return 0
        return self.limits.small_rows if self.lake.small_schema(self.view.extent) is not None else 0

    # --- bookkeeping ----------------------------------------------------------------------------------

    def properties(self, span: Span) -> dict[str, str]:
        return {
            PROPERTY_TICK: str(span.upto),
            PROPERTY_VIEW: self.view.name,
            PROPERTY_PLAN: str(self.view.definition.get("fingerprint", "")),
            **self.said,
        }

    def note(self, tick: int) -> None:
        """The control database follows the extent."""
        commit = self.lake.commit(self.view.extent)
        if commit is not None and commit.snapshot_id is not None:
            self.control.marks.record_extent(self.view.name, tick, commit.snapshot_id)

    def merged(self, span: Span) -> None:
        reached("refresh.merged")
        self.note(span.upto)
        reached("refresh.noted")
        with self.phase("compact"):
            compact(self.lake, self.control, self.view, span.upto, self.order)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        clock = time.perf_counter()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.perf_counter() - clock

    def record(
        self,
        started: datetime,
        clock: float,
        span: Span,
        strategy: str,
        reason: str | None,
        applied: Applied,
        error: str | None = None,
    ) -> Report:
        seconds = time.perf_counter() - clock
        predicted = model = None
        if self.predicted is not None:
            predicted, model = self.predicted.of(strategy)
        report = Report(
            self.view.name,
            strategy,
            reason,
            span.since,
            span.upto,
            self.delta_rows,
            applied.inserted,
            applied.updated,
            applied.deleted,
            seconds,
            dict(self.phases),
            self.jobs.count,
            predicted,
            self.rederived,
        )
        self.control.history.record_refresh(
            HistoryRow(
                view=self.view.name,
                started=started,
                strategy=strategy,
                seconds=seconds,
                reason=reason,
                since=span.since,
                upto=span.upto,
                delta_rows=self.delta_rows,
                inserted=applied.inserted,
                updated=applied.updated,
                deleted=applied.deleted,
                phases=dict(self.phases),
                jobs=self.jobs.count,
                predicted_cost=predicted,
                actual_cost=seconds,
                model_cost=model,
                plan_fingerprint=str(self.view.definition.get("fingerprint", "")),
                error=error,
            )
        )
        return report

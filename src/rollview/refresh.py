"""Refresh: propagate, then apply. One view, one span, one commit; from the change, or everything anew."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from sqlglot import exp

from rollview.algebra.walking import scans
from rollview.apply.first_rows import chosen, computed, moved, said, stock_at
from rollview.apply.log import ViewLog
from rollview.apply.merge import Applier
from rollview.change import Applied, Change
from rollview.deltas.change_table import Updates
from rollview.errors import BadInput, RecomputeRefused, RollviewError, SourceError
from rollview.forecast import Forecast
from rollview.lake.errors import FAILING, UNPLANNED
from rollview.plan.cost import Estimate
from rollview.plan.emit import emit
from rollview.plan.extent import Kind, stored
from rollview.plan.maintain import Maintenance, maintain
from rollview.plan.region import Region
from rollview.plan.reserve import FULL, USED, Stock
from rollview.plan.restrict import origins
from rollview.plan.stages import CHANGED
from rollview.plan.visible import changed_rows
from rollview.propagate.refill import Refill
from rollview.propagate.states import States
from rollview.propagate.versioned import Span, Versioned
from rollview.report import Report
from rollview.steps import reached
from rollview.work import ViewWork

REDERIVE_AFTER = 200
"""incremental refreshes of a floating-point sum before it is derived anew"""
AFTER = "__after"


class Refresh(ViewWork):
    """One refresh of one view."""

    decided: Estimate | None = None
    """whoever left the view's parts behind has decided for a recompute"""
    deferred = False
    """is the change only logged, and applied some other time?"""

    # --- the command ----------------------------------------------------------------------------------

    def run(self, upto: int, since: int | None = None) -> Report:
        """One step to a tick, from the one that the extent holds or that its view delta has reached."""
        started, clock = datetime.now(UTC), time.perf_counter()
        since = self.since() if since is None else since
        span = Span(since, upto)
        if upto <= since:
            return Report(self.view.name, "none", None, since, since, seconds=time.perf_counter() - clock)
        try:
            with self.jobs.here():
                strategy, reason, applied = self.step(span)
        except RollviewError as error:
            self.record(started, clock, span, "failed", error.code, Applied(0, 0, 0), error=error.message)
            raise
        return self.record(started, clock, span, strategy, reason, applied)

    def step(self, span: Span) -> tuple[str, str | None, Applied]:
        log = ViewLog(self.lake, self.view, self.delta)
        if not self.below.changed(span):
            return "none", None, self.unchanged(log, span)
        if (foregone := self.foregone(span)) is not None:
            self.predicted, self.delta_rows = foregone, foregone.rows
            return "recompute", "RV-CHEAPER", self.recompute(span)
        forced = self.forced_recompute(span)
        if forced is not None:
            return "recompute", forced, self.recompute(span)
        assert self.compiled is not None
        log.repair(span.since)
        versioned = Versioned(
            self.lake, self.control, self.relations, span, limits=self.limits, compiled=self.compiled_of
        )
        try:
            with self.phase("read"):
                shapes = versioned.read(scans(self.compiled.definition))
                self.delta_rows = sum(
                    d.rows.num_rows if d.rows is not None else d.logged for d in versioned.deltas.values()
                )
            stock = stock_at(self.lake, self.view.extent, self.after) if self.compiled.extent.reserve else None
            bound = stock.bound if stock is not None else None
            bases = {n: s.base for n, s in self.relations.items()}
            ahead = log.needed and self.delta.kept
            plan = maintain(self.compiled, shapes, bases, bound=bound, stored=ahead, own=self.view.name.lower())
            if plan.change is None:
                return "incremental", None, self.unchanged(log, span)
            if any(versioned.lost(scan) for scan in plan.scans):
                return "recompute", self.admitted("RV-SNAPSHOT-EXPIRED"), self.recompute(span)
            assert self.forecast is not None
            self.sizes = self.forecast.sizes
            self.predicted, better = self.forecast.better(plan, self.delta_rows)
            if self.free and better:
                return "recompute", better, self.recompute(span)
            if self.compiled.extent.reserve is not None:
                return "incremental", *self.first_rows(plan, stock, versioned, log, span)
            return "incremental", None, self.incremental(plan, versioned, log, span)
        except (BadInput, SourceError) as error:
            # A change also meets rows of another state, and its query is another one than the view's. Where those of
            # one state are at fault, or the view's own query, a recompute says so.
            reason = "RV-UNDEFINED" if error.code in FAILING else UNPLANNED if error.code == UNPLANNED else None
            if reason is None or self.policy == "strict" or self.below.closed():
                raise
            return "recompute", reason, self.recompute(span)
        finally:
            versioned.close()

    @cached_property
    def forecast(self) -> Forecast | None:
        if self.compiled is None:
            return None
        return Forecast(self.lake, self.control, self.relations, self.view, self.compiled)

    @property
    def free(self) -> bool:
        """May costs decide?"""
        return self.policy == "auto" and not self.below.closed()

    def foregone(self, span: Span) -> Estimate | None:
        """What is predicted of both ways, where past refreshes say that a recompute is cheaper."""
        if self.decided is not None:
            return self.decided
        return self.forecast.foregone(span.since, span.upto) if self.free and self.forecast is not None else None

    def unchanged(self, log: ViewLog, span: Span) -> Applied:
        """The extent is right as it is."""
        log.cover(span.since, span.upto)
        if not self.deferred:
            self.note(span.upto)
        return Applied(0, 0, 0)

    def forced_recompute(self, span: Span) -> str | None:
        """Why this refresh cannot be incremental, if it cannot; strict views refuse instead."""
        reason: str | None = None
        if self.policy == "full":
            return "RV-POLICY-FULL"
        if self.compiled is None:
            reason = str(self.view.definition["recompute_reason"])
        elif self.below.redefined(span):
            reason = "RV-UPSTREAM-REDEFINED"
        elif not all(self.below.is_known(r, t) for r in self.below.views() for t in (span.since, span.upto)):
            reason = "RV-UPSTREAM-ELSEWHERE"
        elif not all(self.below.follows(r, span) for r in self.below.views()):
            reason = "RV-UPSTREAM-RECOMPUTED"
        elif any(self.below.gap(r, span) for r in self.below.all):
            reason = "RV-SOURCE-GAP"
        elif (
            self.compiled.extent.states is not None and self.compiled.extent.states.floating and self.policy != "strict"
        ):
            due = self.refreshes_since_recompute() >= REDERIVE_AFTER and not self.below.closed()
            reason = "RV-FLOAT-REDERIVE" if due else None
        return None if reason is None else self.admitted(reason)

    def admitted(self, reason: str) -> str:
        """The reason for a recompute, unless the policy forbids one."""
        if self.policy == "strict":
            raise RecomputeRefused(
                f"{self.view.name} would have to be recomputed, and its policy is strict",
                code=reason,
                hint="use policy 'incremental' or 'auto', or refresh with a full policy",
            )
        return reason

    def refreshes_since_recompute(self) -> int:
        history, name = self.control.history, self.view.name
        after = history.last(name, "recompute", "create")
        return history.run(name, "incremental", after=after, limit=REDERIVE_AFTER).count

    # --- the two ways ---------------------------------------------------------------------------------

    def incremental(self, plan: Maintenance, versioned: Versioned, log: ViewLog, span: Span) -> Applied:
        assert self.compiled is not None and plan.change is not None
        extent = self.compiled.extent
        known = versioned.known(self.sizes, self.limits.far_bytes)
        small = versioned.small
        applier = self.applier(span)
        updates = extent.states.updates if extent.states is not None else {}
        near = origins(plan.change, extent.key, known)
        if not log.needed and self.is_fused(plan, applier, updates, near, small=small):
            with self.phase("apply"):
                spread = () if updates else extent.key
                query = self.query(plan.change, known, versioned, spread)
                if updates:
                    applied = applier.fused_states(query, extent.key, updates, near)
                else:
                    applied = applier.fused_rows(query, extent.key, extent.columns, near)
        else:
            with self.phase("compute"):
                change = self.computed(plan, known, versioned)
            if change.rows is not None and not change.rows.num_rows:
                return self.unchanged(log, span)
            if plan.rederives:
                with self.phase("settle"):
                    change = self.settled(plan, change, versioned, self.view.extent.tree())
            if plan.refills and extent.group_reserve is not None:
                with self.phase("settle"):
                    refill = Refill(self.lake, versioned, self.view.extent.tree(), extent.group_reserve)
                    change = refill.corrected(change, self.sizes, always=plan.always)
                    self.rederived = refill.rederived
                if change.rows is not None and not change.rows.num_rows:
                    return self.unchanged(log, span)
            if log.needed:
                with self.phase("log"):
                    log.write(
                        self.compiled,
                        change,
                        self.view.extent.tree(),
                        span.since,
                        span.upto,
                        may_miss=plan.may_miss,
                        replaced=plan.rederives,
                    )
                reached("refresh.logged")
            if self.deferred and log.needed:
                return Applied(0, 0, 0)
            with self.phase("apply"):
                applied = self.apply(applier, plan, change)
        self.merged(span)
        return applied

    def is_fused(
        self, plan: Maintenance, applier: Applier, updates: Updates, near: Mapping[str, Region], *, small: bool
    ) -> bool:
        """Is the change computed by the statement that applies it? Not if the driver can apply it without one."""
        assert self.compiled is not None
        if plan.rederives or plan.refills or plan.inserts_only or (small and applier.fits_driver(updates)):
            return False
        whole = plan.kind is Kind.AGGREGATE or (plan.kind is Kind.KEYED and small)
        return whole and applier.takes_query(near, self.compiled.extent.key, small=small)

    def first_rows(
        self, plan: Maintenance, stock: Stock | None, versioned: Versioned, log: ViewLog, span: Span
    ) -> tuple[str | None, Applied]:
        """The stored rows by their change; or, where they are then too few or far too many, others in their place."""
        assert self.compiled is not None and self.compiled.extent.reserve is not None
        extent, reserve = self.compiled.extent, self.compiled.extent.reserve
        known = versioned.known(self.sizes, self.limits.far_bytes)
        with self.phase("compute"):
            change = self.computed(plan, known, versioned)
            if change.rows is not None and not change.rows.num_rows:
                return None, self.unchanged(log, span)
            stock = moved(self.lake, stock, change) if stock is not None else None
        reason = reserve.unfit(stock) if stock is not None else USED
        if stock is not None and reason is None:
            self.said = said(stock)
            if log.needed:
                self.logged(log, self.changed_extent(change, versioned), span)
            with self.phase("apply"):
                applied = self.apply(self.applier(span), plan, change)
        else:
            if reason == FULL:
                after = self.changed_extent(change, versioned)
                query = emit(reserve.chosen(stored(extent.columns)), lambda _: after.copy())
            else:
                query = emit(versioned.clocked(extent.rows), versioned.bind)
            with self.phase("settle"), chosen(self.lake, reserve, query, extent.rows.names, self.most) as found:
                self.said = found.said
                if log.needed:
                    self.logged(log, found.named(), span)
                self.lake.overwrite(
                    self.view.extent, found.rows, self.properties(span), order=self.order, after=self.after
                )
            applied = Applied(self.lake.live_rows(self.view.extent), 0, 0)
            self.rederived = applied.inserted if reason == USED else 0
        self.merged(span)
        return reason, applied

    def changed_extent(self, change: Change, versioned: Versioned) -> exp.Table:
        """The stored rows as a change makes them."""
        assert self.compiled is not None
        here = self.view.extent.tree()
        query = emit(
            changed_rows(self.compiled.extent),
            lambda scan: (change.name if scan.table == CHANGED else here).copy(),
        )
        return versioned.states.keep(AFTER, query)

    def logged(self, log: ViewLog, after: exp.Table, span: Span) -> None:
        """For the views above, before the extent's commit."""
        assert self.compiled is not None
        with self.phase("log"):
            change, here = Change(after.copy, None), self.view.extent.tree()
            log.write(self.compiled, change, here, span.since, span.upto, may_miss=False, replaced=True)
        reached("refresh.logged")

    def recompute(self, span: Span) -> Applied:
        """Everything from the base tables at the span's end, in one commit."""
        states = States(self.lake, self.control, self.relations, self.compiled_of)
        try:
            with self.phase("recompute"), self.evaluated(states, span.upto) as (rows, self.said):
                self.mark_break(span.upto)
                reached("refresh.broken")
                small = self.lake.bytes(self.view.extent) <= self.limits.rewrite_bytes
                self.lake.overwrite(
                    self.view.extent, rows, self.properties(span), order=self.order, after=self.after, small=small
                )
        finally:
            states.close()
        reached("refresh.recomputed")
        self.note(span.upto)
        return Applied(self.lake.live_rows(self.view.extent), 0, 0)

    @contextmanager
    def evaluated(self, states: States, tick: int) -> Iterator[tuple[Any, dict[str, str]]]:
        """The rows to store at a tick, and what their commit says of them."""
        if self.compiled is None:
            yield self.lake.taken(states.defined(self.view, tick), self.most), {}
            return
        query = states.evaluated(self.compiled.extent.rows, tick)
        with computed(self.lake, self.compiled.extent, query, self.most) as found:
            yield found

    def mark_break(self, tick: int) -> None:
        """Views above cannot go on from this view's log across a recompute."""
        if self.view.definition.get("logged") and "delta" not in self.view.definition:
            breaks = sorted({*self.view.definition.get("breaks", ()), tick})  # a recompute that failed is tried again
            relation = self.control.relations.update_definition(
                self.view.name, {**self.view.definition, "breaks": breaks}
            )
            self.view = replace(self.view, relation=relation)

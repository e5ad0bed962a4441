"""Propagate and apply as separate steps: the view delta runs ahead, and the view is rolled to any tick that it reaches.

Propagate appends to the view delta, in steps that can be bounded; it never writes the extent. Apply adds up the view
delta from the tick that the extent holds to the tick that is wanted (or takes it back), in one commit; it never reads
base tables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from rollview.algebra.walking import scans
from rollview.apply.compact import compact
from rollview.apply.first_rows import said, stock_at
from rollview.catalog import Step
from rollview.catalog.steps import Reach
from rollview.catalog.stored import bytes_of
from rollview.change import Applied, Change
from rollview.errors import BadInput, RollviewError
from rollview.lake.errors import FAILING
from rollview.names import COUNT, TICK
from rollview.plan.maintain import Maintenance, maintain
from rollview.plan.timing import maintain_timed, timing
from rollview.propagate.intervals import Interval, Target
from rollview.propagate.layout import elementary
from rollview.propagate.observe import LakeObserver
from rollview.propagate.present import Present
from rollview.propagate.standing import relations_below, stands
from rollview.propagate.states import PRESENT, versioned
from rollview.propagate.timed import TimedVersioned
from rollview.propagate.versioned import Span, Versioned
from rollview.propagate.written import written
from rollview.refresh import Refresh
from rollview.registry import PATIENCE
from rollview.report import Report
from rollview.steps import reached
from rollview.work import CHANGE

NET = "__net"
WAITING, WAITING_SHARE = 1_000, 0.2
"""changes of a part that may wait: so many, or this share of its groups"""


class Roll(Refresh):
    """Propagation and application of one view; the caller holds its lease."""

    def reach(self) -> Reach:
        """The ticks that the view delta leads to from where the view stands."""
        return self.delta.reach(self.since())

    @property
    def exact(self) -> bool:
        """Can the view stop at every tick?"""
        views = {n for n, s in self.relations.items() if s.relation.kind == "view"}
        return self.compiled is not None and timing(self.compiled, views).every_tick

    # --- propagate ------------------------------------------------------------------------------------

    def propagate(
        self,
        upto: int,
        interval: Interval | None = None,
        each: Mapping[str, Interval | None] | None = None,
        driver: str = "rolling",
    ) -> list[Step]:
        """Carry the high-water mark to `upto`, step by step; every step is complete in itself.

        `each` gives tables intervals of their own, and `driver` the way to ask; both for tables that show only their
        present.
        """
        self.refuse_untimely()
        mark = self.reach().high
        if self.present:
            return self.compensated(mark, upto, lambda table: (each or {}).get(table, interval), driver)
        self.delta.cut(mark)
        done: list[Step] = []
        while mark < upto:
            clock = time.perf_counter()
            end = self.next_end(mark, upto, interval)
            step = self.propagate_step(Span(mark, end), clock)
            if isinstance(interval, Target):
                interval = interval.after(self.delta_rows, step.seconds)
            done.append(step)
            mark = end
        return done

    @property
    def present(self) -> bool:
        """Does a table below show only its present, so that what its changes meet is compensated?"""
        return self.compiled is not None and self.shows_present

    @property
    def shows_present(self) -> bool:
        return any(r.definition.get("access") == PRESENT for r in self.below.all)

    def recompute(self, span: Span) -> Applied:
        """Nobody commits while a table that shows only its present is read."""
        if not self.shows_present:
            return super().recompute(span)
        with self.control.leases.hold("writer", wait=PATIENCE):
            return super().recompute(span)

    def compensated(self, mark: int, upto: int, interval: Callable[[str], Interval | None], driver: str) -> list[Step]:
        assert self.compiled is not None
        observer = LakeObserver(self.lake, self.control, self.relations)
        driven = Present(self.lake, self.control, self.relations, self.view, self.compiled, observer)
        return driven.run(mark, upto, driver, interval)

    def next_end(self, mark: int, upto: int, interval: Interval | None) -> int:
        if interval is None:
            return upto
        waiting = self.control.ticks.waiting(mark, upto, relations_below(self.control, self.view.name))
        if not waiting:
            return upto
        end = interval.upto(waiting)
        return upto if end == waiting[-1].tick else end

    def refuse_untimely(self) -> None:
        if self.compiled is None or not self.delta.kept:
            raise BadInput(
                f"the changes of {self.view.name} depend on its rows, so they cannot be stored ahead of it",
                code="RV-NOT-PROPAGATED",
                hint=f"wh.refresh({self.view.name!r}) computes and applies them in one step",
            )

    def propagate_step(self, span: Span, clock: float) -> Step:
        assert self.compiled is not None
        exact = self.exact
        self.delta_rows = 0
        if not self.below.changed(span):
            step = Step(span.since, span.upto, exact=True, seconds=time.perf_counter() - clock)
            self.delta.nothing(step)
            return step
        self.refuse_gaps(span)
        made = TimedVersioned if exact else Versioned
        source = made(self.lake, self.control, self.relations, span, limits=self.limits, compiled=self.compiled_of)
        try:
            with self.phase("read"):
                shapes = source.read(scans(self.compiled.definition))
            self.delta_rows = sum(d.rows.num_rows if d.rows is not None else d.logged for d in source.deltas.values())
            if exact:
                timed = maintain_timed(self.compiled, shapes)
                plan = Maintenance(self.compiled.extent.kind, timed, inserts_only=False)
            else:
                bases, own = {n: s.base for n, s in self.relations.items()}, self.view.name.lower()
                plan = maintain(self.compiled, shapes, bases, stored=True, own=own)
            if any(source.lost(scan) for scan in plan.scans):
                raise BadInput(
                    f"a state of a table below {self.view.name} at tick {span.since} or {span.upto} has expired",
                    code="RV-SNAPSHOT-EXPIRED",
                    hint=f"wh.refresh({self.view.name!r})",
                )
            rows: Any = None
            if plan.change is not None:
                self.sizes = {n: bytes_of(self.lake, self.relations[n]) for n in self.compiled.reads}
                known = source.known(self.sizes, self.limits.far_bytes)
                with self.phase("compute"):
                    change = self.computed(plan, known, source)
                if (plan.rederives or plan.may_miss) and (change.rows is None or change.rows.num_rows):
                    with self.phase("settle"):
                        change = self.written(plan, change, source, span.since)
                rows = change.rows if change.rows is not None else self.lake.run(self.lake.select_all(change.name))
                if not exact:
                    rows = self.stamped(rows, span.upto)
            step = Step(span.since, span.upto, exact, seconds=time.perf_counter() - clock)
            if rows is None:
                self.delta.nothing(step)
                return step
            with self.phase("append"):
                return self.delta.append(rows, step)
        except BadInput as error:
            if error.code not in FAILING:
                raise
            raise BadInput(
                f"the changes of {self.view.name} cannot be computed apart from it: {error.message}",
                code="RV-UNDEFINED",
                hint=f"wh.refresh({self.view.name!r})",
            ) from None
        finally:
            source.close()

    def written(self, plan: Maintenance, change: Change, source: Versioned, since: int) -> Change:
        """A change that does not add up in a form that does, by the extent as it will be at the start of the step."""
        assert self.compiled is not None
        before = source.states.extent_at(self.view, since)
        if plan.rederives:
            change = self.settled(plan, change, source, before)
        extent, replaced = self.compiled.extent, plan.rederives
        return written(self.lake, extent, change, before, may_miss=plan.may_miss, replaced=replaced)

    def refuse_gaps(self, span: Span) -> None:
        """Changes of tables that were never captured, and views below that have gone elsewhere."""
        if any(self.below.gap(r, span) for r in self.below.all if r.relation.kind != "view"):
            raise BadInput(
                f"not all changes below {self.view.name} between ticks {span.since} and {span.upto} are known",
                code="RV-SOURCE-GAP",
                hint=f"wh.refresh({self.view.name!r})",
            )
        if self.below.redefined(span):
            raise BadInput(
                f"a view below {self.view.name} got another definition between ticks {span.since} and {span.upto}",
                code="RV-UPSTREAM-REDEFINED",
                hint=f"wh.refresh({self.view.name!r})",
            )
        for below in self.below.views():
            if not self.below.follows(below, span) or not all(
                self.below.is_known(below, t) for t in (span.since, span.upto)
            ):
                raise BadInput(
                    f"{below.name} does not stand at ticks {span.since} and {span.upto}, or was recomputed in between",
                    code="RV-UPSTREAM-ELSEWHERE",
                    hint=f"wh.refresh({self.view.name!r})",
                )

    def stamped(self, rows: Any, tick: int) -> Any:
        if isinstance(rows, pa.Table):
            return rows.append_column(TICK, pa.array(np.full(rows.num_rows, tick), pa.int64()))
        return self.lake.stamped(rows, tick)

    # --- apply ----------------------------------------------------------------------------------------

    def apply_to(self, tick: int) -> Report:
        """Roll the extent to a tick, forward or back."""
        started, clock = datetime.now(UTC), time.perf_counter()
        since = self.since()
        if tick == since:
            return Report(self.view.name, "none", None, since, since, seconds=time.perf_counter() - clock)
        span = Span(since, tick)
        reach = self.reach()
        back = stands(self.control, self.view.name, tick) if tick < since else None
        if tick not in reach and back is None:
            raise self.impossible(tick, since, reach)
        try:
            with self.jobs.here():
                applied = self.rolled(span) if tick in reach else self.restored(span, back.snapshot_id if back else 0)
        except RollviewError as error:
            self.record(started, clock, span, "failed", error.code, Applied(0, 0, 0), error=error.message)
            raise
        return self.record(started, clock, span, "apply", None, applied)

    def rolled(self, span: Span) -> Applied:
        delta, layout = self.delta, self.delta.layout
        low, high = sorted((span.since, span.upto))
        sign = 1 if span.upto > span.since else -1
        total = delta.count(low, high)
        small = total <= self.limits.small_rows
        with self.phase("read"):
            if small:
                rows = layout.net(delta.rows(low, high), sign) if total else None
            else:
                rows = self.lake.persisted(layout.net_query(delta.query(low, high), sign))
        if rows is None or (small and not rows.num_rows):
            self.note(span.upto)
            return Applied(0, 0, 0)
        grows = False
        if layout.images:
            rows = layout.groups(rows) if small else self.lake.run(layout.groups_query(self.lake.bind(NET, rows)))
        elif small and not layout.keeps_states and (grows := bool((rows.column(COUNT).to_numpy() > 0).all())):
            rows = elementary(rows)
        plan = Maintenance(layout.kind, None, inserts_only=grows, rederives=layout.images)
        applier = self.applier(span)
        try:
            change = Change(lambda: self.lake.bind(CHANGE, rows), rows if small else None)
            with self.phase("apply"):
                applied = self.apply(applier, plan, change)
        finally:
            self.lake.unbind([CHANGE, NET])
        self.delta_rows = total
        reached("apply.rolled")
        self.note(span.upto)
        reached("apply.noted")
        with self.phase("compact"):
            compact(self.lake, self.control, self.view, span.upto, self.order)
        return applied

    def restored(self, span: Span, snapshot: int) -> Applied:
        """Back to a snapshot of the extent that is still there."""
        rows = self.lake.run(self.lake.select_all(versioned(self.view.extent.tree(), snapshot)))
        stock = stock_at(self.lake, self.view.extent, snapshot)
        self.said = said(stock) if stock is not None else {}
        with self.phase("apply"):
            self.lake.overwrite(self.view.extent, rows, self.properties(span), order=self.order, after=self.after)
        reached("apply.rolled")
        self.note(span.upto)
        return Applied(self.lake.live_rows(self.view.extent), 0, 0)

    def impossible(self, tick: int, since: int, reach: Reach) -> BadInput:
        """Why a view cannot be rolled to a tick, and where it can."""
        name = self.view.name
        kept = [e.tick for e in self.control.marks.extents(name)]
        near = sorted({*reach.nearest(tick), *(t for t in kept if t < since)}, key=lambda t: abs(t - tick))[:2]
        possible = " or ".join(str(t) for t in sorted(near))
        if tick > reach.high:
            return BadInput(
                f"the view delta of {name} is complete up to tick {reach.high}, not to {tick}",
                code="RV-BEYOND-MARK",
                hint=f"wh.propagate({name!r}, upto={tick}) first, or wh.refresh({name!r}, to={tick})",
            )
        if tick < reach.low:
            return BadInput(
                f"{name} cannot be rolled back to tick {tick}: its view delta reaches back to {reach.low}",
                code="RV-NO-WAY-BACK",
                hint=f"the nearest possible tick is {possible}",
            )
        return BadInput(
            f"{name} cannot stop at tick {tick}: it lies inside a step whose changes have no ticks of their own",
            code="RV-NO-STOP",
            hint=f"the nearest possible ticks are {possible}",
        )

    # --- refresh over a view delta that is ahead ------------------------------------------------------

    def advance(self, upto: int) -> Report:
        """For a part: its changes are logged, for the view that reads them; its extent follows now and then.

        Until then whoever reads it adds the two up, so what waits is bounded by a share of the groups that are there.
        """
        if not self.delta.kept or self.policy == "full":
            return self.refresh_to(upto)
        applied = self.since()
        mark = self.delta.reach(applied).high
        waiting = self.delta.count(applied, mark)
        if waiting > max(WAITING, self.lake.live_rows(self.view.extent) * WAITING_SHARE):
            return self.refresh_to(upto)
        self.deferred = True
        return self.run(upto, mark)

    def refresh_to(self, upto: int) -> Report:
        """A refresh goes on from the view delta where there is one, and past it where it must."""
        if not self.delta.kept and not self.present:
            return self.run(upto)
        reach = self.reach()
        if self.present and self.policy != "full":
            self.propagate(upto)
            return self.apply_to(upto)
        if reach.high == self.since() or self.policy == "full" or (upto <= reach.high and upto not in reach):
            return self.run(upto)
        if upto <= reach.high:
            return self.apply_to(upto)
        if self.exact:
            self.propagate(upto)
            return self.apply_to(upto)
        self.apply_to(reach.high)
        return self.run(upto)

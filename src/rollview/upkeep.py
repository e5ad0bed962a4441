"""What must happen before and around the refresh of a view: sources are captured, the clock is read, views below and
parts come first, each after what it reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from rollview.alteration import Alteration
from rollview.apply.fold import settle
from rollview.capture.attached import Attached
from rollview.capture.clock import Clock
from rollview.catalog import ControlStore
from rollview.catalog.held import newest
from rollview.catalog.stored import Stored, all_stored, stored
from rollview.creation import Creation
from rollview.frontend.time_filters import clock_columns
from rollview.lake.lake import Lake
from rollview.limits import Limits
from rollview.names import CLOCK, is_reserved
from rollview.plan.cost import Estimate
from rollview.propagate.standing import relations_below
from rollview.propagate.versioned import Span
from rollview.redefinition import UNSHOWN, Redefinition, is_outdated
from rollview.registry import Registry
from rollview.report import Report
from rollview.roll import Roll
from rollview.status import ready
from rollview.views import Views


class Upkeep:
    """Keeps the views of a warehouse, and makes them, as a new view starts from kept ones."""

    def __init__(
        self, lake: Lake, control: ControlStore, views: Views, limits: Limits, clock: Callable[[], datetime]
    ) -> None:
        self.lake = lake
        self.control = control
        self.views = views
        self.limits = limits
        self.registry = Registry(lake, control)
        self.attached = Attached(lake, control)
        self.clock = Clock(control, clock, lake.day)
        self.creation = Creation(lake, control, self.registry, views, limits, self.refresh_below)
        self.redefinition = Redefinition(lake, control, self.registry, views, self.creation, self.catch_up)
        self.alteration = Alteration(lake, control, self.registry, views, limits)

    def current(
        self, wanted: Sequence[str], policy: str | None = None, *, clock: bool
    ) -> tuple[list[str], dict[str, Report]]:
        """The wanted views and those below them, over sources, columns and a clock as they are now; and what was built
        anew for that."""
        needed = self.needed(wanted)
        self.capture(needed if wanted else None, over_gaps=policy == "full")
        followed = self.followed(needed, wanted, policy)
        needed = self.needed(wanted) if followed else needed
        if clock:
            self.move_clock(needed)
        return needed, followed

    def refresh(self, needed: Sequence[str], wanted: Sequence[str], upto: int, policy: str | None) -> dict[str, Report]:
        """Bring views to a tick, in the order given, their parts first; the policy is for those that are wanted."""
        owners = {p: n for n in needed for p in self.parts(n)}
        given = {n: policy if not wanted or owners.get(n, n) in wanted else None for n in needed}
        foregone = {n: self.foregone(n, upto, given[n]) for n in dict.fromkeys(owners.values())}
        reports: dict[str, Report] = {}
        for name in (n for n, recompute in foregone.items() if recompute is None):
            self.level(name)
        for name in needed:
            if name not in owners:
                reports[name] = self.one(name, upto, given[name], foregone.get(name))
            elif foregone[owners[name]] is None:
                reports[name] = self.advance(name, upto, given[name])
        for part, owner in owners.items():
            if part in reports:
                reports[owner] = reports[owner].with_part(reports.pop(part))
        return reports

    def one(self, name: str, upto: int, policy: str | None = None, foregone: Estimate | None = None) -> Report:
        """Bring a view to a tick, once all that it reads is there."""
        clock = time.perf_counter()
        view = self.stored(name, "view")
        if UNSHOWN in view.definition:
            with self.registry.lease(name):
                self.redefinition.show(name)
        mark = self.control.marks.mark(name)
        found = newest(self.lake, view.extent, mark)
        recorded = found == (mark.applied_tick, mark.extent_snapshot)
        if found is not None and found.tick >= upto and recorded:
            return Report(view.name, "none", None, found.tick, found.tick, seconds=time.perf_counter() - clock)
        self.settle(name, upto)
        with self.registry.lease(name):
            roll = self.roll(name.lower(), policy)
            if roll.present:
                self.views.start_delta(roll.view, roll.relations)
                roll = self.roll(name.lower(), policy)
            roll.decided = foregone
            return roll.refresh_to(upto)

    def foregone(self, view: str, upto: int, policy: str | None) -> Estimate | None:
        """Why a view will be recomputed whatever its parts say, if it will: then they need not follow.

        Only where a recompute is no slower without them: single groups over tables that the view reads anyway."""
        since = self.control.marks.mark(view).applied_tick
        if since is None or since >= upto:
            return None
        roll = self.roll(view, policy)
        reads = {r.name for r in roll.below.all}
        for part in roll.view.definition["parts"].values():
            compiled = roll.compiled_of(roll.relations[part])
            read = {r.name for r in self.control.relations.dependencies_of(part)}
            if compiled is None or compiled.extent.key or not reads.issuperset(read):
                return None
        return roll.foregone(Span(since, upto))

    def level(self, view: str) -> None:
        """Parts that were left behind come to where their view stands, so that it can go on from there."""
        stand = self.control.marks.mark(view).applied_tick or 0
        for part in self.parts(view):
            self.advance(part, stand)

    def advance(self, part: str, upto: int, policy: str | None = None) -> Report:
        """A part is ready for its view when its changes are logged."""
        mark = self.control.marks.mark(part)
        known = max(mark.applied_tick or 0, mark.high_water_mark or 0)
        if known >= upto:
            return Report(part, "none", None, known, known)
        self.settle(part, upto)
        with self.registry.lease(part):
            return self.roll(part, policy).advance(upto)

    def catch_up(self, name: str, tick: int) -> None:
        """Bring a view that is being made to a tick that it has not reached."""
        if (self.control.marks.mark(name).applied_tick or 0) < tick:
            below = [r.name.lower() for r in self.control.relations.dependencies_of(name) if r.kind == "view"]
            if below:
                self.refresh_below(below, tick)
            self.settle(name, tick)
            self.roll(name).refresh_to(tick)

    def refresh_below(self, views: Sequence[str], tick: int) -> None:
        self.followed(self.needed(views), (), None)
        self.refresh(self.needed(views), (), tick, None)

    def followed(self, views: Sequence[str], asked: Sequence[str], policy: str | None) -> dict[str, Report]:
        """Views over columns that have changed are built anew, each after what it reads; their parts go with them."""
        found: dict[str, Report] = {}
        self.alteration.recover()
        relations = all_stored(self.control)
        for name in views:
            if not is_reserved(name) and is_outdated(relations[name], relations):
                found[name] = self.redefinition.follow(relations[name], policy if name in asked or not asked else None)
                relations = all_stored(self.control)
        return found

    def settle(self, name: str, upto: int) -> None:
        """Managed tables, or those below a view, hold every committed tick up to `upto`."""
        relations = all_stored(self.control)
        view = self.control.relations.get(name).kind == "view"
        for table in relations_below(self.control, name) if view else [name]:
            if relations[table.lower()].relation.kind == "table":
                settle(self.lake, self.control, relations[table.lower()], upto, self.limits)

    def needed(self, wanted: Sequence[str]) -> list[str]:
        """The wanted views and the views below them, or all, each after what it reads."""
        ordered = self.control.relations.list(kind="view", state="ready")
        if not wanted:
            return [r.name.lower() for r in ordered]
        needed = set(wanted)
        for relation in reversed(ordered):
            if relation.name.lower() in needed:
                needed |= {r.name.lower() for r in self.control.relations.dependencies_of(relation.name)}
        return [r.name.lower() for r in ordered if r.name.lower() in needed]

    def capture(self, views: Sequence[str] | None, *, over_gaps: bool = False) -> None:
        """Take what is new in the attached tables that the views read; None: in all."""
        wanted: set[str] | None = None
        if views is not None:
            wanted = set(views)
            for name in views:
                wanted |= {r.name.lower() for r in self.control.relations.dependencies_of(name)}
        for relation in self.control.relations.list(kind="attached", state="ready"):
            if relation.name != CLOCK and (wanted is None or relation.name.lower() in wanted):
                self.attached.capture(relation.name, over_gaps=over_gaps)

    def move_clock(self, views: Sequence[str], patience: float = 0.0, also: Collection[str] = ()) -> None:
        """Read the clock, if one of the views does."""
        columns = {*also, *(c for name in views for c in clock_columns_of(self.stored(name, "view")))}
        if columns:
            self.clock.move(columns, patience)

    def stored(self, name: str, *kinds: str) -> Stored:
        return stored(ready(self.control, name, *kinds))

    def parts(self, view: str) -> Collection[str]:
        """The parts of a view, by name."""
        found: dict[str, str] = self.stored(view, "view").definition.get("parts", {})
        return found.values()

    def recover(self) -> None:
        """Finish or undo what a dead process left: half-made relations go, tables follow their logs."""
        self.registry.recover()
        self.redefinition.recover()
        self.alteration.recover()
        for target in all_stored(self.control).values():
            if target.relation.kind == "table":
                settle(self.lake, self.control, target, self.control.ticks.last_tick(), self.limits)

    def roll(self, name: str, policy: str | None = None) -> Roll:
        relations = all_stored(self.control)
        view = stored(self.control.relations.get(name))
        return Roll(
            self.lake,
            self.control,
            relations,
            view,
            self.views.compiled(view, relations),
            policy=policy,
            limits=self.limits,
            compiled_of=lambda below: self.views.compiled(below, relations),
        )


def clock_columns_of(view: Stored) -> Collection[str]:
    """The columns of the clock that a view reads itself; one that is only recomputed counts as using all."""
    used: Collection[str] = view.definition["uses"].get(CLOCK, ())
    return clock_columns(view.definition["sql"]) if used and view.definition["recompute_reason"] else used

"""What lies below a view: its tables and views, and whether a refresh can go on from what is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from rollview.catalog import ControlStore
from rollview.catalog.stored import Stored
from rollview.lake.lake import Lake
from rollview.propagate.standing import stands
from rollview.propagate.states import NONE
from rollview.propagate.versioned import Span
from rollview.propagate.view_delta import ViewDelta


class Below:
    """The relations that a view reads."""

    def __init__(self, lake: Lake, control: ControlStore, relations: Mapping[str, Stored], view: Stored) -> None:
        self.lake = lake
        self.control = control
        self.relations = relations
        self.view = view

    @cached_property
    def all(self) -> list[Stored]:
        below = self.control.relations.dependencies_of(self.view.name)
        return [self.relations[r.name.lower()] for r in below]

    def views(self) -> list[Stored]:
        return [r for r in self.all if r.relation.kind == "view"]

    def changed(self, span: Span) -> bool:
        """May the view differ between the ends of the span?"""
        reads = self.all
        if self.control.ticks.ticks_between(span.since, span.upto, [r.name for r in reads]):
            return True
        return any(self.moved(r, span) for r in reads if r.relation.kind == "view")

    def moved(self, upstream: Stored, span: Span) -> bool:
        """Did a view below change in the span, as far as is known?"""
        before, after = (stands(self.control, upstream.name, t) for t in (span.since, span.upto))
        return before is None or after is None or before.snapshot_id != after.snapshot_id

    def is_known(self, view: Stored, tick: int) -> bool:
        """Can a view below be read at a tick, as it is stored or rolled there by its view delta?"""
        if stands(self.control, view.name, tick) is not None:
            return True
        delta = ViewDelta(self.lake, self.control, view)
        return delta.kept and tick in delta.reach(self.control.marks.mark(view.name).applied_tick or 0)

    def follows(self, upstream: Stored, span: Span) -> bool:
        """Is the change of a view below known over the span?"""
        delta = ViewDelta(self.lake, self.control, upstream)
        if delta.kept:
            return delta.reach(span.since).high >= span.upto
        return not self.gap(upstream, span)

    def gap(self, below: Stored, span: Span) -> bool:
        """Is there a tick in the span that the log of a relation does not go across?"""
        return any(span.holds(t) for t in below.definition.get("breaks", ()))

    def redefined(self, span: Span) -> bool:
        """Did a view below get another definition in the span?"""
        views = [r.name for r in self.views()]
        return bool(views and self.control.ticks.ticks_between(span.since, span.upto, views))

    def closed(self) -> bool:
        """Does the view read a table that cannot be read again?"""
        return any(r.definition.get("access") == NONE for r in self.all)

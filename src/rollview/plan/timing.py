"""At which ticks a view can stop between two refreshes, and its change with ticks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rollview.algebra.relation import Relation, keep
from rollview.algebra.scalar import col
from rollview.deltas.signed import net
from rollview.names import COUNT, TICK
from rollview.plan.extent import adds_up, holds
from rollview.rules.aggregate import aggregate_change
from rollview.rules.dispatch import Shapes
from rollview.rules.timed import is_timed, timed_delta

if TYPE_CHECKING:
    from collections.abc import Container

    from rollview.deltas.signed import Signed
    from rollview.plan.compile import CompiledView
    from rollview.plan.extent import Extent


@dataclass(frozen=True, slots=True)
class Timing:
    """`reason` says why a view stops only where a step of propagation ends; None: at every tick."""

    reason: str | None = None

    @property
    def every_tick(self) -> bool:
        return self.reason is None


def timing(view: CompiledView, views: Container[str] = ()) -> Timing:
    """`views` are the relations that are views themselves: between their own stops nothing is known of them."""
    if not holds(view.extent):
        return Timing("RV-NOT-PROPAGATED")
    if not adds_up(view.extent) or not is_timed(summarised(view)):
        return Timing("RV-STEPS-OPERATOR")
    if any(table in views for table in view.reads):
        return Timing("RV-STEPS-VIEW")
    return Timing()


def delta_columns(extent: Extent) -> tuple[str, ...]:
    """What a view delta stores: the extent's columns, a count for rows, and the tick."""
    counted = extent.columns if COUNT in extent.columns else (*extent.columns, COUNT)
    return (*counted, TICK)


def maintain_timed(view: CompiledView, shapes: Shapes) -> Relation | None:
    """The change of the extent per tick, net within each; None if no row can change."""
    source = timed_delta(summarised(view), shapes)
    return None if source.is_empty else timed_change(view.extent, source)


def summarised(view: CompiledView) -> Relation:
    """What an extent is made of: the input of its aggregate, or its rows."""
    return view.extent.aggregate.source if view.extent.aggregate is not None else view.extent.rows


def timed_change(extent: Extent, source: Signed) -> Relation:
    """A timed delta of what the extent is made of, as a change of the extent per tick."""
    if extent.aggregate is None or extent.states is None:
        return keep(net(source), delta_columns(extent))
    keys = (*extent.aggregate.keys, (TICK, col(TICK)))
    per_tick = replace(extent.aggregate, source=source.relation, keys=keys, grouped=True)
    return keep(aggregate_change(per_tick, extent.states, source).relation, delta_columns(extent))

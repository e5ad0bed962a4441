"""The maintenance of one view over one span: which change is computed and how it is merged. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rollview.algebra.relation import Filter, Recursion, Relation, Scan, State
from rollview.algebra.walking import rebuilt, scans
from rollview.deltas.signed import Signed, net
from rollview.plan.extent import Kind, adds_up, columns_of, holds, stored_rounds
from rollview.rules.aggregate import aggregate_change
from rollview.rules.dispatch import Shapes, at, delta
from rollview.rules.outer_change import outer_change

if TYPE_CHECKING:
    from rollview.algebra.schema import Tables
    from rollview.plan.compile import CompiledView
    from rollview.plan.reserve import Bound


@dataclass(frozen=True, slots=True)
class Maintenance:
    """`change` is None if no row can change. Otherwise: for an aggregate its change table; for rows the net
    signed delta, or, if only insertions can occur (`inserts_only`), simply the new rows with `__count` 1.

    If `rederives`, the change table does not tell everything: see plan/rederive.py for what follows it. If `refills`,
    the change is that of all rows of which some are stored: see plan/group_reserve.py. If `always`, every changed group
    is re-derived."""

    kind: Kind
    change: Relation | None
    inserts_only: bool
    may_miss: bool = False
    """an outer-join change table: a row with a negative count goes if it is there"""
    rederives: bool = False
    refills: bool = False
    always: bool = False
    gross: Relation | None = None
    """the change before φ, where it is a net delta: who takes it to the driver can add it up there"""

    @property
    def scans(self) -> frozenset[Scan]:
        return frozenset(scans(self.change)) if self.change is not None else frozenset()


def maintain(
    view: CompiledView,
    shapes: Shapes,
    base: Tables,
    *,
    bound: Bound | None = None,
    foreign_keys: bool = True,
    naive: bool = False,
    stored: bool = False,
    own: str | None = None,
) -> Maintenance:
    """The change of the extent for the given changes of its base tables; `naive` re-derives whatever is affected.

    `bound`: only rows up to there are stored (plan/reserve.py). `stored`: the change is written down to be added to
    others; so a group whose states do not add up is replaced. `own`: the name by which the view's own rows before the
    span can be read.
    """
    extent = view.extent
    rows_of = extent.followed
    if extent.reserve is not None and bound is not None:
        rows_of = Filter(rows_of, extent.reserve.within(bound))
    if extent.aggregate is not None and extent.states is not None:
        source = delta(extent.aggregate.source, shapes, base, foreign_keys=foreign_keys, naive=naive)
        if source.is_empty:
            return Maintenance(extent.kind, None, inserts_only=False)
        grows, always = not stored and only_grows(view, source, shapes), naive or not extent.states.derived
        table = aggregate_change(extent.aggregate, extent.states, source, grows=grows, always=always)
        rederives = always or (bool(extent.states.extremes) and not grows) or (stored and not adds_up(extent))
        return Maintenance(extent.kind, table.relation, inserts_only=False, rederives=rederives, always=always)
    # A change that may delete what is not there does not tell how many rows of a reserve are left.
    may_miss = extent.kind is Kind.KEYED and not naive and holds(extent)
    gain = outer_change(rows_of, shapes, base) if may_miss else None
    if gain is not None and gain.key & set(extent.key):
        change = gain.change()
        return Maintenance(extent.kind, net(Signed(change)), inserts_only=False, may_miss=True, gross=change)
    rows = delta(rows_of, shapes, base, foreign_keys=foreign_keys, naive=naive)
    if own is not None and (kept := stored_rounds(view.definition)) is not None:
        rows = Signed(reading(rows.relation, at(kept, State.BEFORE, shapes), scan_of(own, view, kept)))
    if rows.is_empty:
        return Maintenance(extent.kind, None, inserts_only=False)
    if extent.group_reserve is not None:
        change = net(rows)
        return Maintenance(extent.kind, change, inserts_only=False, refills=True, always=naive, gross=rows.relation)
    grows = only_grows(view, rows, shapes)
    if grows:
        return Maintenance(extent.kind, rows.relation, inserts_only=True)
    return Maintenance(extent.kind, net(rows), inserts_only=False, gross=rows.relation)


def scan_of(own: str, view: CompiledView, rounds: Recursion) -> Scan:
    """The view's rows, as those of the recursion that it is."""
    shown = {e.column: c.name for c, (_, e) in zip(view.output, columns_of(view.definition), strict=True)}
    return Scan(own, tuple((shown[n], n) for n in rounds.names), State.BEFORE)


def reading(node: Relation, known: Relation, scan: Scan) -> Relation:
    """The relation, that reads stored rows in the place of what computes them."""
    if isinstance(node, Recursion) and node == known:
        return scan
    return rebuilt(node, lambda child: reading(child, known, scan))


def only_grows(view: CompiledView, change: Signed, shapes: Shapes) -> bool:
    """Can the span bring nothing but insertions?"""
    return change.inserts_only and all(shapes[t].inserts_only for t in view.reads if t in shapes)

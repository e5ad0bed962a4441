"""Aggregates: a change table at the top of a view, affected groups below it.

`aggregate_change` (Gupta and Mumick, §5.1):  □γ(R) = γ over ΔR, every state summed with the sign of its row.
`aggregate_delta` (naive, always right): only the groups that ΔR names can change, so

    Δγ(R) = -γ(R_before ⋉ K) ⊎ γ(R_after ⋉ K),   K = the keys of ΔR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rollview.algebra.relation import (
    Aggregate,
    Filter,
    Function,
    Measure,
    Project,
    Relation,
    SemiJoin,
    UnionAll,
)
from rollview.algebra.scalar import Scalar, col, conjunction, equal
from rollview.deltas.change_table import ChangeTable
from rollview.deltas.signed import Signed, counted, rows_as, signed_value
from rollview.names import COUNT, PREFIX

if TYPE_CHECKING:
    from rollview.deltas.states import States


def aggregate_change(node: Aggregate, states: States, source: Signed) -> ChangeTable:
    """□γ(R): sums of signed states; groups in which nothing changed in the end are left out."""
    summed = tuple(
        Measure(s.name, Function.SUM, counted(s.argument) if s.counts else signed_value(s.value)) for s in states.all
    )
    grouped = Aggregate(source.relation, node.keys, summed, node.grouped)
    key = tuple(name for name, _ in node.keys)
    # The test is on the sums themselves, NULL being no change. Over COALESCE columns Spark would take exponential time
    # to infer constraints.
    moved = Filter(grouped, states.any_nonzero())
    change = Project(
        moved,
        tuple((k, col(k)) for k in key) + tuple((s.name, s.or_zero(col(s.name))) for s in states.all),
    )
    return ChangeTable(change, key, tuple(s.name for s in states.all), keep_empty=not node.grouped)


def aggregate_delta(node: Aggregate, before: Relation, after: Relation, source: Signed) -> Signed:
    """Δγ(R) by re-deriving the affected groups in both states."""
    names = node.names
    lost = rows_as(Aggregate(affected(node.keys, before, source), node.keys, node.measures, node.grouped), -1)
    gained = rows_as(Aggregate(affected(node.keys, after, source), node.keys, node.measures, node.grouped), 1)
    return Signed(UnionAll((lost, gained), (*names, COUNT)))


def affected(by: tuple[tuple[str, Scalar], ...], state: Relation, source: Signed) -> Relation:
    """The rows of `state` whose group occurs in the delta; all of them if there is only one group."""
    if not by:
        return state
    marked = tuple((f"{PREFIX}affected_{name}", expression) for name, expression in by)
    keys = Aggregate(source.relation, marked, ())
    same: list[Scalar] = [equal(e, col(mark)) for (_, e), (mark, _) in zip(by, marked, strict=True)]
    predicate = conjunction(same)
    assert predicate is not None
    return SemiJoin(state, keys, predicate)

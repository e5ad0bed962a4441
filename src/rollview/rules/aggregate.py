"""Aggregates: a change table at the top of a view, affected groups below it.

`aggregate_change` (Gupta and Mumick, §5.1):  □γ(R) = γ over ΔR, every state taken with the sign of its row.
`aggregate_delta` (naive, always right): only the groups that ΔR names can change, so

    Δγ(R) = -γ(R_before ⋉ K) ⊎ γ(R_after ⋉ K),   K = the keys of ΔR.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from sqlglot import exp

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
from rollview.deltas.change_table import ChangeTable, Update, lost
from rollview.deltas.signed import Signed, counted, rows_as, sided, signed_value
from rollview.names import COUNT, PREFIX

if TYPE_CHECKING:
    from rollview.deltas.states import StateColumn, States


def aggregate_change(
    node: Aggregate, states: States, source: Signed, *, grows: bool = False, always: bool = False
) -> ChangeTable:
    """□γ(R): the states of ΔR, each with the sign of its row; groups in which nothing changed are left out.

    Of an extreme, the extreme of the inserted values and that of the deleted ones, unless the delta only `grows` or
    changed groups are `always` re-derived.
    """
    changing = {s.name: change_of(s) for s in states.changing}
    watched = () if grows or always else states.extremes
    gone = {lost(s.name): Measure(lost(s.name), s.function, sided(s.value, -1)) for s in watched}
    grouped: Relation = Aggregate(source.relation, node.keys, (*changing.values(), *gone.values()), node.grouped)
    key = tuple(name for name, _ in node.keys)
    if not always:
        # The test is on the sums themselves, NULL being no change. Over COALESCE columns Spark would take exponential
        # time to infer constraints.
        grouped = Filter(grouped, moved(states.changing, tuple(gone)))
    change = Project(
        grouped,
        tuple((k, col(k)) for k in key)
        + tuple((s.name, s.or_zero(col(s.name))) for s in states.changing)
        + tuple((name, col(name)) for name in gone),
    )
    return ChangeTable(change, key, {s.name: s.update for s in states.changing}, keep_empty=not node.grouped)


def change_of(state: StateColumn) -> Measure:
    if state.function is Function.COUNT:
        return Measure(state.name, Function.SUM, counted(state.argument))
    if state.is_extreme:
        return Measure(state.name, state.function, sided(state.value, 1))
    if state.update is Update.XOR:  # its own opposite
        return Measure(state.name, state.function, state.value)
    return Measure(state.name, state.function, signed_value(state.value))


def moved(states: tuple[StateColumn, ...], gone: tuple[str, ...]) -> Scalar:
    """Has some state changed?"""
    tests: list[exp.Expr] = [
        exp.Not(this=exp.Is(this=col(s.name).tree, expression=exp.Null()))
        if s.is_extreme
        else exp.NEQ(this=col(s.name).tree, expression=exp.Literal.number(0))
        for s in states
    ]
    tests += [exp.Not(this=exp.Is(this=col(name).tree, expression=exp.Null())) for name in gone]
    return Scalar(reduce(lambda a, b: exp.Or(this=a, expression=b), tests))


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

"""The delayed re-derivation of groups (Gupta and Mumick, §5.1), in three relations.

`settled`     what the change table and the extent tell together: V ⊔ □V = γ_key(⊕ of each state)(V ⋉ □V ⊎ □V), ⊕ being
              the bulk form of each update function. A group is *suspect* if that does not tell its new states: a
              deletion took its extreme, and no insertion beat it; or some measure has no update function.
`rederived`   the states of the suspect groups, from the base tables after the span: γ(R_after ⋉ suspects). It is only
              evaluated if there are suspects, which are groups of the view; emptied groups never are.
`replaced`    the rows that take the place of all changed groups; `__count` 0 means that the group is gone.

The change table is then never needed again: every changed group is replaced by its new states.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import (
    Aggregate,
    Filter,
    Measure,
    Project,
    Relation,
    Scan,
    SemiJoin,
    State,
    UnionAll,
    keep,
)
from rollview.algebra.scalar import Scalar, col, conjunction, equal, literal
from rollview.deltas.change_table import Update, lost
from rollview.names import COUNT, PREFIX
from rollview.plan.stages import CHANGED, EXTENT, FRESH, SETTLED, SUSPECT, SUSPECTS, matched, plain

if TYPE_CHECKING:
    from rollview.deltas.states import StateColumn, States
    from rollview.plan.extent import Extent


def settled(extent: Extent, near: Scalar | None = None, *, always: bool = False) -> Relation:
    """The changed groups: their states as far as they are known, and SUSPECT. `near` prunes the extent's files."""
    states = parts(extent)
    watched = () if always else states.extremes
    names = tuple(s.name for s in states.changing)
    gone = tuple(lost(s.name) for s in watched)
    before: Relation = Scan(EXTENT, plain((*extent.key, *names)), State.BEFORE)
    if near is not None:
        before = Filter(before, near)
    nothing = tuple((g, Scalar(exp.null())) for g in gone)
    old = Project(
        matched(before, CHANGED, extent.key),
        (*((n, col(n)) for n in (*extent.key, *names)), *nothing),
    )
    new = Scan(CHANGED, plain((*extent.key, *names, *gone)))
    both = UnionAll((new, old), new.names)
    measures = (
        *(Measure(s.name, s.update.value, col(s.name)) for s in states.changing),
        *(Measure(lost(s.name), s.update.value, col(lost(s.name))) for s in watched),
    )
    grouped = Aggregate(both, tuple((k, col(k)) for k in extent.key), measures, grouped=bool(extent.key))
    return Project(
        grouped,
        (
            *((k, col(k)) for k in extent.key),
            *((s.name, known(s)) for s in states.changing),
            (SUSPECT, suspect(extent, watched)),
        ),
    )


def known(state: StateColumn) -> Scalar:
    """An extreme of no values is NULL, whatever it was."""
    if not state.is_extreme:
        return col(state.name)
    return Scalar(exp.Case().when(zero(state.support), exp.null()).else_(col(state.name).tree))


def suspect(extent: Extent, watched: tuple[StateColumn, ...]) -> Scalar:
    """Was a watched extreme deleted, in a group that has values left? With none to watch, any group that is left."""
    if not watched:
        return literal(True) if not extent.key else Scalar(exp.Not(this=zero(COUNT)))
    tests: list[exp.Expr] = [
        exp.Coalesce(
            this=exp.And(
                this=exp.Not(this=zero(s.support)),
                expression=exp.EQ(this=col(lost(s.name)).tree, expression=col(s.name).tree),
            ),
            expressions=[exp.false()],
        )
        for s in watched
    ]
    return Scalar(reduce(lambda a, b: exp.Or(this=a, expression=b), tests))


def rederived(extent: Extent) -> Relation:
    """All states of the suspect groups."""
    node = extent.aggregate
    assert node is not None
    if not node.keys:
        return extent.rows
    marked = tuple((name, f"{PREFIX}suspect_{name}") for name, _ in node.keys)
    same = conjunction(equal(e, col(mark)) for (_, e), (_, mark) in zip(node.keys, marked, strict=True))
    assert same is not None
    source = SemiJoin(node.source, Scan(SUSPECTS, marked), same)
    return parts(extent).initial(Aggregate(source, node.keys, node.measures, node.grouped))


def replaced(extent: Extent, *, fresh: bool) -> Relation:
    """The new rows of all changed groups, from SETTLED and, if there were suspects, FRESH."""
    columns = extent.columns
    states = {s.name: s for s in parts(extent).all}
    certain = Filter(
        Scan(SETTLED, plain((*(c for c in columns if c not in states or has_change(states[c])), SUSPECT))),
        Scalar(exp.Not(this=col(SUSPECT).tree)),
    )
    rows = Project(
        certain,
        tuple((c, col(c) if c in certain.names else Scalar(exp.null())) for c in columns),
    )
    return UnionAll((Scan(FRESH, plain(columns)), rows), columns) if fresh else rows


def suspects(extent: Extent) -> Relation:
    """The keys of the groups to re-derive, from SETTLED."""
    found = Filter(Scan(SETTLED, plain((*extent.key, SUSPECT))), col(SUSPECT))
    return keep(found, extent.key or (SUSPECT,))


def has_change(state: StateColumn) -> bool:
    return state.update is not Update.REPLACE


def parts(extent: Extent) -> States:
    assert extent.states is not None
    return extent.states


def zero(name: str) -> exp.Expr:
    return exp.EQ(this=col(name).tree, expression=exp.Literal.number(0))

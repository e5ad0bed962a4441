"""Outer joins of any kind, with any predicate, both sides changing at once.

Let R change first, while L still stands before, and then L, while R stands after:

    Δ(L ⟗ R) = (ΔR ⟕ L) ⊎ pad(turned(L, R)) ⊎ (ΔL ⟕ R') ⊎ pad(turned(R', L))

The rows of ΔR that find no partner are padded by the outer join that looks the partners up. The rows of L that they
meet may cease to be padded, or come to be: those are `turned` (partners.py). If L's rows are not kept, the second
term vanishes and the third is an inner join; likewise for R's.

This is the set-oriented form of Gupta and Mumick's Algorithm 1. A padded row is known by how it was made, never by
looking for NULLs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra import facts
from rollview.algebra.relation import (
    Aggregate,
    Filter,
    Function,
    Measure,
    OuterJoin,
    Project,
    Relation,
    Scan,
    UnionAll,
    keep,
    union,
)
from rollview.algebra.scalar import Scalar, col, conjunction
from rollview.deltas.signed import Signed
from rollview.names import COUNT, PREFIX
from rollview.rules.lookup import Condition, filtered, met, near
from rollview.rules.partners import MOVED, Side, compare, is_unique, turned

if TYPE_CHECKING:
    from rollview.algebra.schema import Tables


def outer_join_delta(node: OuterJoin, left: Side, right: Side, known: Tables, *, naive: bool) -> Signed:
    """The law above."""
    names = (*node.names, COUNT)
    parts: list[Relation] = []
    whole = completed(node, left, right, known) if not naive else None
    if whole is not None:
        parts.append(whole)
    elif not right.delta.is_empty:
        parts.append(keep(driven(right.delta, left.before, node.predicate, keeps=node.keeps_right), names))
        if node.keeps_left:
            parts.append(padded(turned(left.before, right, node.predicate, known, naive=naive), names))
    if not left.delta.is_empty:
        parts.append(keep(driven(left.delta, right.after, node.predicate, keeps=node.keeps_left), names))
        if node.keeps_right:
            parts.append(padded(turned(right.after, left, node.predicate, known, naive=naive), names))
    return Signed(union(tuple(parts), names))


def completed(node: OuterJoin, left: Side, right: Side, known: Tables) -> Relation | None:
    """The first two terms of the law in one look-up, where the equalities fix a key of R and only L's rows are kept:

        Δ_R(L ⟕ R) = L ⋈_{a=k} (ΔR ⊎ pads)

    A value k of the key has at most one row of R in either state, so ΔR's counts at k add up to -1, 0 or 1, and `pads`
    holds the padded row for k with the opposite of that. If R refers to L by a declared foreign key, L did not change
    and nothing but its key is read, then every k but NULL is in L, and L need not be looked up.
    """
    condition = Condition.of(node.predicate, left.before.names, right.after.names)
    if right.delta.is_empty or node.keeps_right or not node.keeps_left or condition.rest:
        return None
    if not is_unique(right.after, condition.equalities, known):
        return None
    changed = filtered(right.delta.relation, condition.right)
    keys = tuple((f"{PREFIX}met_{i}", e.right) for i, e in enumerate(condition.equalities))
    moved = Aggregate(changed, keys, (Measure(MOVED, Function.SUM, col(COUNT)),))
    turning = Filter(moved, compare(exp.NEQ, MOVED))
    names = right.after.names
    met_keys = tuple((k, col(k)) for k, _ in keys)
    missing = tuple((n, Scalar(exp.Null())) for n in names)
    both = UnionAll(
        (
            Project(changed, (*keys, *((n, col(n)) for n in names), (COUNT, col(COUNT)))),
            Project(turning, (*met_keys, *missing, (COUNT, Scalar(exp.Neg(this=col(MOVED).tree))))),
        ),
        (*(k for k, _ in keys), *names, COUNT),
    )
    same = conjunction(e.test(e.left, col(k)) for e, (k, _) in zip(condition.equalities, keys, strict=True))
    if left.delta.is_empty and is_referred_to(left.before, right.after, condition, known):
        own = {str(e.left.column): col(k) for e, (k, _) in zip(condition.equalities, keys, strict=True)}
        there = conjunction(Scalar(exp.Not(this=exp.Is(this=k.tree, expression=exp.Null()))) for k in own.values())
        assert there is not None
        return Project(Filter(both, there), tuple((n, own.get(n, col(n))) for n in (*node.names, COUNT)))
    return keep(met(both, filtered(left.before, condition.left), same), (*node.names, COUNT))


def is_referred_to(parent: Relation, child: Relation, condition: Condition, known: Tables) -> bool:
    """Is the parent a whole table of which only the key is read, and the child one that refers to it?"""
    if not isinstance(parent, Scan) or not isinstance(child, Scan) or condition.left:
        return False
    pairs = [(e.left.column or "", e.right.column or "") for e in condition.equalities if not e.null_safe]
    return {a for a, _ in pairs} == set(parent.names) and facts.refers(child, parent, pairs, known)


def driven(delta: Signed, other: Relation, predicate: Scalar, *, keeps: bool) -> Relation:
    """The changed rows with their partners; with `keeps`, also those that have none."""
    if not keeps:
        return met(delta.relation, other, predicate)
    return OuterJoin(delta.relation, near(other, delta.relation, predicate), predicate)


def padded(rows: Relation, names: tuple[str, ...]) -> Relation:
    """The rows with NULL for every column that they lack."""
    return Project(rows, tuple((n, col(n) if n in rows.names else Scalar(exp.Null())) for n in names))

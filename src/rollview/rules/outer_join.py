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

from rollview.algebra.relation import OuterJoin, Project, Relation, keep, union
from rollview.algebra.scalar import Scalar, col
from rollview.deltas.signed import Signed
from rollview.names import COUNT
from rollview.rules.lookup import met, near
from rollview.rules.partners import Side, turned

if TYPE_CHECKING:
    from rollview.algebra.schema import Tables


def outer_join_delta(node: OuterJoin, left: Side, right: Side, known: Tables, *, naive: bool) -> Signed:
    """The law above."""
    names = (*node.names, COUNT)
    parts: list[Relation] = []
    if not right.delta.is_empty:
        parts.append(keep(driven(right.delta, left.before, node.predicate, keeps=node.keeps_right), names))
        if node.keeps_left:
            parts.append(padded(turned(left.before, right, node.predicate, known, naive=naive), names))
    if not left.delta.is_empty:
        parts.append(keep(driven(left.delta, right.after, node.predicate, keeps=node.keeps_left), names))
        if node.keeps_right:
            parts.append(padded(turned(right.after, left, node.predicate, known, naive=naive), names))
    return Signed(union(tuple(parts), names))


def driven(delta: Signed, other: Relation, predicate: Scalar, *, keeps: bool) -> Relation:
    """The changed rows with their partners; with `keeps`, also those that have none."""
    if not keeps:
        return met(delta.relation, other, predicate)
    return OuterJoin(delta.relation, near(other, delta.relation, predicate), predicate)


def padded(rows: Relation, names: tuple[str, ...]) -> Relation:
    """The rows with NULL for every column that they lack."""
    return Project(rows, tuple((n, col(n) if n in rows.names else Scalar(exp.Null())) for n in names))

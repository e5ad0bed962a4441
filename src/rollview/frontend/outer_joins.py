"""Normalisation: an outer join whose padded rows no one above can use keeps fewer sides, or is an inner join.

    σ_p(L ⟕ R) = σ_p(L ⋈ R)   if p is never true where a column of R is NULL

A pass from the top down, which knows the columns that must not be NULL in a row that survives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rollview.algebra.nulls import rejects, strict_in
from rollview.algebra.relation import (
    Aggregate,
    AntiJoin,
    Filter,
    Join,
    MarkJoin,
    OuterJoin,
    Project,
    Relation,
    SemiJoin,
)
from rollview.algebra.walking import rebuilt

if TYPE_CHECKING:
    from rollview.algebra.scalar import Scalar


def simplify_outer_joins(node: Relation) -> Relation:
    return simplified(node, frozenset())


def simplified(node: Relation, needed: frozenset[str]) -> Relation:
    """The node, of which only rows are used that have no NULL in `needed`."""
    match node:
        case Filter():
            return replace(node, source=simplified(node.source, needed | rejects(node.predicate)))
        case Project():
            return replace(node, source=simplified(node.source, read(node.columns, needed)))
        case Aggregate():
            return replace(node, source=simplified(node.source, read(node.keys, needed)))
        case Join():
            inside = needed if node.predicate is None else needed | rejects(node.predicate)
            return replace(node, left=simplified(node.left, inside), right=simplified(node.right, inside))
        case SemiJoin():
            inside = needed | rejects(node.predicate)
            return replace(node, left=simplified(node.left, inside), right=simplified(node.right, inside))
        case AntiJoin() | MarkJoin():
            right = simplified(node.right, rejects(node.predicate))
            return replace(node, left=simplified(node.left, needed), right=right)
        case OuterJoin():
            return fewer(node, needed)
        case _:
            return rebuilt(node, lambda child: simplified(child, frozenset()))


def read(columns: tuple[tuple[str, Scalar], ...], needed: frozenset[str]) -> frozenset[str]:
    """The columns below that make one of the needed columns NULL."""
    return frozenset[str]().union(*(strict_in(e.tree) for name, e in columns if name in needed))


def fewer(node: OuterJoin, needed: frozenset[str]) -> Relation:
    keeps_left = node.keeps_left and not needed & set(node.right.names)
    keeps_right = node.keeps_right and not needed & set(node.left.names)
    matched = rejects(node.predicate)
    if not keeps_left and not keeps_right:
        return simplified(Join(node.left, node.right, node.predicate), needed)
    left = frozenset[str]() if keeps_left and keeps_right else needed if keeps_left else matched
    right = frozenset[str]() if keeps_left and keeps_right else needed if keeps_right else matched
    return OuterJoin(
        simplified(node.left, left), simplified(node.right, right), node.predicate, keeps_left, keeps_right
    )

"""Blocks: selections and inner joins that lie together, in whatever order they were written.

Law: σ and ⋈ over the same inputs commute and associate, so σ_p(R ⋈_q S) is the set of its inputs and of its conjuncts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rollview.algebra.relation import Filter, Join, Relation
from rollview.algebra.scalar import Scalar, conjunction, conjuncts, equated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


Key = tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Block:
    """σ(R₁ ⋈ … ⋈ Rₙ) flattened: its inputs and all its conjuncts."""

    inputs: tuple[Relation, ...]
    conjuncts: tuple[Scalar, ...]
    names: tuple[str, ...]

    @property
    def equalities(self) -> list[tuple[str, str]]:
        return [pair for pair in (equated(c) for c in self.conjuncts) if pair]


def flatten(node: Relation) -> Block:
    inputs: list[Relation] = []
    parts: list[Scalar] = []

    def visit(n: Relation) -> None:
        match n:
            case Join():
                visit(n.left)
                visit(n.right)
                parts.extend(conjuncts(n.predicate))
            case Filter():
                visit(n.source)
                parts.extend(conjuncts(n.predicate))
            case _:
                inputs.append(n)

    visit(node)
    return Block(tuple(inputs), tuple(parts), node.names)


def assemble(
    start: Relation, others: Mapping[int, Relation], predicates: Sequence[Scalar], keys: Mapping[int, Key] | None = None
) -> Relation:
    """`start` joined with the others, nearest first, each predicate as soon as its columns are there.

    With `keys`, `start` is a delta and the others are looked up from it: what is looked up by its whole key does not
    multiply rows, so it comes before what may.
    """
    waiting = list(predicates)

    def ready(names: tuple[str, ...]) -> Scalar | None:
        usable = [c for c in waiting if c.columns <= set(names)]
        waiting[:] = [c for c in waiting if c not in usable]
        return conjunction(usable)

    def filtered(relation: Relation) -> Relation:
        predicate = ready(relation.names)
        return relation if predicate is None else Filter(relation, predicate)

    tree = filtered(start)
    left = dict(others)
    small = keys is not None
    while left:
        i = nearest(tree.names, left, waiting, keys or {})
        grows = not by_key(tree.names, (keys or {}).get(i), waiting)
        right = filtered(left.pop(i))
        tree = Join(tree, right, ready(tree.names + right.names), lookup=small)
        small = small and not grows
    return tree


def by_key(names: tuple[str, ...], key: Key, predicates: Sequence[Scalar]) -> bool:
    """Do equalities with what is there already give the whole key?"""
    here = set(names)
    given = {b if a in here else a for a, b in (p for p in map(equated, predicates) if p) if (a in here) != (b in here)}
    return key is not None and given.issuperset(key)


def nearest(
    names: tuple[str, ...], left: Mapping[int, Relation], waiting: Sequence[Scalar], keys: Mapping[int, Key]
) -> int:
    """The input that most equalities tie to what is joined already; any predicate is better than none."""
    here = set(names)

    def ties(i: int) -> tuple[bool, int, int]:
        there = set(left[i].names)
        touching = [c for c in waiting if c.columns & here and c.columns & there and c.columns <= here | there]
        unique = by_key(names, keys.get(i), waiting)
        return (unique, sum(1 for c in touching if equated(c)), len(touching))

    return max(left, key=lambda i: (*ties(i), -i))

"""Blocks: selections and inner joins that lie together, in whatever order they were written.

Law: σ and ⋈ over the same inputs commute and associate, so σ_p(R ⋈_q S) is the set of its inputs and of its conjuncts.
"""

from __future__ import annotations

from dataclasses import dataclass

from rollview.algebra.relation import Filter, Join, Relation
from rollview.algebra.scalar import Scalar, conjuncts, equated


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

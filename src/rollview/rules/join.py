"""The join of n inputs, all of which may change at once.

Imagine the span's changes made one input after the other. Each step contributes the changed rows of one input
joined with the others as they stand at that step, so

    Δ(R₁ ⋈ … ⋈ Rₙ) = ⊎ᵢ R₁' ⋈ … ⋈ Rᵢ₋₁' ⋈ ΔRᵢ ⋈ Rᵢ₊₁ ⋈ … ⋈ Rₙ      (R before, R' after)

whatever the order. Foreign keys make the order matter. If a child C refers to the key of a parent P, insert
new parents before C changes and remove old parents after it: no child row can refer to a parent that is not
there yet or not there any more, so both steps join to nothing. What is left of ΔP are the rows whose key
stays (State.UPDATES), and while the other inputs change, P stands at *mid*: P' plus the rows still to be
removed.

Every step starts from the changed rows and looks the other inputs up from there (Barbier, Lemma 4.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rollview.algebra.block import Block, Key, assemble
from rollview.algebra.block import flatten as flatten
from rollview.algebra.relation import Relation, keep, union
from rollview.deltas.signed import Signed
from rollview.names import COUNT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Input:
    """One input in all its states. `updates` and `mid` differ from `delta` and `after` only for parents."""

    before: Relation
    after: Relation
    delta: Signed
    updates: Signed
    mid: Relation
    key: Key


def join_delta(block: Block, inputs: Sequence[Input], parents: Sequence[int]) -> Signed:
    """The law above. `parents` are the inputs that others refer to, the highest ancestors first."""
    steps: list[Relation] = []
    others = [i for i in range(len(inputs)) if i not in parents]
    order = [*parents, *others]
    for position, i in enumerate(order):
        delta = inputs[i].updates if i in parents else inputs[i].delta
        if delta.is_empty:
            continue
        done = set(order[:position])
        standing = {
            j: (other.mid if j in parents else other.after) if j in done else other.before
            for j, other in enumerate(inputs)
            if j != i
        }
        steps.append(driven(block, delta, standing, {j: other.key for j, other in enumerate(inputs)}))
    return Signed(union(tuple(steps), (*block.names, COUNT)))


def driven(block: Block, delta: Signed, standing: dict[int, Relation], keys: Mapping[int, Key]) -> Relation:
    """ΔRᵢ ⋈ the other inputs, nearest first."""
    tree = assemble(delta.relation, standing, block.conjuncts, keys)
    names = (*block.names, COUNT)
    return tree if tree.names == names else keep(tree, names)

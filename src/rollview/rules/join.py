"""The join of n inputs, all of which may change at once.

Imagine the span's changes made one input after the other. Each step contributes the changed rows of one input
joined with the others as they stand at that step, so

    Δ(R₁ ⋈ … ⋈ Rₙ) = ⊎ᵢ R₁' ⋈ … ⋈ Rᵢ₋₁' ⋈ ΔRᵢ ⋈ Rᵢ₊₁ ⋈ … ⋈ Rₙ      (R before, R' after)

whatever the order. Foreign keys make the order matter. If a child C refers to the key of a parent P, insert
new parents before C changes and remove old parents after it: no child row can refer to a parent that is not
there yet or not there any more, so both steps join to nothing. What is left of ΔP are the rows whose key
stays (State.UPDATES), and while the other inputs change, P stands at *mid*: P' plus the rows still to be
removed.

Every step starts from the changed rows and looks the other inputs up from there (Barbier, Lemma 4.6). Inputs that do
not change are looked up once, for all steps together:

    Δ(C ⋈ U) = ΔC ⋈ U      with C the join of the inputs that change, if conditions tie these to each other

Two of them may also be tied by what both are equal to in an input that does not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rollview.algebra.block import Block, Key, assembled, looked_up
from rollview.algebra.block import flatten as flatten
from rollview.algebra.relation import Relation, is_empty, keep, union
from rollview.deltas.signed import Signed, nothing
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


def join_delta(
    block: Block, inputs: Sequence[Input], parents: Sequence[int], types: Mapping[str, str | None]
) -> Signed:
    """The law above. `parents` are the inputs that others refer to, the highest ancestors first; `types` are those of
    columns where they are known."""
    changing = [i for i, given in enumerate(inputs) if not given.delta.is_empty]
    some = 1 < len(changing) < len(inputs)
    inner = within(block, changing, types) if some else block
    if not some or not tied(inner):
        return Signed(stepwise(block, inputs, parents, range(len(inputs)))[0])
    core, small = stepwise(inner, inputs, parents, changing)
    if is_empty(core):
        return nothing(block.names)
    rest = {i: given.after for i, given in enumerate(inputs) if i not in changing}
    waiting = [c for c in block.conjuncts if c not in inner.conjuncts]
    tree, _ = assembled(core, rest, waiting, {i: inputs[i].key for i in rest}, small=small)
    return Signed(named(tree, block))


def stepwise(
    block: Block, inputs: Sequence[Input], parents: Sequence[int], chosen: Sequence[int]
) -> tuple[Relation, bool]:
    """What each of the chosen inputs contributes when it changes after those before it; and is that as few rows as the
    changes have?"""
    order = [*(i for i in parents if i in chosen), *(i for i in chosen if i not in parents)]
    keys = {i: inputs[i].key for i in chosen}
    steps, small = [], True
    for position, i in enumerate(order):
        delta = inputs[i].updates if i in parents else inputs[i].delta
        if delta.is_empty:
            continue
        done = set(order[:position])
        standing = {
            j: (inputs[j].mid if j in parents else inputs[j].after) if j in done else inputs[j].before
            for j in chosen
            if j != i
        }
        tree, few = assembled(delta.relation, standing, block.conjuncts, keys, small=True)
        steps.append(named(tree, block))
        small = small and few
    return union(tuple(steps), (*block.names, COUNT)), small


def named(tree: Relation, block: Block) -> Relation:
    names = (*block.names, COUNT)
    return tree if tree.names == names else keep(tree, names)


def within(block: Block, chosen: Sequence[int], types: Mapping[str, str | None]) -> Block:
    """Some inputs of a block, with the conditions that read nothing else, and what others imply of them."""
    inputs = tuple(block.inputs[i] for i in chosen)
    names = tuple(n for given in inputs for n in given.names)
    here = tuple(c for c in block.conjuncts if c.columns <= set(names))
    return Block(inputs, (*here, *block.implied(names, types)), names)


def tied(block: Block) -> bool:
    """Do equalities lead from each input to all others?"""
    first, *others = (set(given.names) for given in block.inputs)
    reached, waiting = first, others
    while waiting:
        near = looked_up(tuple(reached), block.conjuncts)
        found = [names for names in waiting if names & near]
        if not found:
            return False
        waiting = [names for names in waiting if not names & near]
        reached.update(*found)
    return True

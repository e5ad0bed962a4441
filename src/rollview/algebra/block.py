"""Blocks: selections and inner joins that lie together, in whatever order they were written.

Law: σ and ⋈ over the same inputs commute and associate, so σ_p(R ⋈_q S) is the set of its inputs and of its conjuncts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Filter, Join, Relation
from rollview.algebra.scalar import Scalar, col, conjunction, conjuncts

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
        return [pair for pair in (c.equated for c in self.conjuncts) if pair]

    def implied(self, names: Sequence[str], types: Mapping[str, str | None]) -> tuple[Scalar, ...]:
        """Equalities between some columns that only columns beside them lead to: a = x and x = b give a = b.

        Only through columns of one type: as numbers '1' and '01' are equal, as strings they are not.
        """
        pairs = [(a, b) for a, b in self.equalities if types.get(a) is not None and types[a] == types.get(b)]
        inside = [pair for pair in pairs if set(pair) <= set(names)]
        found: list[tuple[str, str]] = []
        tied = {name for pair in pairs for name in pair}
        for a in (n for n in names if n in tied):
            here = equivalent(a, [*inside, *found])
            for b in (n for n in names if n in equivalent(a, pairs) and n not in here):
                if b not in equivalent(a, [*inside, *found]):
                    found.append((a, b))
        return tuple(Scalar(exp.EQ(this=col(a).tree, expression=col(b).tree)) for a, b in found)


def equivalent(name: str, equalities: Sequence[tuple[str, str]]) -> set[str]:
    """The columns that equalities tie to a column, and it."""
    same = {name}
    while grown := {b if a in same else a for a, b in equalities if (a in same) != (b in same)}:
        same |= grown
    return same


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
    return assembled(start, others, predicates, keys, small=keys is not None)[0]


def assembled(
    start: Relation,
    others: Mapping[int, Relation],
    predicates: Sequence[Scalar],
    keys: Mapping[int, Key] | None,
    *,
    small: bool,
) -> tuple[Relation, bool]:
    """As `assemble`, from a `small` start or not; and whether the result has no more rows than that."""
    waiting = list(predicates)

    def ready(names: tuple[str, ...]) -> Scalar | None:
        here = set(names)
        usable = [c for c in waiting if c.columns <= here]
        waiting[:] = [c for c in waiting if not c.columns <= here]
        return conjunction(usable)

    def filtered(relation: Relation) -> Relation:
        predicate = ready(relation.names)
        return relation if predicate is None else Filter(relation, predicate)

    tree = filtered(start)
    left = dict(others)
    while left:
        given = looked_up(tree.names, waiting)
        i = nearest(tree.names, left, waiting, [j for j in left if is_given((keys or {}).get(j), given)])
        grows = not is_given((keys or {}).get(i), given)
        right = filtered(left.pop(i))
        tree = Join(tree, right, ready(tree.names + right.names), lookup=small)
        small = small and not grows
    return tree, small


def looked_up(names: tuple[str, ...], predicates: Sequence[Scalar]) -> set[str]:
    """The columns to which equalities with what is there already give a value."""
    here = set(names)
    pairs = (p for p in (c.equated for c in predicates) if p)
    return {b if a in here else a for a, b in pairs if (a in here) != (b in here)}


def is_given(key: Key, given: set[str]) -> bool:
    return key is not None and given.issuperset(key)


def nearest(
    names: tuple[str, ...], left: Mapping[int, Relation], waiting: Sequence[Scalar], unique: Sequence[int]
) -> int:
    """One that is looked up by its whole key, or else the input that most equalities tie to what is joined already; any
    predicate is better than none."""
    here = set(names)
    touching = [c for c in waiting if c.columns & here]

    def ties(i: int) -> tuple[bool, int, int]:
        both = here.union(left[i].names)
        found = [c for c in touching if c.columns <= both]
        return i in unique, sum(1 for c in found if c.equated), len(found)

    return max(left, key=lambda i: (*ties(i), -i))

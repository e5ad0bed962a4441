"""Driven by the delta: a few rows joined with a state of a relation, which is looked up and never computed whole.

Few ⋈ E commutes with what keeps E's rows apart (Barbier, Lemma 4.6):

    F ⋈ (L ⟕ R) = (F ⋈ L) ⟕ R        F ⋈ (L ⋉ R) = (F ⋈ L) ⋉ R, also for ▷ and marks, if the condition reads only L
    F ⋈ π(E)    = π(F ⋈ E)
    F ⋈ γ_K(E)  = F ⋈ γ_K(E ⋉ F)      if equalities lead from F to keys of the group
    F ⋈ (L ⟗ R) = F ⋈ (L ⟕ R)        if the condition cannot be true where L's columns are NULL
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.block import assemble, flatten
from rollview.algebra.nulls import rejects
from rollview.algebra.relation import (
    Aggregate,
    AntiJoin,
    Filter,
    Join,
    MarkJoin,
    OuterJoin,
    Project,
    Relation,
    Scan,
    SemiJoin,
    keep,
)
from rollview.algebra.scalar import Scalar, col, conjunction, conjuncts, equal, operand
from rollview.names import PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Equality:
    """left = right, or left <=> right, between an expression of each side."""

    left: Scalar
    right: Scalar
    null_safe: bool

    def test(self, left: Scalar, right: Scalar) -> Scalar:
        if self.null_safe:
            return equal(left, right)
        return Scalar(exp.EQ(this=operand(left.tree), expression=operand(right.tree)))


@dataclass(frozen=True, slots=True)
class Condition:
    """A join predicate taken apart: equalities between the sides, tests of one side, and the rest."""

    equalities: tuple[Equality, ...]
    left: tuple[Scalar, ...]
    right: tuple[Scalar, ...]
    rest: tuple[Scalar, ...]

    @classmethod
    def of(cls, predicate: Scalar | None, left: Sequence[str], right: Sequence[str]) -> Condition:
        equalities, mine, theirs, rest = [], [], [], []
        for part in conjuncts(predicate):
            found = equality(part, set(left), set(right))
            if found is not None:
                equalities.append(found)
            elif part.columns <= set(right):
                theirs.append(part)
            elif part.columns <= set(left):
                mine.append(part)
            else:
                rest.append(part)
        return cls(tuple(equalities), tuple(mine), tuple(theirs), tuple(rest))


def equality(part: Scalar, left: set[str], right: set[str]) -> Equality | None:
    tree = part.tree
    if not isinstance(tree, exp.EQ | exp.NullSafeEQ):
        return None
    a, b = Scalar(tree.this), Scalar(tree.expression)
    if a.columns <= right and b.columns <= left:
        a, b = b, a
    if a.columns and b.columns and a.columns <= left and b.columns <= right:
        return Equality(a, b, isinstance(tree, exp.NullSafeEQ))
    return None


def met(few: Relation, state: Relation, predicate: Scalar | None) -> Relation:
    """few ⋈_p state. All columns of both, in any order."""
    block = flatten(state)
    tests = conjuncts(predicate)
    read = frozenset[str]().union(*(t.columns for t in tests)) & set(state.names)
    reached = next((i for i, part in enumerate(block.inputs) if read and read <= set(part.names)), None)
    others = dict(enumerate(block.inputs))
    if reached is None:
        return assemble(few, others, [*tests, *block.conjuncts], {})
    return assemble(joined(few, others.pop(reached), predicate), others, block.conjuncts)


def joined(few: Relation, state: Relation, predicate: Scalar | None) -> Relation:
    """The laws above, for a relation that is no block."""
    read = predicate.columns & set(state.names) if predicate is not None else frozenset[str]()
    match state:
        case SemiJoin() | AntiJoin():
            return replace(state, left=met(few, state.left, predicate))
        case MarkJoin() if state.mark not in read:
            return replace(state, left=met(few, state.left, predicate))
        case OuterJoin() if state.keeps_left and read <= set(state.left.names) and loses_right(state, predicate):
            return OuterJoin(met(few, state.left, predicate), state.right, state.predicate)
        case OuterJoin() if state.keeps_right and read <= set(state.right.names) and loses_left(state, predicate):
            return OuterJoin(met(few, state.right, predicate), state.left, state.predicate)
        case Project():
            inner = met(few, state.source, None if predicate is None else predicate.substitute(dict(state.columns)))
            return Project(inner, (*((n, col(n)) for n in few.names), *state.columns))
        case Aggregate() if isinstance(few, Scan | Aggregate):  # it is named twice
            return Join(few, groups_of(few, state, predicate), predicate, lookup=True)
        case _:
            return Join(few, state, predicate, lookup=True)


def loses_right(node: OuterJoin, predicate: Scalar | None) -> bool:
    """Is no row among the result that only the right side has?"""
    return not node.keeps_right or (predicate is not None and bool(rejects(predicate) & set(node.left.names)))


def loses_left(node: OuterJoin, predicate: Scalar | None) -> bool:
    return not node.keeps_left or (predicate is not None and bool(rejects(predicate) & set(node.right.names)))


def groups_of(few: Relation, node: Aggregate, predicate: Scalar | None) -> Aggregate:
    """The aggregate of the groups that rows of `few` can meet."""
    keys = dict(node.keys)
    found = [e for e in Condition.of(predicate, few.names, node.names).equalities if e.right.column in keys]
    if not found:
        return node
    sought = distinct(few, tuple((f"{PREFIX}group_{i}", e.left) for i, e in enumerate(found)))
    same = (e.test(col(n), keys[str(e.right.column)]) for e, n in zip(found, sought.names, strict=True))
    return replace(node, source=keep(met(sought, node.source, conjunction(same)), node.source.names))


def near(state: Relation, few: Relation, predicate: Scalar) -> Relation:
    """The rows of `state` that can meet a row of `few`.

    Redundant beside the join itself, but an outer or anti join that keeps the rows of `few` cannot be driven by them.
    """
    equalities = Condition.of(predicate, few.names, state.names).equalities
    if not equalities:
        return state
    sought = distinct(few, tuple((f"{PREFIX}near_{i}", e.left) for i, e in enumerate(equalities)))
    same = (e.test(col(n), e.right) for e, n in zip(equalities, sought.names, strict=True))
    return keep(met(sought, state, conjunction(same)), state.names)


def distinct(source: Relation, columns: tuple[tuple[str, Scalar], ...]) -> Aggregate:
    return Aggregate(source, columns, ())


def filtered(source: Relation, tests: Sequence[Scalar]) -> Relation:
    predicate = conjunction(tests)
    return source if predicate is None else Filter(source, predicate)

"""Which rows lose their last partner, and which find their first, when the other side of a join changes.

For a row l of L and a changing R, with m = the number of R's rows that satisfy p with l:

    m before = m after - (partners added - partners removed).

l was alone if m before is zero, and it is alone if m after is zero. `turned` gives the rows of L for which the two
differ: with +1 where l has become alone, with -1 where it was. Rows that agree in what p reads of L have the same
partners, so the count is by those values (`counted`); where p is nothing but equalities it is by R's side of them, and
L is looked up only for values that really turn. If the equalities fix a key of R, no more than one partner is possible
and ΔR alone tells. R is read once, after the change.

`naively` is the same by re-deriving: of the rows that any changed row of R touches, those alone after and those alone
before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra import facts
from rollview.algebra.relation import (
    Aggregate,
    AntiJoin,
    Filter,
    Function,
    Join,
    Measure,
    Project,
    Relation,
    SemiJoin,
    UnionAll,
)
from rollview.algebra.scalar import Scalar, col, conjunction, equal, literal
from rollview.deltas.signed import Signed, rows_as
from rollview.names import COUNT, PREFIX
from rollview.rules.lookup import Condition, Equality, distinct, filtered, met

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rollview.algebra.schema import Tables

NOW, MOVED = f"{PREFIX}now", f"{PREFIX}moved"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a join in both states, and its change."""

    before: Relation
    after: Relation
    delta: Signed


def turned(left: Relation, right: Side, predicate: Scalar, known: Tables, *, naive: bool) -> Relation:
    """The rows of `left` whose being alone changes with `right`: +1 alone now, -1 alone before."""
    if naive:
        return naively(left, right, predicate)
    condition = Condition.of(predicate, left.names, right.after.names)
    if condition.rest:
        return by_values(left, right, predicate)
    return by_equalities(left, right, condition, known)


def naively(left: Relation, right: Side, predicate: Scalar) -> Relation:
    touched = SemiJoin(left, right.delta.relation, predicate)
    alone = rows_as(AntiJoin(touched, right.after, predicate), 1)
    was_alone = rows_as(AntiJoin(touched, right.before, predicate), -1)
    return UnionAll((alone, was_alone), (*left.names, COUNT))


def by_equalities(left: Relation, right: Side, condition: Condition, known: Tables) -> Relation:
    """Partners are counted by R's side of the equalities."""
    keys = tuple((f"{PREFIX}partner_{i}", e.right) for i, e in enumerate(condition.equalities))
    changed = filtered(right.delta.relation, condition.right)
    if is_unique(right.after, condition.equalities, known):
        moved = Aggregate(changed, keys, (Measure(MOVED, Function.SUM, col(COUNT)),))
        turns: Relation = Filter(moved, compare(exp.NEQ, MOVED))
        count = Scalar(exp.Neg(this=col(MOVED).tree))
    else:
        sought = distinct(changed, tuple((f"{PREFIX}sought_{i}", e) for i, (_, e) in enumerate(keys)))
        same = (e.test(col(name), e.right) for e, name in zip(condition.equalities, sought.names, strict=True))
        standing = filtered(right.after, condition.right)
        turns, count = counted(keys, changed, met(sought, standing, conjunction(same)) if keys else standing)
    named = zip(condition.equalities, keys, strict=True)
    same_key = conjunction(e.test(e.left, col(k)) for e, (k, _) in named)
    return Project(
        met(turns, filtered(left, condition.left), same_key), (*((n, col(n)) for n in left.names), (COUNT, count))
    )


def by_values(left: Relation, right: Side, predicate: Scalar) -> Relation:
    """Partners are counted by the values that the predicate reads of L."""
    read = tuple(n for n in left.names if n in predicate.columns)
    touched = met(right.delta.relation, left, predicate)
    values = distinct(touched, tuple((n, col(n)) for n in read))
    keys = tuple((f"{PREFIX}partner_{i}", col(n)) for i, n in enumerate(read))
    turns, count = counted(keys, Join(values, right.delta.relation, predicate), met(values, right.after, predicate))
    same = conjunction(equal(col(n), col(k)) for n, (k, _) in zip(read, keys, strict=True))
    return Project(met(turns, left, same), (*((n, col(n)) for n in left.names), (COUNT, count)))


def counted(keys: tuple[tuple[str, Scalar], ...], changed: Relation, standing: Relation) -> tuple[Relation, Scalar]:
    """The keys that turn, from the changed partners and from those there are after; and which way each turns."""
    zero, one = literal(0), literal(1)
    names = (*(k for k, _ in keys), NOW, MOVED)
    each = UnionAll(
        (
            Project(changed, (*keys, (NOW, zero), (MOVED, col(COUNT)))),
            Project(standing, (*keys, (NOW, one), (MOVED, zero))),
        ),
        names,
    )
    totals = Aggregate(
        each,
        tuple((k, col(k)) for k, _ in keys),
        (Measure(NOW, Function.SUM, col(NOW)), Measure(MOVED, Function.SUM, col(MOVED))),
        grouped=bool(keys),
    )
    none = compare(exp.EQ, NOW).tree
    lost = exp.And(this=none, expression=compare(exp.LT, MOVED).tree)
    found = exp.And(this=compare(exp.GT, NOW).tree, expression=exp.EQ(this=col(NOW).tree, expression=col(MOVED).tree))
    turns = Filter(totals, Scalar(exp.Or(this=exp.Paren(this=lost), expression=exp.Paren(this=found))))
    return turns, Scalar(exp.If(this=none.copy(), true=one.tree, false=literal(-1).tree))


def is_unique(right: Relation, equalities: Sequence[Equality], known: Tables) -> bool:
    """Do the equalities fix a key of the right side?"""
    key = facts.key(right, known)
    return key is not None and {e.right.column for e in equalities}.issuperset(key) and bool(equalities)


def compare(comparison: type[exp.Binary], name: str) -> Scalar:
    return Scalar(comparison(this=col(name).tree, expression=exp.Literal.number(0)))

"""The signed delta: the columns of its node and `__count`, +1 for a row gained, -1 for a row lost.

Elementary: a change of several equal rows is several rows, so that a count is only ever +1 or -1. Then the
argument of a SUM changes sign but never its type, and decimals stay exact.

Law: R_after = R_before ⊎ ΔR, where ⊎ adds counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from rollview.algebra.relation import (
    Aggregate,
    Filter,
    Function,
    Generate,
    Measure,
    Project,
    Relation,
    Scan,
    State,
    empty,
    is_empty,
)
from rollview.algebra.scalar import Scalar, col, literal, operand
from rollview.algebra.walking import walk
from rollview.names import COUNT


@dataclass(frozen=True, slots=True)
class Signed:
    """ΔR. `relation` has the columns of R, then `__count`."""

    relation: Relation

    def __post_init__(self) -> None:
        if self.relation.names[-1] != COUNT:
            raise ValueError("a signed delta ends with the column __count")

    @property
    def is_empty(self) -> bool:
        return is_empty(self.relation)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.relation.names[:-1]

    @property
    def inserts_only(self) -> bool:
        """Made of base deltas without any negation; then insertions below are insertions here."""
        return not any(negates(n) for n in walk(self.relation))


def negates(node: Relation) -> bool:
    """Does the node give rows counts of its own?"""
    if isinstance(node, Generate):
        return COUNT in node.columns
    return isinstance(node, Project) and any(name == COUNT and e.column != COUNT for name, e in node.columns)


def nothing(columns: tuple[str, ...]) -> Signed:
    return Signed(empty((*columns, COUNT)))


def of_scan(scan: Scan, part: State = State.DELTA) -> Signed:
    return Signed(Scan(scan.table, scan.columns, part))


def rows_as(source: Relation, count: int) -> Relation:
    """Plain rows as a delta: all gained (+1) or all lost (-1)."""
    kept = tuple((n, col(n)) for n in source.names)
    return Project(source, (*kept, (COUNT, literal(count))))


def net(change: Signed) -> Relation:
    """φ: equal rows counted together, those that cancel left out."""
    keys = tuple((n, col(n)) for n in change.columns)
    summed = Aggregate(change.relation, keys, (Measure(COUNT, Function.SUM, col(COUNT)),))
    return Filter(summed, Scalar(exp.NEQ(this=col(COUNT).tree, expression=exp.Literal.number(0))))


def signed_value(value: Scalar) -> Scalar:
    """The value with the sign of its row's count."""
    negative = exp.LT(this=col(COUNT).tree, expression=exp.Literal.number(0))
    return Scalar(exp.If(this=negative, true=exp.Neg(this=operand(value.tree)), false=value.tree.copy()))


def sided(value: Scalar, sign: int) -> Scalar:
    """The value in rows gained (+1) or lost (-1), else NULL."""
    comparison = exp.GT if sign > 0 else exp.LT
    test = comparison(this=col(COUNT).tree, expression=exp.Literal.number(0))
    return Scalar(exp.If(this=test, true=value.tree.copy(), false=exp.null()))


def counted(value: Scalar | None) -> Scalar:
    """The count of a row, or 0 where `value` is NULL."""
    if value is None:
        return col(COUNT)
    missing = exp.Is(this=operand(value.tree), expression=exp.Null())
    return Scalar(exp.If(this=missing, true=exp.Literal.number(0), false=col(COUNT).tree))

"""Scalar expressions: sqlglot trees behind an immutable wrapper.

A column reference is a quoted identifier without a table: column names are unique across a whole view
(see relation.py), so no qualifier is ever needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Scalar:
    """An expression over columns. The tree inside is never changed after birth."""

    tree: exp.Expr

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(c.name for c in self.tree.find_all(exp.Column))

    @property
    def column(self) -> str | None:
        """The name, if the expression is nothing but a column."""
        return self.tree.name if isinstance(self.tree, exp.Column) else None

    def substitute(self, mapping: Mapping[str, Scalar]) -> Scalar:
        """The expression with columns replaced by expressions."""

        def replace(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and node.name in mapping:
                tree = mapping[node.name].tree.copy()
                return tree if isinstance(tree, ATOMS) else exp.Paren(this=tree)
            return node

        return Scalar(self.tree.copy().transform(replace))

    def __str__(self) -> str:
        return self.tree.sql("spark")


ATOMS = (exp.Column, exp.Literal, exp.Paren, exp.Null, exp.Boolean, exp.Func, exp.Cast)


def col(name: str) -> Scalar:
    return Scalar(exp.Column(this=exp.to_identifier(name, quoted=True)))


def literal(value: object) -> Scalar:
    return Scalar(exp.convert(value))


def equal(left: Scalar, right: Scalar) -> Scalar:
    """Null-safe equality: NULL matches NULL."""
    return Scalar(exp.NullSafeEQ(this=left.tree.copy(), expression=right.tree.copy()))


def conjunction(parts: Iterable[Scalar]) -> Scalar | None:
    trees = [grouped(p.tree) for p in parts]
    if not trees:
        return None
    return Scalar(reduce(lambda a, b: exp.And(this=a, expression=b), trees))


def conjuncts(predicate: Scalar | None) -> tuple[Scalar, ...]:
    """The top-level AND parts of a predicate."""
    if predicate is None:
        return ()
    tree = predicate.tree
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.And):
        return conjuncts(Scalar(tree.this)) + conjuncts(Scalar(tree.expression))
    return (Scalar(tree),)


def equated(predicate: Scalar) -> tuple[str, str] | None:
    """(a, b) if the predicate is ``a = b`` between two columns."""
    tree = predicate.tree
    if isinstance(tree, exp.EQ):
        left, right = Scalar(tree.left), Scalar(tree.right)
        if left.column and right.column:
            return left.column, right.column
    return None


def grouped(tree: exp.Expr) -> exp.Expr:
    """A copy that keeps its meaning when it becomes an operand."""
    copy = tree.copy()
    return exp.Paren(this=copy) if isinstance(copy, exp.Binary | exp.Not | exp.Between | exp.In) else copy

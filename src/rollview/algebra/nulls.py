"""What a predicate says about NULLs: which columns cannot be NULL in a row for which it is true."""

from __future__ import annotations

from sqlglot import exp

from rollview.algebra.scalar import Scalar, conjuncts

STRICT = (
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Neg,
    exp.Paren,
    exp.Column,
    exp.Literal,
    exp.Boolean,
)
"""expressions that are NULL whenever one of their operands is"""


def rejects(predicate: Scalar) -> frozenset[str]:
    """Columns that are not NULL wherever the predicate is true."""
    return frozenset[str]().union(*(true_only(c.tree) for c in conjuncts(predicate)))


def true_only(tree: exp.Expr) -> frozenset[str]:
    match tree:
        case exp.Paren():
            return true_only(tree.this)
        case exp.And():
            return true_only(tree.this) | true_only(tree.expression)
        case exp.Or():
            return true_only(tree.this) & true_only(tree.expression)
        case exp.Not():
            inner = tree.this.unnest()
            if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
                return strict_in(inner.this)
            if isinstance(inner, exp.In) and not inner.args.get("query"):
                return strict_in(inner.this)
            return strict_in(inner)
        case exp.Between():
            return strict_in(tree.this)
        case exp.In() if not tree.args.get("query"):
            return strict_in(tree.this)
        case _:
            return strict_in(tree)


def strict_in(tree: exp.Expr) -> frozenset[str]:
    """Columns whose NULL makes the expression NULL."""
    if isinstance(tree, exp.Column):
        return frozenset((tree.name,))
    if not isinstance(tree, STRICT):
        return frozenset()
    return frozenset[str]().union(*(strict_in(child) for child in tree.iter_expressions()))

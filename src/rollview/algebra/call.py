"""An aggregate call taken apart: name, arguments, DISTINCT, the order inside it, FILTER, and the sort around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Sequence

SORTS = ("sort_array", "array_sort")
"""functions that put a collected array into an order of its own"""


@dataclass(frozen=True, slots=True)
class Call:
    """``name([DISTINCT] arguments) [WITHIN GROUP (ORDER BY order)] [FILTER (WHERE condition)]``, perhaps sorted."""

    name: str
    arguments: tuple[exp.Expr, ...]
    distinct: bool = False
    order: tuple[exp.Ordered, ...] = ()
    condition: exp.Expr | None = None
    sorted: bool = False
    descending: bool = False
    ignore_nulls: bool = False

    @classmethod
    def of(cls, tree: exp.Expr) -> Call | None:
        """None if the tree is no call; whether the call is an aggregate is for others to know."""
        is_sorted = descending = ignore_nulls = False
        condition: exp.Expr | None = None
        order: tuple[exp.Ordered, ...] = ()
        if is_sort(tree):
            is_sorted, descending = True, len(tree.expressions) > 1 and tree.expressions[1] == exp.false()
            tree = tree.expressions[0]
        if isinstance(tree, exp.Filter):
            condition, tree = tree.expression.this, tree.this
        if isinstance(tree, exp.WithinGroup):
            order, tree = tuple(tree.expression.expressions), tree.this
        if isinstance(tree, exp.IgnoreNulls):
            ignore_nulls, tree = True, tree.this
        if isinstance(tree, exp.Any):
            tree = exp.Anonymous(this="any", expressions=[tree.this.unnest()])
        if not isinstance(tree, exp.Func):
            return None
        name, arguments = name_and_arguments(tree)
        distinct = len(arguments) > 0 and isinstance(arguments[0], exp.Distinct)
        if distinct:
            arguments = arguments[0].expressions + list(arguments[1:])
        return cls(name, tuple(arguments), distinct, order, condition, is_sorted, descending, ignore_nulls)


def is_sort(tree: exp.Expr) -> bool:
    """A sort directly around one call; array_sort may have no comparison of its own."""
    if not isinstance(tree, exp.Anonymous) or str(tree.this).lower() not in SORTS or not tree.expressions:
        return False
    return len(tree.expressions) == 1 or (
        str(tree.this).lower() == "sort_array" and isinstance(tree.expressions[1], exp.Boolean)
    )


def name_and_arguments(tree: exp.Func) -> tuple[str, Sequence[exp.Expr]]:
    if isinstance(tree, exp.Anonymous):
        return str(tree.this).lower(), tree.expressions
    given = [] if tree.this is None else [tree.this]
    return tree.sql_name().lower(), [*given, *tree.expressions]

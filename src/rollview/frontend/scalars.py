"""Scalar expressions: resolve the columns, refuse what is not deterministic or not built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.scalar import Scalar, col, operand
from rollview.frontend.refuse import (
    AGGREGATES,
    ARGUMENT_FREE_ONLY,
    GENERATORS,
    NONDETERMINISTIC,
    bad,
    function_name,
    never,
    not_yet,
)
from rollview.frontend.scope import is_named, name_of
from rollview.frontend.time_filters import nondeterministic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rollview.errors import BadInput
    from rollview.frontend.scope import Scope, Visible

CLOCK_AND_CHANCE = (
    exp.Rand,
    exp.Randn,
    exp.CurrentTimestamp,
    exp.CurrentDate,
    exp.CurrentTime,
    exp.CurrentUser,
    exp.Uuid,
)

LARGEST = 20_000
"""nodes of one expression; only aliases that use aliases twice, again and again, come to so many"""


class Scalars:
    """Lowers scalars; `is_builtin` knows the functions that Spark ships."""

    def __init__(self, is_builtin: Callable[[str], bool]) -> None:
        self.is_builtin = is_builtin

    def lower(self, tree: exp.Expr, scope: Scope) -> Scalar:
        """A scalar without aggregates."""
        for node in tree.walk():
            if is_aggregate(node):
                raise bad(
                    f"{function_name(node)}() cannot stand here",
                    "RV-AGGREGATE-PLACE",
                    node,
                    "aggregate in a subquery, and join its result",
                )
            self.check_node(node)
        return self.resolve(tree, scope)

    def resolve(self, tree: exp.Expr, scope: Scope) -> Scalar:
        def replace(node: exp.Expr) -> exp.Expr:
            return operand(scope.resolve(node).tree) if isinstance(node, exp.Column) else node

        resolved = Scalar(bare(tree.transform(replace)))
        if resolved.size > LARGEST:
            raise too_large(tree)
        return resolved

    def select_item(self, item: exp.Expr, scope: Scope) -> Iterator[tuple[str, bool, Scalar]]:
        """(name, whether the user gave it, expression) of one item of a SELECT list; a star is many."""
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            star = item if isinstance(item, exp.Star) else item.this
            if any(value for part, value in star.args.items() if part not in ("except_", "replace")):
                raise not_yet("this star", "RV-STAR-REPLACE", item, "name the columns")
            qualifier = [p.name for p in item.parts[:-1]] if isinstance(item, exp.Column) else []
            shown = scope.star(item, qualifier)
            left_out = {among(shown, c) or scope.resolve(c).column for c in star.args.get("except_") or ()}
            if None in left_out:
                raise not_yet("* EXCEPT a field of a struct", "RV-STAR-REPLACE", item, "name the columns")
            others = {a.alias.lower(): self.lower(a.this, scope) for a in star.args.get("replace") or ()}
            for visible in shown:
                if visible.unique not in left_out:
                    yield visible.name, visible.given, others.get(visible.name.lower(), col(visible.unique))
            return
        body = item.unalias() if isinstance(item, exp.Alias) else item
        yield name_of(item), is_named(item), self.lower(body, scope)

    def check(self, tree: exp.Expr) -> None:
        for node in tree.walk():
            self.check_node(node)

    def check_node(self, node: exp.Expr) -> None:
        if isinstance(node, exp.Subquery | exp.Exists | exp.Select):
            raise not_yet("a subquery in an expression", "RV-SUBQUERY", node)
        if isinstance(node, exp.In) and node.args.get("query"):
            raise not_yet("IN (subquery)", "RV-SUBQUERY", node)
        if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
            raise not_yet("a star inside an expression", "RV-STAR", node, "name the columns")
        if isinstance(node, exp.Window):
            raise bad("a window function cannot stand here", "RV-WINDOW-PLACE", node, "use QUALIFY or a subquery")
        if isinstance(node, exp.Parameter | exp.Placeholder):
            raise bad("a view cannot have parameters", "RV-PARAMETER", node, "write the value into the SQL")
        if isinstance(node, exp.QueryTransform):
            raise never("nothing says that a script is deterministic", "RV-UDF", node, "use built-in functions")
        if isinstance(node, exp.DataType) and not isinstance(node, exp.IntervalSpan):
            check_type(node)
        if isinstance(node, exp.Func):
            self.check_function(node)

    def check_function(self, node: exp.Func) -> None:
        name = function_name(node)
        clock = isinstance(node, CLOCK_AND_CHANCE) or name in NONDETERMINISTIC
        arguments = node.expressions if isinstance(node, exp.Anonymous) else node.args
        if name == "identifier":
            raise never("IDENTIFIER() makes a name of a text", "RV-IDENTIFIER", node, "write the name itself")
        if clock and not (name in ARGUMENT_FREE_ONLY and arguments):
            raise nondeterministic(node, name)
        if name in GENERATORS or isinstance(node, exp.UDTF):
            raise not_yet(f"{name}()", "RV-GENERATOR", node)
        if isinstance(node, exp.Anonymous) and name in AGGREGATES:
            raise not_yet(f"{name}()", "RV-AGGREGATE", node)
        if isinstance(node, exp.Anonymous) and not self.is_builtin(name):
            raise never(
                f"{name}() is not a function of Spark's own, so nothing says that it is deterministic",
                "RV-UDF",
                node,
                "use built-in functions, or vouch for it with trust_function",
            )


def check_type(node: exp.DataType) -> None:
    """A type that sqlglot writes in another way than it reads it would change the view."""
    text = node.sql("spark")
    if exp.DataType.build(text, dialect="spark") != node:
        raise not_yet(f"the type {node.sql()}", "RV-TYPE", node)


def too_large(tree: exp.Expr) -> BadInput:
    return bad("the expression becomes too large", "RV-TOO-DEEP", tree, "put the aliases that it uses into a subquery")


def among(shown: Sequence[Visible], column: exp.Column) -> str | None:
    """The one column of a star that has this name, whatever else is in scope."""
    found = [v.unique for v in shown if v.name.lower() == column.name.lower()]
    return found[0] if len(found) == 1 and len(column.parts) == 1 else None


def ands(tree: exp.Expr) -> list[exp.Expr]:
    """The conjuncts of a condition."""
    whole = tree.unnest()
    return [p.unnest() for p in whole.flatten()] if isinstance(whole, exp.And) else [whole]


def found_in(tree: exp.Expr) -> list[exp.Expr]:
    """The outermost subqueries of an expression."""
    return [n for n in tree.walk(bfs=False, prune=is_subquery) if is_subquery(n)]


def is_subquery(node: exp.Expr) -> bool:
    return is_predicate(node) or isinstance(node, exp.Subquery)


def is_predicate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Exists) or (isinstance(node, exp.In) and bool(node.args.get("query")))


def has_aggregate(tree: exp.Expr) -> bool:
    return any(
        is_aggregate(n) for n in tree.walk(prune=lambda n: isinstance(n, exp.Query)) if not isinstance(n, exp.Query)
    )


def is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, exp.Any):  # ANY(p), but not LIKE ANY (…)
        return not isinstance(node.parent, exp.Like | exp.ILike)
    return isinstance(node, exp.AggFunc) or (isinstance(node, exp.Anonymous) and function_name(node) in AGGREGATES)


def is_grouping(node: exp.Select) -> bool:
    if node.args.get("group") or node.args.get("having"):
        return True
    return any(has_aggregate(e) and not list(e.find_all(exp.Window)) for e in node.expressions)


def bare(tree: exp.Expr) -> exp.Expr:
    """The tree without comments and positions: only what it means."""
    for node in tree.walk():
        node.pop_comments()
        if node.meta_get("line") is not None:
            node.meta.clear()
    return tree

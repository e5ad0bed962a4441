"""window(t, width [, slide [, start]]): the spans of time that a moment lies in, as many as there are.

All calls of a SELECT are one generator, and `window` names what it makes, as in Spark. window_time(w) is the last
moment of such a span.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from sqlglot import exp

from rollview.algebra.generators import TIME_WINDOW
from rollview.algebra.relation import Generate
from rollview.algebra.scalar import Scalar
from rollview.frontend.refuse import function_name, not_yet
from rollview.frontend.scope import Named, Scope, Visible, mark_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rollview.frontend.lower import Lowering

PLACES = ("expressions", "group", "having")
LAST_MOMENT = "window_time"
INSTANT = exp.Interval(this=exp.Literal.string("0.000001"), unit=exp.var("SECOND"))
"""the shortest time there is"""


def last_moments_spelled(tree: exp.Query) -> exp.Query:
    """The query with the end of a window, less an instant, in the place of every window_time(window)."""

    def spelled(node: exp.Expr) -> exp.Expr:
        if not is_call(node, LAST_MOMENT) or len(node.expressions) != 1:
            return node
        end = exp.Dot(this=node.expressions[0].transform(spelled), expression=exp.to_identifier("end"))
        return exp.Paren(this=exp.Sub(this=end, expression=INSTANT.copy()))

    if not any(is_call(n, LAST_MOMENT) for n in tree.find_all(exp.Anonymous)):
        return tree
    result = tree.transform(spelled)
    assert isinstance(result, exp.Query)
    return result


def windows_opened(lowering: Lowering, node: exp.Select, scope: Scope) -> exp.Select:
    """The SELECT with a column in the place of its time windows; the scope's rows are repeated for each window."""
    calls = list(calls_in(node, TIME_WINDOW))
    if not calls:
        return node
    generator = the_one(lowering, calls, scope)
    unique = lowering.allocator.name(TIME_WINDOW)
    scope.relation = Generate(scope.relation, generator, (unique,))
    if not scope.lookup(TIME_WINDOW, scope.items):
        scope.items = [*scope.items, Named("", (Visible(TIME_WINDOW, unique),))]
    copy = node.copy()
    for call in list(calls_in(copy, TIME_WINDOW)):
        column = mark_column(unique)
        call.replace(exp.alias_(column, TIME_WINDOW, quoted=True) if call.parent is copy else column)
    return copy


def the_one(lowering: Lowering, calls: Sequence[exp.Anonymous], scope: Scope) -> Scalar:
    """What all the calls are."""
    found = {}
    for call in calls:
        arguments = [lowering.scalars.lower(a, scope).tree for a in call.expressions]
        lowered = Scalar(exp.Anonymous(this=function_name(call), expressions=arguments))
        found[str(lowered)] = lowered
        if len(found) > 1:
            raise not_yet("a second time window in one SELECT", "RV-GENERATOR", call, "put one into a subquery")
    return lowered


def calls_in(node: exp.Select, name: str) -> Iterator[exp.Anonymous]:
    """The calls of a function outside of the subqueries."""
    for place in PLACES:
        parts = node.args.get(place)
        for part in parts if isinstance(parts, list) else [parts] if parts else ():
            yield from (n for n in part.walk(prune=lambda n: isinstance(n, exp.Query)) if is_call(n, name))


def is_call(node: exp.Expr, name: str) -> TypeGuard[exp.Anonymous]:
    return isinstance(node, exp.Anonymous) and function_name(node) == name

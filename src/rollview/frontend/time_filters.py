"""Functions of the clock. They may stand in a time filter and nowhere else.

A time filter is a conjunct of WHERE, or of ON in an inner join, that compares: =, <, <=, >, >= or BETWEEN. It becomes a
semi join with the clock (algebra/clock.py), whose columns stand for the functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.clock import CLOCK_TABLE, NOW, TODAY
from rollview.algebra.relation import Relation, Scan, SemiJoin
from rollview.algebra.scalar import Scalar, conjunction
from rollview.frontend.dialect import SparkSQL
from rollview.frontend.parse import parse_query
from rollview.frontend.references import spliced
from rollview.frontend.refuse import function_name, never
from rollview.frontend.scope import mark_column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rollview.errors import UnsupportedView
    from rollview.frontend.scope import Allocator

FUNCTIONS = {"current_date": TODAY, "curdate": TODAY, "current_timestamp": NOW, "now": NOW, "localtimestamp": NOW}
BARE = ("current_date", "current_timestamp")
"""those that need no parentheses; a column of such a name is quoted, or named with its table"""
COMPARISONS = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)


def clock_function(node: exp.Expr) -> str | None:
    """The function of the clock that a node calls."""
    if isinstance(node, exp.Anonymous) and not node.expressions:
        name = function_name(node)
        return name if name in FUNCTIONS else None
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier) and len(node.parts) == 1:
        return node.name.lower() if node.name.lower() in BARE and not node.this.quoted else None
    return None


def calls(tree: exp.Expr) -> list[exp.Expr]:
    return [n for n in tree.walk(prune=lambda n: clock_function(n) is not None) if clock_function(n)]


def nondeterministic(node: exp.Expr, name: str) -> UnsupportedView:
    hint = "store the value in a column of a table"
    if name in FUNCTIONS:
        called = name if name in BARE else f"{name}()"
        hint = f"only a time filter may read the clock: WHERE day >= {called} - INTERVAL 7 DAYS; or {hint}"
    message = f"{name}() gives another value at another time, so the view has no one meaning"
    return never(message, "RV-NONDETERMINISTIC", node, hint)


def refuse_elsewhere(tree: exp.Query) -> None:
    """Every call of the clock in the query stands in a time filter."""
    for node in calls(tree):
        if not in_time_filter(node):
            raise nondeterministic(node, clock_function(node) or "")


def in_time_filter(node: exp.Expr) -> bool:
    here = node
    while not isinstance(here, COMPARISONS):
        if here.parent is None or isinstance(here, exp.Query):
            return False
        here = here.parent
    if here.find(exp.Query):
        return False
    while isinstance(here.parent, exp.And | exp.Paren):
        here = here.parent
    above = here.parent
    if isinstance(above, exp.Join):
        return above.args.get("on") is here and not above.side and above.kind.upper() in ("", "INNER", "CROSS")
    return isinstance(above, exp.Where) and isinstance(above.parent, exp.Select)


def reads_clock(part: exp.Expr) -> bool:
    """Is a conjunct a time filter? All others that call the clock were refused before."""
    return bool(calls(part)) and not part.find(exp.Query)


def time_filter(
    parts: Sequence[exp.Expr], allocator: Allocator, lower: Callable[[exp.Expr], Scalar]
) -> Callable[[Relation], Relation]:
    """⋉ with the clock, by all the conjuncts that read it."""
    names = {c.name: allocator.name(c.name) for c in CLOCK_TABLE.columns}
    clock = Scan(CLOCK_TABLE.name, tuple(names.items()))
    columns = {n: mark_column(unique) for n, unique in names.items()}
    predicate = conjunction(lower(read(c, columns)) for p in parts for c in compared(p))
    assert predicate is not None

    def step(relation: Relation) -> Relation:
        if not predicate.columns <= {*relation.names, *clock.names}:  # it refers to the query around
            first = calls(parts[0])[0]
            raise nondeterministic(first, clock_function(first) or "")
        return SemiJoin(relation, clock, predicate)

    return step


def compared(part: exp.Expr) -> list[exp.Expr]:
    """BETWEEN is two comparisons."""
    if not isinstance(part, exp.Between):
        return [part]
    low, high = (part.args[end].copy() for end in ("low", "high"))
    return [exp.GTE(this=part.this.copy(), expression=low), exp.LTE(this=part.this.copy(), expression=high)]


def read(tree: exp.Expr, reading: Mapping[str, exp.Expr]) -> exp.Expr:
    """The tree with the clock's columns in the place of its functions."""

    def replaced(node: exp.Expr) -> exp.Expr:
        name = clock_function(node)
        return node if name is None else value(name, reading)

    return tree.transform(replaced)


def value(function: str, reading: Mapping[str, exp.Expr]) -> exp.Expr:
    found = reading[FUNCTIONS[function]].copy()
    return exp.cast(found, "timestamp_ntz", dialect="spark") if function == "localtimestamp" else found


def at_reading(text: str, reading: Mapping[str, exp.Expr]) -> str:
    """A view's own text as the clock was read; the rest stays as it was written, for nobody but Spark to read."""
    tokens = SparkSQL().tokenize(text)
    ends = {token.start: place for place, token in enumerate(tokens)}
    changes = []
    for node in calls(parse_query(text)):
        called = node if isinstance(node, exp.Anonymous) else node.this
        start = called.meta_get("start")
        last = tokens[ends[start] + (2 if called is node else 0)]  # the name, or its parentheses
        changes.append((start, last.end, value(clock_function(node) or "", reading)))
    return spliced(text, changes)


def clock_columns(text: str) -> frozenset[str]:
    """The columns of the clock that a view's text reads."""
    tree = parse_query(text)
    refuse_elsewhere(tree)
    return frozenset(FUNCTIONS[clock_function(node) or ""] for node in calls(tree))

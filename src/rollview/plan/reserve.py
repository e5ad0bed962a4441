"""The first rows of an order are stored with some in reserve.

For `ORDER BY … LIMIT` at the top of a view the rows up to a bound b are stored, more of them than are shown:

    P_b = σ_{e ⪯ b}(R),   e the expressions of ORDER BY, compared one after the other

σ is linear, so ΔP_b = σ_{e ⪯ b}(ΔR): only what changes is looked at, not R. What comes before a row of P_b is in P_b as
well, so row_number() and rank() give its rows the same values as they have in R. If P_b has n rows, or there is no
bound, every row with a value up to n is among them, and so τ(P_b) = τ(R). Only if deletions leave fewer is P_b derived
anew, with another bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Aggregate, Filter, Project, Relation, Window, keep
from rollview.algebra.scalar import Scalar, col, conjunction, conjuncts
from rollview.algebra.walking import walk
from rollview.frontend.refuse import function_name
from rollview.frontend.windows import called
from rollview.names import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SPARE = 100
"""at least so many rows are in reserve"""
GROWTH = 8
"""the stored rows are cut back when they have become so many times more"""
SPELLED = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "string", "date", "timestamp")
"""types whose values can be written as literals"""
MANY_GROUPS = 12
"""over more inner aggregates the SQL of a change becomes so long that it takes too much time to compile"""
PLACE, LAST, ROWS = f"{PREFIX}place", f"{PREFIX}last", f"{PREFIX}rows"
USED, FULL = "RV-RESERVE-USED", "RV-RESERVE-FULL"

Bound = tuple[exp.Expr, ...]
"""a literal for each expression of the order"""


@dataclass(frozen=True, slots=True)
class Stock:
    """What is stored: how many rows, how many they were when they were last derived, and the bound, if there is one."""

    rows: int
    derived: int
    bound: Bound | None


@dataclass(frozen=True, slots=True)
class Reserve:
    """Of `source` the first rows in an `order` are stored; readers see those up to the place `needed`."""

    source: Relation
    order: tuple[exp.Ordered, ...]
    needed: int
    spare: int

    @property
    def wanted(self) -> int:
        return self.needed + self.spare

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(o.this.name for o in self.order)

    @property
    def placeholders(self) -> Bound:
        """A bound that is not known yet, for people to read."""
        return tuple(exp.Placeholder(this=f"bound{n}") for n, _ in enumerate(self.order, 1))

    def chosen(self, rows: Relation) -> Relation:
        """The first of some rows, as many as are wanted, and those that tie with the last."""
        rank = ((PLACE, over("rank", self.order)),)
        return keep(Filter(Window(rows, rank), at_most(PLACE, self.wanted)), rows.names)

    def edge(self, rows: Relation) -> Relation:
        """The order's values in the last of the rows, and how many rows there are; nothing if there are none."""
        counted = Window(rows, ((LAST, over("row_number", backwards(self.order))), (ROWS, over("count"))))
        return keep(Filter(counted, at_most(LAST, 1)), (*dict.fromkeys(self.columns), ROWS))

    def within(self, bound: Bound) -> Scalar:
        return within(self.order, bound)

    def unfit(self, stock: Stock) -> str | None:
        """Why the stored rows must be replaced: too few of them, or far too many."""
        if stock.bound is not None and stock.rows < self.needed:
            return USED
        return FULL if stock.rows > GROWTH * max(self.wanted, stock.derived) else None


def within(order: Sequence[exp.Ordered], bound: Bound) -> Scalar:
    """e ⪯ b: e₁ before b₁, or equal to it and e₂ before b₂, … or equal in all."""
    test: exp.Expr | None = None
    for ordered, value in reversed(list(zip(order, bound, strict=True))):
        rest = same(ordered, value)
        if test is not None:
            rest = exp.And(this=rest, expression=exp.Paren(this=test))
        test = exp.Or(this=before(ordered, value), expression=rest)
    assert test is not None
    return Scalar(test)


def over(function: str, order: Sequence[exp.Ordered] = (), groups: Sequence[str] = ()) -> Scalar:
    """A function that ranks or counts rows, among all or in their group."""
    call = exp.Count(this=exp.Star()) if function == "count" else exp.Anonymous(this=function)
    clause = {"order": exp.Order(expressions=[o.copy() for o in order])} if order else {}
    return Scalar(exp.Window(this=call, partition_by=[col(g).tree for g in groups], over="OVER", **clause))


def backwards(order: Sequence[exp.Ordered]) -> list[exp.Ordered]:
    return [
        exp.Ordered(this=o.this.copy(), desc=not o.args.get("desc"), nulls_first=not o.args["nulls_first"])
        for o in order
    ]


def at_most(name: str, number: int) -> Scalar:
    return Scalar(exp.LTE(this=col(name).tree, expression=exp.Literal.number(number)))


def before(ordered: exp.Ordered, value: exp.Expr) -> exp.Expr:
    """Does the row come before the value?"""
    column, first = ordered.this, ordered.args["nulls_first"]
    if isinstance(value, exp.Null):
        return exp.false() if first else exp.Not(this=is_null(column))
    comparison = exp.GT if ordered.args.get("desc") else exp.LT
    earlier = comparison(this=column.copy(), expression=value.copy())
    if isinstance(value, exp.Column):  # of which nobody knows whether it is NULL
        null, other = (column, value) if first else (value, column)
        return exp.Or(this=exp.And(this=is_null(null), expression=exp.Not(this=is_null(other))), expression=earlier)
    return exp.Or(this=is_null(column), expression=earlier) if first else earlier


def same(ordered: exp.Ordered, value: exp.Expr) -> exp.Expr:
    if isinstance(value, exp.Null):
        return is_null(ordered.this)
    equality = exp.NullSafeEQ if isinstance(value, exp.Column) else exp.EQ
    return equality(this=ordered.this.copy(), expression=value.copy())


def is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=value.copy(), expression=exp.null())


@dataclass(frozen=True, slots=True)
class FirstRows:
    """π(σ(ω(R))), where σ lets through only rows up to a place in an order of all of R, or of each of its groups."""

    columns: tuple[tuple[str, Scalar], ...]
    predicate: Scalar
    window: Window
    needed: int

    @property
    def place(self) -> str:
        return self.window.columns[0][0]

    @property
    def function(self) -> exp.Expr:
        return self.window.columns[0][1].tree


def first_rows(definition: Relation) -> FirstRows | None:
    """The form of a view that asks for the first rows; None if it is another one."""
    top = definition if isinstance(definition, Project) else keep(definition, definition.names)
    node = top.source
    predicates: list[Scalar] = []
    while isinstance(node, Filter):
        predicates += conjuncts(node.predicate)
        node = node.source
    if not isinstance(node, Window) or len(node.columns) > 1:
        return None
    place, window = node.columns[0]
    if function_name(called(window.tree)) not in ("row_number", "rank") or not window.tree.args.get("order"):
        return None
    if sum(isinstance(n, Aggregate) for n in walk(node)) > MANY_GROUPS:
        return None
    limits = [n for n in (limit(p.tree, place) for p in predicates) if n is not None]
    all_of_them = conjunction(predicates)
    if not limits or all_of_them is None:
        return None
    return FirstRows(top.columns, all_of_them, node, max(0, min(limits)))


def limit(test: exp.Expr, place: str) -> int | None:
    """The last place that a condition lets through, if it is such a condition."""
    if not isinstance(test, exp.LTE | exp.LT | exp.EQ | exp.Between) or test.this != col(place).tree:
        return None
    last = test.args["high" if isinstance(test, exp.Between) else "expression"].unnest()
    if not isinstance(last, exp.Literal) or not last.is_int:
        return None
    return int(last.name) - isinstance(test, exp.LT)


def spelled(order: Sequence[exp.Ordered], types: Iterable[str]) -> tuple[exp.Ordered, ...]:
    """The order as far as its values can be written down; what is cut off only makes more rows tie."""
    found = []
    for ordered, kind in zip(order, types, strict=True):
        if kind not in SPELLED and kind != "timestamp_ntz" and not kind.startswith("decimal("):
            break
        found.append(ordered)
    return tuple(found)

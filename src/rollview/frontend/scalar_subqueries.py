"""Scalar subqueries: a value for each row of the query around them, by a join.

    x > (SELECT AVG(v) FROM S)                     R × γ(S), which has one row
    x > (SELECT AVG(v) FROM S WHERE S.k = R.k)     R ⟕ γ_k(S) on R.k = k

What the subquery computes from its aggregates is computed above the join, so that a row without a partner gets what an
empty group gives: NULL from most functions, but 0 from COUNT. A correlation that is no equality is made one: the
subquery is joined with the distinct values that the query around it has, and grouped by them.

A subquery without an aggregate must find at most one row. Keys may show that it does; else its rows are counted, and
more than one is an error, as in Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra import facts
from rollview.algebra.relation import Aggregate, Function, Join, Measure, OuterJoin, Project, Relation
from rollview.algebra.scalar import Scalar, col, conjunction, equal, operand
from rollview.errors import RollviewError
from rollview.frontend.grouping import Grouping
from rollview.frontend.refuse import bad, not_yet
from rollview.frontend.scalars import is_grouping
from rollview.frontend.scope import mark_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rollview.frontend.subqueries import Ctes, Step, Subqueries

ONE_GROUP = frozenset(["with_", "expressions", "from_", "joins", "laterals", "where", "having", "order", "hint"])
"""the parts of a SELECT that is one group"""
DEPENDS = ("RV-UNKNOWN-COLUMN", "RV-SUBQUERY", "RV-LATERAL", "RV-NOT-GROUPED")
"""what is said of a query that cannot be read apart from the one around it"""
SEVERAL_ROWS = "a scalar subquery found more than one row"


@dataclass(frozen=True, slots=True)
class Equality:
    """inner = outer, or inner <=> outer."""

    inner: Scalar
    outer: Scalar
    null_safe: bool

    def test(self, key: str) -> Scalar:
        if self.null_safe:
            return equal(self.outer, col(key))
        return Scalar(exp.EQ(this=operand(self.outer.tree), expression=col(key).tree))


def scalar_value(subqueries: Subqueries, steps: list[Step], node: exp.Subquery) -> exp.Expr:
    """A column for the subquery's value; the join that makes it is added to the steps."""
    query = node.this.unnest()
    ctes = subqueries.lowering.with_ctes(query, subqueries.ctes)
    if isinstance(query, exp.Select) and is_one_group(query):
        try:
            return of_one_group(subqueries, steps, query, ctes)
        except RollviewError as error:
            if error.code not in DEPENDS or subqueries.around is None:
                raise
    return of_one_row(subqueries, steps, node)


def is_one_group(query: exp.Select) -> bool:
    return is_grouping(query) and not any(v and part not in ONE_GROUP for part, v in query.args.items())


def of_one_group(subqueries: Subqueries, steps: list[Step], query: exp.Select, ctes: Ctes) -> exp.Expr:
    if len(query.expressions) != 1:
        raise several_columns(len(query.expressions), query)
    lowering = subqueries.lowering
    scope, correlated = subqueries.rows(query, ctes)
    grouping = Grouping(scope, lowering.scalars, lowering.allocator, lowering.tables)
    value = grouping.above(query.expressions[0].unalias())
    having = query.args.get("having")
    if having is not None:
        value = Scalar(exp.Case().when(grouping.above(having.this).tree, value.tree))
    measures = grouping.aggregate(query).measures
    if correlated:
        value = grouping.without_rows(value, query)
    return attached(subqueries, steps, Group(scope.relation, tuple(correlated), measures), value, query)


def of_one_row(subqueries: Subqueries, steps: list[Step], node: exp.Subquery) -> exp.Expr:
    inner = subqueries.inner(node)
    if len(inner.outputs) != 1:
        raise several_columns(len(inner.outputs), node)
    key = facts.key(inner.relation, subqueries.lowering.tables)
    pairs = equalities(inner.correlated, inner.relation)
    new = subqueries.lowering.allocator.name
    if not key or not {p.inner.column for p in pairs}.issuperset(key):
        value, rows = Measure(new("value"), Function.MAX, inner.outputs[0]), Measure(new("rows"), Function.COUNT)
        several = exp.GT(this=col(rows.name).tree, expression=exp.Literal.number(1))
        refused = exp.Anonymous(this="raise_error", expressions=[exp.Literal.string(SEVERAL_ROWS)])
        checked = Scalar(exp.Case().when(several, refused).else_(col(value.name).tree))
        return attached(subqueries, steps, Group(inner.relation, inner.correlated, (value, rows)), checked, node)
    name = new("value")
    found = Project(inner.relation, (*((n, col(n)) for n in inner.relation.names), (name, inner.outputs[0])))

    def step(relation: Relation) -> Relation:
        return OuterJoin(relation, found, within(inner.predicate(), relation, found, node))

    steps.append(step)
    return mark_column(name)


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of a subquery that is one group for each row around it."""

    rows: Relation
    correlated: tuple[Scalar, ...]
    measures: tuple[Measure, ...]


def attached(subqueries: Subqueries, steps: list[Step], group: Group, value: Scalar, node: exp.Expr) -> exp.Expr:
    name = subqueries.lowering.allocator.name("value")

    def step(relation: Relation) -> Relation:
        joined = beside(relation, group, subqueries, node)
        return Project(joined, (*((n, col(n)) for n in relation.names), (name, value)))

    steps.append(step)
    return mark_column(name)


def beside(relation: Relation, group: Group, subqueries: Subqueries, node: exp.Expr) -> Relation:
    """Every row beside the measures of its group; NULLs if that has no rows."""
    if not group.correlated:
        return Join(relation, Aggregate(group.rows, (), group.measures, grouped=False))
    new = subqueries.lowering.allocator.name
    pairs = equalities(group.correlated, group.rows)
    if len(pairs) == len(group.correlated):
        keys = tuple((new("k"), p.inner) for p in pairs)
        found = Aggregate(group.rows, keys, group.measures)
        tests = [p.test(k) for p, (k, _) in zip(pairs, keys, strict=True)]
    else:
        needed = frozenset[str]().union(*(c.columns for c in group.correlated)) - set(group.rows.names)
        given = {n: new(n) for n in sorted(needed)}
        if not needed <= set(relation.names):
            raise beyond(node)
        values = Aggregate(relation, tuple((v, col(n)) for n, v in given.items()), ())
        renamed = {n: col(v) for n, v in given.items()}
        met = Join(values, group.rows, conjunction(c.substitute(renamed) for c in group.correlated))
        names = {n: new("k") for n in given}
        found = Aggregate(met, tuple((names[n], col(v)) for n, v in given.items()), group.measures)
        tests = [equal(col(n), col(k)) for n, k in names.items()]
    predicate = conjunction(tests)
    assert predicate is not None
    return OuterJoin(relation, found, within(predicate, relation, found, node))


def equalities(correlated: Sequence[Scalar], inner: Relation) -> list[Equality]:
    """The conditions that equate an expression of the subquery with one of the query around it."""
    here, result = set(inner.names), []
    for condition in correlated:
        if isinstance(condition.tree, exp.EQ | exp.NullSafeEQ):
            a, b = Scalar(condition.tree.this), Scalar(condition.tree.expression)
            if b.columns and b.columns <= here:
                a, b = b, a
            if a.columns and a.columns <= here and not b.columns & here:
                result.append(Equality(a, b, isinstance(condition.tree, exp.NullSafeEQ)))
    return result


def within(predicate: Scalar, left: Relation, right: Relation, node: exp.Expr) -> Scalar:
    if not predicate.columns <= {*left.names, *right.names}:
        raise beyond(node)
    return predicate


def beyond(node: exp.Expr) -> Exception:
    return not_yet("a subquery that refers beyond the query around it", "RV-SUBQUERY", node)


def several_columns(number: int, node: exp.Expr) -> Exception:
    return bad(f"a scalar subquery has one column, not {number}", "RV-SUBQUERY-COLUMNS", node, "select one column")

"""PIVOT and UNPIVOT, said by other operators.

PIVOT is a grouping by the columns that it does not name; each of its columns is an aggregate of the rows with one
value. Where a group has no such rows it is NULL, also for COUNT, if every aggregate is a number or a truth; else Spark
computes it another way, and it is what the aggregate is over no rows. UNPIVOT is a generator of one row per group of
columns, less those groups that are all NULL. What columns are called, and the type that several have in common, Spark
says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Filter, Generate, Project, Relation, Window, keep
from rollview.algebra.scalar import Scalar, col
from rollview.algebra.walking import rebuilt
from rollview.frontend.aggregates import aggregate_call
from rollview.frontend.grouping import Grouping
from rollview.frontend.normalise import prune_columns
from rollview.frontend.refuse import bad, not_yet, words
from rollview.frontend.scope import Named, Scope, Visible, fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rollview.algebra.schema import Schema
    from rollview.frontend.lower import Lowering

NUMBERS = words("boolean tinyint smallint int bigint float double")


def pivoted(lowering: Lowering, scope: Scope, pivot: exp.Pivot) -> Scope:
    """What FROM … PIVOT (…) or UNPIVOT (…) offers."""
    found: list[exp.Expr] = pivot.args.get("fields") or []
    if len(found) != 1 or not isinstance(found[0], exp.In) or not found[0].expressions:
        raise not_yet("PIVOT of this form", "RV-PIVOT", pivot, "FOR a column, or columns in parentheses, IN a list")
    if pivot.args.get("unpivot"):
        return unpivoted(lowering, scope, pivot, found[0])
    return columns_of_values(lowering, scope, pivot, found[0])


def columns_of_values(lowering: Lowering, scope: Scope, pivot: exp.Pivot, field: exp.In) -> Scope:
    new = lowering.allocator.name
    clause = Clause(lowering, scope, pivot, [field.this, *pivot.expressions])
    made = clause.columns(named_alike_matters=sum(not call.alias for call in pivot.expressions) > 0)
    calls = [call.unalias() for call in pivot.expressions]
    if len(made) != len(calls) * len(field.expressions):
        raise not_yet("PIVOT of this form", "RV-PIVOT", pivot)
    grouping = Grouping(scope, lowering.scalars, lowering.allocator, lowering.tables)
    kept: dict[str, Visible] = {}
    outputs: list[tuple[Visible, Scalar]] = []
    for visible in scope.shown:
        if visible.unique not in clause.types:
            grouping.keys.append((key := new(visible.name), col(visible.unique)))
            kept[visible.unique] = Visible(visible.name, new(visible.name), visible.given)
            outputs.append((kept[visible.unique], col(key)))
    padded = all(c.type in NUMBERS or c.type.startswith("decimal") for c in made)
    tests = [clause.matching(parts(field.this), value_of(v)) for v in field.expressions]
    cells = [cell(call, test, padded=padded) for test in tests for call in calls]
    values = [(Visible(c.name, new(c.name)), grouping.above(tree)) for c, tree in zip(made, cells, strict=True)]
    outputs += values
    relation = Project(grouping.aggregate(), tuple((v.unique, e) for v, e in outputs))
    return turned(scope, pivot, relation, kept, [v for v, _ in values])


def cell(call: exp.Expr, test: exp.Expr, *, padded: bool) -> exp.Expr:
    """The aggregates of the rows that pass a test; `padded` is NULL where there are none."""
    chosen = restricted(call, test)
    if not padded:
        return chosen
    rows = exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=test.copy()))
    none = exp.EQ(this=rows, expression=exp.Literal.number(0))
    return exp.Case().when(none, exp.null()).else_(chosen)


def restricted(tree: exp.Expr, test: exp.Expr) -> exp.Expr:
    """The expression with each of its aggregates over those rows only that pass a test."""

    def filtered(node: exp.Expr) -> exp.Expr:
        call = aggregate_call(node)
        if call is None or call.sorted:
            return node
        if not isinstance(node, exp.Filter):
            return exp.Filter(this=node.copy(), expression=exp.Where(this=test.copy()))
        both = exp.And(this=exp.Paren(this=node.expression.this.copy()), expression=exp.Paren(this=test.copy()))
        return exp.Filter(this=node.this.copy(), expression=exp.Where(this=both))

    return tree.transform(filtered)


def unpivoted(lowering: Lowering, scope: Scope, pivot: exp.Pivot, field: exp.In) -> Scope:
    new = lowering.allocator.name
    clause = Clause(lowering, scope, pivot, field.expressions)
    targets = [name for item in pivot.expressions for name in parts(item)]
    groups = [
        [scope.resolve(tree) for tree in parts(value_of(item)) if isinstance(tree, exp.Column)]
        for item in field.expressions
    ]
    if any(len(group) != len(targets) or any(s.column is None for s in group) for group in groups):
        hint = f"{len(targets)} in each group"
        raise bad("UNPIVOT takes as many columns as it makes", "RV-PIVOT", pivot, hint)
    wanted = clause.common_types(groups)
    key, *values = (Visible(n.name, new(n.name)) for n in (field.this, *targets))
    arguments: list[exp.Expr] = [exp.Literal.number(len(groups))]
    for item, group in zip(field.expressions, groups, strict=True):
        arguments.append(exp.Literal.string(group_name(item)))
        arguments += [clause.cast(scalar, type_) for scalar, type_ in zip(group, wanted, strict=True)]
    stack = Scalar(exp.Anonymous(this="stack", expressions=arguments))
    relation: Generate | Filter = Generate(scope.relation, stack, tuple(v.unique for v in (key, *values)))
    if not pivot.args.get("include_nulls"):
        nulls = [exp.Is(this=col(v.unique).tree, expression=exp.Null()) for v in values]
        relation = Filter(relation, Scalar(exp.not_(exp.and_(*nulls))))
    kept = {c.unique: c for c in scope.shown if c.unique not in clause.types}
    return turned(scope, pivot, relation, kept, [key, *values])


def turned(
    scope: Scope, pivot: exp.Pivot, relation: Relation, kept: Mapping[str, Visible], made: Sequence[Visible]
) -> Scope:
    """The columns that stay, which their tables still name, and the new ones; an alias is a table of all of them."""
    shown = [*kept.values(), *made]
    if pivot.alias:
        return Scope.of(relation, Named(pivot.alias, tuple(shown)))
    left = [Named(i.alias, tuple(kept[c.unique] for c in i.columns if c.unique in kept)) for i in scope.items]
    return Scope(relation, [*left, Named("", tuple(made))], shown=shown, outer=scope.outer)


class Clause:
    """What a clause names of a scope, with types, and what Spark makes of it."""

    def __init__(self, lowering: Lowering, scope: Scope, pivot: exp.Pivot, trees: Iterable[exp.Expr]) -> None:
        self.typer = lowering.typer
        self.scope = scope
        self.pivot = pivot
        read = {n: None for t in trees for c in t.find_all(exp.Column) for n in sorted(scope.resolve(c).columns)}
        known = self.typer.relation(prune_columns(keep(without_filters(scope.relation), tuple(read)))) if read else ()
        self.types = {c.name: c.type for c in known}
        """of the columns that are named, by their unique names"""

    def columns(self, *, named_alike_matters: bool) -> Schema:
        """What the clause makes of a table that has but these columns; they are called as the user calls them, because
        that is part of the names of aggregates without alias."""
        shown = {c.unique: c.name for i in self.scope.items for c in i.columns if c.unique in self.types}
        names = [name.lower() for name in shown.values()]
        doubled = {unique for unique, name in shown.items() if names.count(name.lower()) > 1}
        if doubled and named_alike_matters and len(self.pivot.expressions) > 1:
            raise not_yet(
                "PIVOT over two columns of one name, with several aggregates without names",
                "RV-PIVOT",
                self.pivot,
                "give each an alias",
            )

        unpivot = self.pivot.args.get("unpivot")

        def alone(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or (unpivot and not node.find_ancestor(exp.In)):
                return node
            scalar = self.scope.resolve(node)
            (unique,) = scalar.columns
            deep = sum(1 for _ in scalar.tree.find_all(exp.Dot))
            given = [p.name for p in node.parts]
            name = unique if unique in doubled else given[len(given) - deep - 1]
            return fields(col(name), given[len(given) - deep :]).tree

        columns = [(unique if unique in doubled else name, self.types[unique]) for unique, name in shown.items()]
        clause = self.pivot.transform(alone)
        assert isinstance(clause, exp.Pivot)
        return self.typer.pivoted(columns, clause)

    def common_types(self, groups: Sequence[Sequence[Scalar]]) -> list[str]:
        """The types of the columns that UNPIVOT makes: of each place, the one type that all can become."""
        found = [[self.types[str(s.column)] for s in place] for place in zip(*groups, strict=True)]
        if all(len(set(types)) == 1 for types in found):
            return [types[0] for types in found]
        return [c.type for c in self.columns(named_alike_matters=False)][-len(found) :]

    def cast(self, scalar: Scalar, wanted: str) -> exp.Expr:
        tree = scalar.tree.copy()
        return tree if self.types[str(scalar.column)] == wanted else exp.cast(tree, wanted, dialect="spark")

    def matching(self, columns: Sequence[exp.Expr], value: exp.Expr) -> exp.Expr:
        """Have the columns a value? Spark casts it to what they are, and NULL is a value here."""
        if len(columns) == 1:
            return self.same(columns[0], value)
        if isinstance(value, exp.Tuple) and len(value.expressions) == len(columns):
            return exp.and_(*(self.same(c, v) for c, v in zip(columns, value.expressions, strict=True)))
        names = [f"c{i}" for i in range(len(columns))]
        type_ = ",".join(f"{n}:{self.type_of(c)}" for n, c in zip(names, columns, strict=True))
        whole = exp.Anonymous(this="struct", expressions=[c.copy() for c in columns])
        return exp.NullSafeEQ(this=whole, expression=exp.cast(value.copy(), f"struct<{type_}>", dialect="spark"))

    def same(self, column: exp.Expr, value: exp.Expr) -> exp.Expr:
        type_ = self.type_of(column)
        plain = isinstance(value, exp.Literal) and (
            type_ == "string" if value.is_string else value.is_int and type_ in ("int", "bigint")
        )
        cast = value.copy() if plain or isinstance(value, exp.Null) else exp.cast(value.copy(), type_, dialect="spark")
        return exp.NullSafeEQ(this=column.copy(), expression=cast)

    def type_of(self, column: exp.Expr) -> str:
        assert isinstance(column, exp.Column)
        return self.types[str(self.scope.resolve(column).column)]


def without_filters(node: Relation) -> Relation:
    """The same columns, of the same types, perhaps of more rows: Spark has no type for the first rows in no order."""
    node = rebuilt(node, without_filters)
    return node.source if isinstance(node, Filter) and isinstance(node.source, Window) else node


def parts(tree: exp.Expr) -> list[exp.Expr]:
    """The columns of a group, of which one may stand without parentheses."""
    return list(tree.expressions) if isinstance(tree, exp.Tuple) else [tree.unnest()]


def value_of(item: exp.Expr) -> exp.Expr:
    body = item.this if isinstance(item, exp.PivotAlias) else item
    return body if isinstance(body, exp.Tuple) else body.unnest()


def group_name(item: exp.Expr) -> str:
    """What UNPIVOT calls a group without alias: its columns, in the user's letters."""
    return item.alias if isinstance(item, exp.PivotAlias) else "_".join(c.name for c in parts(item))

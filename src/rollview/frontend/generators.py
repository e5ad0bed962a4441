"""Generators: LATERAL VIEW, lateral joins with a generator, explode in a SELECT list, VALUES.

All become one node, Generate, over whatever is in scope; a generator without FROM works on one constant row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from sqlglot import exp

from rollview.algebra.relation import Filter, Generate, Relation, Values
from rollview.algebra.scalar import Scalar, literal, operand
from rollview.frontend.joins import INNER, LEFT, kind_of
from rollview.frontend.refuse import ROW_GENERATORS, bad, function_name, not_yet, words
from rollview.frontend.scope import Allocator, Named, Scope, Visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rollview.frontend.scalars import Scalars
    from rollview.frontend.typing import Typer

OF_NULL_NOTHING = words("explode posexplode inline variant_explode")
"""generators that make no row of NULL"""


def is_generator(tree: exp.Expr) -> TypeGuard[exp.Anonymous]:
    return isinstance(tree, exp.Anonymous) and function_name(tree) in ROW_GENERATORS


class Generators:
    """Adds what a generator makes to a scope."""

    def __init__(self, typer: Typer, scalars: Scalars, allocator: Allocator) -> None:
        self.typer = typer
        self.scalars = scalars
        self.allocator = allocator

    def generate(
        self, tree: exp.Expr, scope: Scope, names: list[str], *, outer: bool, relation: Relation | None = None
    ) -> tuple[Generate, tuple[Visible, ...]]:
        """The generator over the scope's rows, or over a relation that has them; `names` are the user's, if any."""
        if not is_table_function(tree):
            raise not_yet(f"{tree.sql('spark')} as a generator", "RV-GENERATOR", tree)
        name = function_name(tree)
        source = scope.relation if relation is None else relation
        if name == RANGE:
            call, names = counted(tree), names or ["id"]
        else:
            arguments = [self.scalars.lower(a, scope).tree for a in tree.expressions]
            call = Scalar(exp.Anonymous(this=name.removesuffix("_outer"), expressions=arguments))
        named = tuple(names) or self.typer.generated(source, call)
        visible = tuple(Visible(n, self.allocator.name(n)) for n in named)
        made = Generate(source, call, tuple(v.unique for v in visible), outer or name.endswith("_outer"))
        return made, visible

    def beside(self, node: exp.Lateral, scope: Scope) -> None:
        """R LATERAL VIEW [OUTER] g(…) t AS …, or R, LATERAL g(…) AS t(…): the columns of t beside those of R."""
        outer = bool(node.args.get("outer"))
        scope.relation, visible = self.generate(node.this, scope, column_list(node), outer=outer)
        made = Scope.of(scope.relation, Named(node.alias, visible))
        scope.join(made)

    def joined(self, join: exp.Join, scope: Scope) -> bool:
        """R [LEFT] JOIN LATERAL g(…) t ON p; LEFT keeps a row of R of which nothing is made that satisfies p. False if
        that takes a subquery."""
        kind, on = kind_of(join), join.args.get("on")
        if kind == INNER:
            self.beside(join.this, scope)
            if on is not None:
                scope.relation = Filter(scope.relation, self.scalars.lower(on, scope))
            return True
        if kind != LEFT or join.args.get("using") or join.method:
            raise not_yet("this join with a generator", "RV-LATERAL", join, "use JOIN or LEFT JOIN, with ON")
        if on is None:
            hint = "write ON TRUE to keep rows of which nothing is made, or JOIN to drop them"
            raise not_yet("LEFT JOIN LATERAL without ON, which Spark takes for JOIN,", "RV-LATERAL", join, hint)
        made, visible = self.generate(join.this.this, scope, column_list(join.this), outer=True)
        item = Scope.of(made, Named(join.this.alias, visible))
        test = self.scalars.lower(on, scope.beside(item))
        if test != literal(True):
            restricted = self.restricted(made, test, scope.relation)
            if restricted is None:
                return False
            made = replace(made, generator=restricted)
        scope.join(item)
        scope.relation = made
        return True

    def restricted(self, made: Generate, test: Scalar, source: Relation) -> Scalar | None:
        """The generator of those rows only that satisfy a condition, if its argument can be restricted to these."""
        call = made.generator.tree
        name, first = function_name(call), call.expressions[0]
        if not test.columns & set(made.columns) and name in OF_NULL_NOTHING:
            chosen: exp.Expr = exp.Case().when(operand(test.tree), first.copy())
        elif name == "explode":
            variables = [exp.to_identifier(self.allocator.name("element"), quoted=True) for _ in made.columns]
            stands_for: dict[str, exp.Expr] = dict(zip(made.columns, variables, strict=True))
            chosen = filtered(first, variables, test, stands_for, "filter" if len(variables) == 1 else "map_filter")
        elif name == "inline":
            struct = exp.to_identifier(self.allocator.name("element"), quoted=True)
            named = zip(made.columns, self.typer.generated(source, made.generator), strict=True)
            parts: dict[str, exp.Expr] = {
                n: exp.Dot(this=struct, expression=exp.to_identifier(f, quoted=True)) for n, f in named
            }
            chosen = filtered(first, [struct], test, parts, "filter")
        else:
            return None
        return Scalar(exp.Anonymous(this=name, expressions=[chosen, *(e.copy() for e in call.expressions[1:])]))

    def table(self, node: exp.Expr, around: Scope) -> Scope:
        """FROM g(…): the rows that a generator makes of constants, or of what is around."""
        made, visible = self.generate(node.this, around, column_list(node), outer=False)
        return Scope.of(made, Named(node.alias, visible), around.keys)

    def values(self, node: exp.Values, item: exp.Expr) -> Scope:
        """FROM VALUES (…), …: constant rows, their columns named col1, col2 … if nothing else is said."""
        around = nowhere(self.allocator)
        trees = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        if len({len(row) for row in trees}) != 1:
            raise bad("the rows of VALUES differ in their number of columns", "RV-VALUES", node, "make them equal")
        names = column_list(item) or [f"col{i + 1}" for i in range(len(trees[0]))]
        if len(names) != len(trees[0]):
            raise bad(
                "VALUES has another number of columns than the list of names",
                "RV-ALIAS-COLUMNS",
                node,
                "name all columns, or none",
            )
        rows = tuple(tuple(self.scalars.lower(v, around) for v in row) for row in trees)
        visible = tuple(Visible(n, self.allocator.name(n)) for n in names)
        return Scope.of(Values(rows, tuple(v.unique for v in visible)), Named(item.alias, visible))


RANGE = "range"


def is_table_function(tree: exp.Expr) -> bool:
    return is_generator(tree) or (isinstance(tree, exp.Anonymous) and function_name(tree) == RANGE)


def counted(call: exp.Expr) -> Scalar:
    """The numbers that range([start,] end [, step [, partitions]]) of literals counts."""
    given = [Scalar(a) for a in call.expressions]
    if not 1 <= len(given) <= 4 or not all(a.is_integer for a in given):
        raise not_yet("range() of expressions", "RV-GENERATOR", call, "write the numbers")
    numbers = [int(str(a)) for a in given[:3]]
    if len(numbers) == 3 and numbers[2] == 0:
        raise bad("the step of range() is 0", "RV-GENERATOR", call, "write another step")
    steps = range(*numbers)
    ends = [steps[0], steps[-1], steps.step] if steps else [0, 0, 1]
    bounds = [exp.cast(exp.convert(n), "bigint", dialect="spark") for n in ends]
    made: exp.Expr = exp.Anonymous(this="sequence", expressions=bounds)
    if not steps:
        made = exp.Anonymous(this="slice", expressions=[made, exp.Literal.number(1), exp.Literal.number(0)])
    return Scalar(exp.Anonymous(this="explode", expressions=[made]))


def filtered(
    elements: exp.Expr, variables: list[exp.Identifier], test: Scalar, stands_for: Mapping[str, exp.Expr], name: str
) -> exp.Expr:
    """The elements of an array or a map that satisfy a condition on the columns that they become."""

    def inside(node: exp.Expr) -> exp.Expr:
        return stands_for[node.name].copy() if isinstance(node, exp.Column) and node.name in stands_for else node

    condition = exp.Lambda(this=test.tree.transform(inside), expressions=[v.copy() for v in variables])
    return exp.Anonymous(this=name, expressions=[elements.copy(), condition])


def nowhere(allocator: Allocator) -> Scope:
    """What a query without FROM reads: one row."""
    return Scope.of(Values(((literal(1),),), (allocator.name("one"),)), Named("", ()))


def column_list(node: exp.Expr) -> list[str]:
    alias = node.args.get("alias")
    return [c.name for c in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []

"""s.*: the fields of a struct, each a column; f(*) and f(t.*): every column, each an argument.

A table of that name wins over a struct, as in Spark. STRUCT calls its fields as the user calls what they are made of,
so here it is NAMED_STRUCT: columns get other names on their way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Project
from rollview.algebra.scalar import Scalar
from rollview.errors import BadInput
from rollview.frontend.refuse import bad, function_name
from rollview.frontend.scalars import is_grouping
from rollview.frontend.scope import mark_column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rollview.frontend.lower import Lowering
    from rollview.frontend.scope import Scope

Item = tuple[str, exp.Expr]


def fields_named(tree: exp.Query) -> exp.Query:
    """The query with NAMED_STRUCT for every STRUCT whose arguments can be told from the text."""

    def named(node: exp.Expr) -> exp.Expr:
        if not is_struct(node) or any(is_star(e) for e in node.expressions):
            return node
        return named_struct(field(e.transform(named), i) for i, e in enumerate(node.expressions))

    if not any(is_struct(n) for n in tree.find_all(exp.Anonymous)):
        return tree
    result = tree.transform(named)
    assert isinstance(result, exp.Query)
    return result


def stars_opened(lowering: Lowering, node: exp.Select, scope: Scope) -> exp.Select:
    """The SELECT with fields in the place of every star of a struct, and arguments for every star in a call."""
    if not any(is_struct_star(i, scope) or (not is_star(i) and i.find(exp.Star)) for i in node.expressions):
        return node
    copy = node.copy()
    copy.set("expressions", [])
    for item in node.expressions:
        for opened in opened_item(lowering, item, scope, grouped=is_grouping(node)):
            copy.append("expressions", opened)
    return copy


def opened_item(lowering: Lowering, item: exp.Expr, scope: Scope, *, grouped: bool) -> list[exp.Expr]:
    if is_star(item):
        found = columns_of(lowering, item, scope) if is_struct_star(item, scope) else None
        return [item.copy()] if found is None else [exp.alias_(tree, name, quoted=True) for name, tree in found]

    def opened(node: exp.Expr) -> exp.Expr:
        given = [node.this, *node.expressions] if isinstance(node, exp.Coalesce) else node.expressions
        if not isinstance(node, exp.Anonymous | exp.Array | exp.Coalesce) or not any(is_star(e) for e in given):
            return node
        arguments: list[Item] = []
        for e in given:
            inside = columns_of(lowering, e, scope) if is_star(e) else [field(e.transform(opened), len(arguments))]
            arguments += inside
        if is_struct(node):
            return named_struct(arguments)
        trees = [tree for _, tree in arguments]
        if isinstance(node, exp.Anonymous):
            return exp.Anonymous(this=node.this, expressions=trees)
        return exp.Array(expressions=trees) if isinstance(node, exp.Array) else exp.func("coalesce", *trees)

    return [item.copy() if grouped else item.transform(opened)]


def is_star(item: exp.Expr) -> bool:
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def is_struct_star(item: exp.Expr, scope: Scope) -> bool:
    return (
        isinstance(item, exp.Column)
        and isinstance(item.this, exp.Star)
        and scope.table([p.name for p in item.parts[:-1]]) is None
    )


def is_struct(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and function_name(node) == "struct"


def named_struct(items: Iterable[Item]) -> exp.Expr:
    arguments = [part for name, tree in items for part in (exp.Literal.string(name), tree.unalias())]
    return exp.Anonymous(this="named_struct", expressions=arguments)


def field(tree: exp.Expr, place: int) -> Item:
    """What STRUCT calls the field that it makes of an argument."""
    given = isinstance(tree, exp.Column | exp.Alias | exp.Dot)
    return (tree.output_name if given else "") or f"col{place + 1}", tree


def columns_of(lowering: Lowering, item: exp.Expr, scope: Scope) -> list[Item]:
    """The columns that a star stands for."""
    star = item if isinstance(item, exp.Star) else item.this
    if is_struct_star(item, scope):
        left_out = {c.name.lower() for c in star.args.get("except_") or ()}
        return [(n, tree) for n, tree in field_columns(lowering, item, scope) if n.lower() not in left_out]
    shown = lowering.scalars.select_item(item, scope)
    return [(name, mark_column(scalar.column)) for name, _, scalar in shown if scalar.column is not None]


def field_columns(lowering: Lowering, item: exp.Expr, scope: Scope) -> list[Item]:
    assert isinstance(item, exp.Column)
    *path, _ = (part.copy() for part in item.parts)
    struct = exp.Column(**dict(zip(("this", "table", "db", "catalog"), reversed(path), strict=False)))
    try:
        names = fields_of(lowering, lowering.scalars.resolve(struct, scope), scope)
    except BadInput:
        name = ".".join(p.name for p in path)
        offered = ", ".join(i.alias for i in scope.items if i.alias)
        message = f"there is no table and no struct {name!r} in this FROM clause"
        raise bad(message, "RV-UNKNOWN-TABLE", item, f"tables in scope: {offered}") from None
    return [(n, exp.Dot(this=struct.copy(), expression=exp.to_identifier(n, quoted=True))) for n in names]


def fields_of(lowering: Lowering, struct: Scalar, scope: Scope) -> tuple[str, ...]:
    """The names of a struct's fields; Spark knows them."""
    name = lowering.allocator.name("struct")
    star = Scalar(exp.Column(this=exp.Star(), table=exp.to_identifier(name, quoted=True)))
    return lowering.typer.generated(Project(scope.relation, ((name, struct),)), star)

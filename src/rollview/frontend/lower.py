"""Resolved SQL to algebra. The sqlglot query tree stops here; only scalar expressions live on."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Project, Relation, Scan
from rollview.algebra.scalar import Scalar, col
from rollview.errors import BadInput, BrokenInvariant
from rollview.frontend import subqueries
from rollview.frontend.dependent import Domain, check_join, from_clause, join_values
from rollview.frontend.dialect import MAX_ROUNDS
from rollview.frontend.generators import Generators, column_list, is_generator, is_table_function, nowhere
from rollview.frontend.grouping import Having, Mark, Marked, lower_grouping
from rollview.frontend.joins import lower_join
from rollview.frontend.lateral import lateral, of_query
from rollview.frontend.limit import Asked, first_rows, is_limited
from rollview.frontend.pivot import pivoted
from rollview.frontend.quantifiers import quantifiers_spelled
from rollview.frontend.recursion import LIMIT, RECALLED, names_itself, recalled, recursion
from rollview.frontend.refuse import bad, never, not_yet, words
from rollview.frontend.scalars import Scalars, has_aggregate, is_grouping
from rollview.frontend.scope import Allocator, Lowered, Named, Scope, Visible, listed
from rollview.frontend.session_windows import sessions_opened
from rollview.frontend.sets import counted, distinct_rows, union_all
from rollview.frontend.stars import fields_named, stars_opened
from rollview.frontend.time_filters import refuse_elsewhere
from rollview.frontend.time_windows import last_moments_spelled, windows_opened
from rollview.frontend.variants import paths_spelled
from rollview.names import CLOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from rollview.algebra.schema import BaseTable, Tables
    from rollview.frontend.typing import Typer

SELECT_PARTS = words(
    "with_ distinct expressions from_ joins laterals where group having windows qualify order limit offset hint"
)
ORDERS = ("order", "sort", "cluster", "distribute")
REFUSED = {
    "version": ("a fixed version of a table", "RV-FROM"),
    "when": ("a fixed version of a table", "RV-FROM"),
}


class Lowering:
    """Lowers one view; `tables` are the relations it may read."""

    def __init__(self, tables: Tables, typer: Typer) -> None:
        self.tables = tables
        self.typer = typer
        self.scalars = Scalars(typer.is_builtin)
        self.allocator = Allocator()
        self.generators = Generators(typer, self.scalars, self.allocator)
        self.notes: list[str] = []
        self.domain: Domain | None = None
        """the query around, for one that depends on it"""
        self.inside = self
        """lowers the queries of expressions, which may refer to the one around them"""

    def within(self, domain: Domain) -> Lowering:
        """The same for a query that depends on the one around it."""
        found = copy(self)
        found.domain = domain
        return found

    def query(self, node: exp.Expr, ctes: Mapping[str, exp.Query]) -> Lowered:
        ctes = self.with_ctes(node, ctes)
        if isinstance(node, exp.Subquery):
            self.refuse_all_but(("this", "alias", "with_", "order", "limit", "offset"), node)
            return first_rows(node, self.query(node.this, ctes), self.scalars, self.allocator)
        if isinstance(node, exp.SetOperation):
            return first_rows(node, self.set_operation(node, ctes), self.scalars, self.allocator)
        if isinstance(node, exp.Select):
            return self.select(node, ctes)
        raise not_yet(node.key.upper(), "RV-QUERY", node)

    def with_ctes(self, node: exp.Expr, ctes: Mapping[str, exp.Query]) -> Mapping[str, exp.Query]:
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        result = dict(ctes)
        for cte in clause.expressions:
            body = cte.this
            body.meta["ctes"] = dict(result)
            body.meta["columns"] = column_list(cte)
            body.meta[LIMIT] = cte.args["alias"].meta_get(MAX_ROUNDS)
            body.meta["recursive"] = bool(clause.args.get("recursive")) and names_itself(cte)
            result[cte.alias.lower()] = body
        return result

    def set_operation(self, node: exp.SetOperation, ctes: Mapping[str, exp.Query]) -> Lowered:
        distinct = bool(node.args.get("distinct"))
        sides = [self.query(side, ctes) for side in self.sides(node)]
        first = sides[0]
        for side in sides[1:]:
            if len(side.columns) != len(first.columns):
                raise bad(
                    f"the sides of {operation(node)} differ in their number of columns",
                    "RV-UNION-COLUMNS",
                    node,
                    f"{len(first.columns)} in the first, {len(side.columns)} in another",
                )
        if not isinstance(node, exp.Union):
            return counted(type(node), sides[0], sides[1], self.allocator, all_=not distinct)
        united = union_all(sides, self.allocator)
        return distinct_rows(united, self.allocator) if distinct else united

    def sides(self, node: exp.SetOperation) -> list[exp.Expr]:
        """The sides of a set operation, of a whole chain of unions from left to right; a loop, because chains may be
        long. UNION makes distinct what is below it too, so there ALL means nothing."""
        distinct, found = node.args.get("distinct"), []
        here: exp.Expr = node
        while isinstance(here, exp.SetOperation) and (here is node or joins_chain(here, node, distinct=distinct)):
            if here.args.get("by_name"):
                raise not_yet("UNION BY NAME", "RV-UNION-BY-NAME", here)
            self.refuse_all_but(("with_", "this", "expression", "distinct", "order", "limit", "offset"), here)
            found.append(here.right)
            here = here.left
        return [here, *reversed(found)]

    def select(self, node: exp.Select, ctes: Mapping[str, exp.Query]) -> Lowered:
        """All rows beside what QUALIFY and ORDER BY ask for, then the windows, then QUALIFY, DISTINCT and LIMIT."""
        self.refuse_all_but(SELECT_PARTS, node)
        asked = Asked(node, self.allocator)
        lowered = asked.answered(self.all_rows(asked.query, ctes))
        if node.args.get("distinct"):
            lowered = distinct_rows(lowered, self.allocator)
        if lowered.keys and node.args.get("order") and is_limited(node):
            self.notes.append("RV-LIMIT-INSIDE")
        return first_rows(node, lowered, self.scalars, self.allocator, asked.order(lowered))

    def all_rows(self, node: exp.Select, ctes: Mapping[str, exp.Query]) -> Lowered:
        """The rows of a SELECT, each as often as it occurs."""
        scope = self.from_clause(node, ctes)
        where = node.args.get("where")
        if where is not None:
            if has_aggregate(where.this):
                raise bad("an aggregate cannot stand in WHERE", "RV-AGGREGATE-IN-WHERE", where, "use HAVING")
            for step in subqueries.where(self.inside, where.this, scope, ctes):
                scope.relation = step(scope.relation)
        node = stars_opened(self, node, scope)
        node = sessions_opened(self, windows_opened(self, node, scope), scope)
        if is_grouping(node):
            return lower_grouping(
                node, scope, self.scalars, self.allocator, self.tables, self.having(ctes), self.marks(ctes)
            )
        relation, columns = self.select_list(subqueries.outputs_of(self.inside, node, scope, ctes), scope)
        keys = tuple((k, col(k)) for k in scope.keys)
        shown = Project(relation, (*((c.unique, e) for c, e in columns), *keys))
        return Lowered(shown, tuple(c for c, _ in columns), scope.keys)

    def nested(self, query: exp.Expr, ctes: Mapping[str, exp.Query]) -> Lowered:
        """A query in FROM; if it cannot be read apart from the one around a dependent query, it depends on it too."""
        try:
            return self.inside.query(query, ctes)
        except BadInput as error:
            if self.domain is None or error.code != "RV-UNKNOWN-COLUMN":
                raise
            return self.query(query, ctes)

    def having(self, ctes: Mapping[str, exp.Query]) -> Having:
        return lambda tree, lower, around: subqueries.condition(self.inside, tree, lower, ctes, around)

    def marks(self, ctes: Mapping[str, exp.Query]) -> Mark:
        def mark(tree: exp.Expr, lower: Callable[[exp.Expr], Scalar], around: Scope | None) -> Marked:
            return subqueries.Subqueries(self.inside, lower, ctes, around).columns(tree)

        return mark

    def select_list(self, node: exp.Select, scope: Scope) -> tuple[Relation, list[tuple[Visible, Scalar]]]:
        """The outputs, and the relation that they read: the scope's, or a generator's over it."""
        result: list[tuple[Visible, Scalar]] = []
        relation = scope.relation
        for item in stars_opened(self, node, scope).expressions:
            call = item.this if isinstance(item, exp.Alias | exp.Aliases) else item
            if is_generator(call):
                names = [i.name for i in item.expressions] if isinstance(item, exp.Aliases) else [item.alias]
                relation, made = self.generators.generate(
                    call, scope, [n for n in names if n], outer=False, relation=relation
                )
                result += [(Visible(v.name, self.allocator.name(v.name)), col(v.unique)) for v in made]
                continue
            for name, given, scalar in self.scalars.select_item(item, scope):
                result.append((Visible(name, self.allocator.name(name), given), scalar))
                scope.aliases.setdefault(name.lower(), scalar)
        return relation, result

    def from_clause(self, node: exp.Select, ctes: Mapping[str, exp.Query]) -> Scope:
        return self.items(node, ctes) if self.domain is None else from_clause(self, self.domain, node, ctes)

    def items(
        self, node: exp.Select, ctes: Mapping[str, exp.Query], enter: Callable[[Scope], None] = lambda _: None
    ) -> Scope:
        """The items of FROM, joined; `enter` is called on the scope of the first."""
        clause = node.args.get("from_")
        if clause is None:
            return nowhere(self.allocator)
        first = self.item(clause.this, ctes)
        enter(first)
        scope = self.joined(first, node, ctes)
        for view in node.args.get("laterals") or ():
            self.generators.beside(view, scope)
        return scope

    def joined(self, scope: Scope, node: exp.Expr, ctes: Mapping[str, exp.Query]) -> Scope:
        """The scope after the joins that hang on a node."""
        for join in node.args.get("joins") or ():
            self.join(scope, join, ctes)
            scope = self.turned(scope, join)
        return scope

    def turned(self, scope: Scope, node: exp.Expr) -> Scope:
        """The scope after the PIVOTs that hang on a node."""
        for pivot in node.args.get("pivots") or ():
            if scope.keys:
                raise not_yet("PIVOT of what depends on the query around it", "RV-PIVOT", pivot)
            scope = pivoted(self, scope, pivot)
        return scope

    def item(self, node: exp.Expr, ctes: Mapping[str, exp.Query]) -> Scope:
        """One item of FROM with the joins inside it: ``a``, ``(SELECT …) a``, ``(a JOIN b ON …)``."""
        scope = self.turned(self.bare_item(node, ctes), node)
        return self.joined(scope, node, ctes)

    def bare_item(self, node: exp.Expr, ctes: Mapping[str, exp.Query]) -> Scope:
        if isinstance(node, exp.Values):
            return self.generators.values(node, node)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Values):
            return self.generators.values(node.this, node)
        if isinstance(node, exp.Subquery):
            self.refuse_all_but(("this", "alias", "joins", "order", "pivots"), node)
            if not is_join_group(node):
                return self.named(self.nested(node.this, ctes), node)
            inside = self.item(node.this, ctes)
            return inside if not node.alias else self.together(inside, node)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            return self.named(self.nested(node.this.this, ctes), node)  # nothing stands before it that it could see
        if isinstance(node, exp.Table | exp.Lateral) and is_table_function(node.this):
            return self.table_function(node)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous):
            self.scalars.check_function(node.this)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise not_yet(f"{node.key.upper()} in FROM", "RV-FROM", node)
        self.refuse_all_but(("this", "db", "catalog", "alias", "joins", "pivots"), node)
        if not node.db and node.name.lower() in ctes:
            body = ctes[node.name.lower()]
            if RECALLED in body.meta:
                return recalled(self, body, node, column_list(node))
            if body.meta["recursive"]:
                return self.named(recursion(self.inside, node.name.lower(), body), node)
            inner: Mapping[str, exp.Query] = body.meta.get("ctes", {})
            lowered = self.nested(body, inner)
            return self.named(replace(lowered, columns=listed(lowered.columns, body.meta["columns"], body)), node)
        return self.base(node)

    def table_function(self, node: exp.Expr) -> Scope:
        """A generator in FROM; in a dependent query it may read what is around that."""
        try:
            return self.generators.table(node, nowhere(self.allocator))
        except BadInput as error:
            if self.domain is None or error.code != "RV-UNKNOWN-COLUMN":
                raise
            around = nowhere(self.allocator)
            join_values(self.domain, around, {})
            return self.generators.table(node, around)

    def named(self, lowered: Lowered, item: exp.Expr) -> Scope:
        columns = listed(lowered.columns, column_list(item), item)
        return Scope.of(lowered.relation, Named(item.alias_or_name, columns), lowered.keys)

    def together(self, inside: Scope, item: exp.Subquery) -> Scope:
        """``(a JOIN b ON …) AS j``: what is inside is seen by that name alone."""
        columns = listed(tuple(inside.shown), column_list(item), item)
        return Scope.of(inside.relation, Named(item.alias, columns), inside.keys)

    def base(self, node: exp.Table) -> Scope:
        found = self.find(node)
        if found is None:
            raise bad(
                f"there is no table or view {'.'.join(p.name for p in node.parts)!r} in the warehouse",
                "RV-UNKNOWN-TABLE",
                node,
                "create it with create_table, or attach it",
            )
        shown = [(c, name, self.allocator.name(name)) for c, name in found.shown]
        columns = [(c, name, unique) for c, name, unique in shown if c is not None]
        visible = listed(tuple(Visible(name, unique) for _, name, unique in columns), column_list(node), node)
        scan = Scan(found.name.lower(), tuple((c, unique) for c, _, unique in columns))
        return Scope.of(scan, Named(node.alias_or_name, visible))

    def find(self, node: exp.Table) -> BaseTable | None:
        qualifier = [p.name.lower() for p in node.parts[:-1]]
        if node.name.lower() == CLOCK or (qualifier and qualifier not in (["default"], ["rollview", "default"])):
            return None
        return self.tables.get(node.name.lower())

    def join(self, scope: Scope, join: exp.Join, ctes: Mapping[str, exp.Query]) -> None:
        self.refuse_all_but(("this", "on", "using", "method", "side", "kind", "hint", "pivots"), join)
        if isinstance(join.this, exp.Lateral):
            if isinstance(join.this.this, exp.Subquery):
                lateral(self.inside, scope, join, ctes)
            elif not self.generators.joined(join, scope):
                lateral(self.inside, scope, of_query(join), ctes)
            return
        right = self.item(join.this, ctes)
        check_join(scope, right, join)
        join, later = subqueries.on(self.inside, scope, right, join, ctes)
        lower_join(scope, right, join, self.scalars.lower, self.allocator)
        for part in later:
            for step in subqueries.where(self.inside, part, scope, ctes):
                scope.relation = step(scope.relation)

    def refuse_all_but(self, understood: Collection[str], node: exp.Expr) -> None:
        """What is not understood is refused, never ignored; only the order of rows means nothing in a table."""
        if any(node.args.get(part) for part in ORDERS) and not is_limited(node):
            self.notes.append("RV-ORDER-IGNORED")
        for part, value in node.args.items():
            if value and part == "sample":
                hint = "compare a hash of a key instead: pmod(xxhash64(id), 10) = 0"
                raise never("which rows TABLESAMPLE takes is left to chance", "RV-NONDETERMINISTIC", value, hint)
            if value and part not in understood and part not in ORDERS:
                what, code = REFUSED.get(part, (part.strip("_").upper(), "RV-QUERY"))
                first = value[0] if isinstance(value, list) else value
                raise not_yet(what, code, first if isinstance(first, exp.Expr) else node)


def is_join_group(node: exp.Subquery) -> bool:
    """Parentheses around tables and joins, not around a query."""
    inner = node.this
    if isinstance(inner, exp.Subquery):
        return bool(inner.alias or inner.args.get("joins")) or is_join_group(inner)
    return not isinstance(inner, exp.Query)


def joins_chain(inner: exp.SetOperation, top: exp.SetOperation, *, distinct: bool | None) -> bool:
    """May the sides of an inner union be taken as sides of the one above it?"""
    if (
        not isinstance(inner, exp.Union)
        or not isinstance(top, exp.Union)
        or inner.args.get("with_")
        or is_limited(inner)
    ):
        return False
    return bool(distinct) or not inner.args.get("distinct")


def operation(node: exp.SetOperation) -> str:
    return node.key.upper() + ("" if node.args.get("distinct") else " ALL")


def lower(tree: exp.Query, tables: Tables, typer: Typer) -> tuple[Lowered, tuple[str, ...]]:
    """The algebra of a query, and notes on what was left out of it on purpose."""
    tree = quantifiers_spelled(fields_named(paths_spelled(last_moments_spelled(tree))))
    refuse_elsewhere(tree)
    lowering = Lowering(tables, typer)
    try:
        lowered = lowering.query(tree, {})
    except ValueError as error:  # a node refused to be born: our resolver let something through
        raise BrokenInvariant(f"the view could not be resolved: {error}", code="RV-RESOLVE") from error
    return lowered, tuple(dict.fromkeys(lowering.notes))

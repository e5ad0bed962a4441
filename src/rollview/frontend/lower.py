"""Resolved SQL to algebra. The sqlglot query tree stops here; only scalar expressions live on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Filter, Join, Project, Scan, UnionAll, keep
from rollview.algebra.scalar import Scalar, col, conjunction
from rollview.errors import BrokenInvariant
from rollview.frontend.grouping import lower_grouping
from rollview.frontend.refuse import bad, never, not_yet
from rollview.frontend.scalars import Scalars, has_aggregate, is_grouping
from rollview.frontend.scope import Allocator, Lowered, Named, Scope, Visible

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rollview.algebra.schema import BaseTable, Tables

SELECT_PARTS = ("with_", "expressions", "from_", "joins", "where", "group", "having", "order", "hint")
REFUSED = {
    "limit": ("LIMIT", "RV-LIMIT"),
    "offset": ("OFFSET", "RV-LIMIT"),
    "distinct": ("SELECT DISTINCT", "RV-DISTINCT"),
    "qualify": ("QUALIFY", "RV-WINDOW"),
    "windows": ("WINDOW", "RV-WINDOW"),
    "laterals": ("LATERAL VIEW", "RV-LATERAL"),
    "sort": ("SORT BY", "RV-SORT"),
    "cluster": ("CLUSTER BY", "RV-SORT"),
    "distribute": ("DISTRIBUTE BY", "RV-SORT"),
    "pivots": ("PIVOT", "RV-FROM"),
    "sample": ("TABLESAMPLE", "RV-FROM"),
    "version": ("a fixed version of a table", "RV-FROM"),
    "when": ("a fixed version of a table", "RV-FROM"),
}


class Lowering:
    """Lowers one view; `tables` are the relations it may read."""

    def __init__(self, tables: Tables, scalars: Scalars) -> None:
        self.tables = tables
        self.scalars = scalars
        self.allocator = Allocator()
        self.notes: list[str] = []

    def query(self, node: exp.Expr, ctes: Mapping[str, exp.Query]) -> Lowered:
        ctes = self.with_ctes(node, ctes)
        if isinstance(node, exp.Subquery):
            self.refuse_all_but(("this", "alias", "with_", "order"), node)
            return self.query(node.this, ctes)
        if isinstance(node, exp.SetOperation):
            return self.set_operation(node, ctes)
        if isinstance(node, exp.Select):
            return self.select(node, ctes)
        raise not_yet(node.key.upper(), "RV-QUERY", node)

    def with_ctes(self, node: exp.Expr, ctes: Mapping[str, exp.Query]) -> Mapping[str, exp.Query]:
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        if clause.args.get("recursive"):
            raise not_yet("WITH RECURSIVE", "RV-RECURSIVE", clause)
        result = dict(ctes)
        for cte in clause.expressions:
            if cte.args["alias"].args.get("columns"):
                raise not_yet("a column list on a CTE", "RV-CTE-COLUMNS", cte)
            body = cte.this
            body.meta["ctes"] = dict(result)
            result[cte.alias.lower()] = body
        return result

    def set_operation(self, node: exp.SetOperation, ctes: Mapping[str, exp.Query]) -> Lowered:
        sides = [self.query(side, ctes) for side in self.union_sides(node)]
        first = sides[0]
        for side in sides[1:]:
            if len(side.columns) != len(first.columns):
                raise bad(
                    "the sides of UNION ALL differ in their number of columns",
                    "RV-UNION-COLUMNS",
                    node,
                    f"{len(first.columns)} in the first, {len(side.columns)} in another",
                )
        names = tuple(self.allocator.name(c.name) for c in first.columns)
        inputs = tuple(keep(s.relation, tuple(c.unique for c in s.columns)) for s in sides)
        visible = tuple(Visible(c.name, n, c.given) for c, n in zip(first.columns, names, strict=True))
        return Lowered(UnionAll(inputs, names), visible)

    def union_sides(self, node: exp.Expr) -> list[exp.Expr]:
        """The sides of a chain of UNION ALL, from left to right; a loop, because chains may be long."""
        sides: list[exp.Expr] = []
        while isinstance(node, exp.SetOperation):
            if not isinstance(node, exp.Union) or node.args.get("distinct"):
                kind = node.key.upper() + ("" if node.args.get("distinct") else " ALL")
                raise not_yet(kind, "RV-SET-OPERATION", node)
            if node.args.get("by_name"):
                raise not_yet("UNION BY NAME", "RV-UNION-BY-NAME", node)
            self.refuse_all_but(("with_", "this", "expression", "distinct", "order"), node)
            sides.append(node.right)
            node = node.left
        return [node, *reversed(sides)]

    def select(self, node: exp.Select, ctes: Mapping[str, exp.Query]) -> Lowered:
        self.refuse_all_but(SELECT_PARTS, node)
        scope = self.from_clause(node, ctes)
        where = node.args.get("where")
        if where is not None:
            if has_aggregate(where.this):
                raise bad("an aggregate cannot stand in WHERE", "RV-AGGREGATE-IN-WHERE", where, "use HAVING")
            predicate = self.scalars.lower(where.this, scope)
            scope.relation = Filter(scope.relation, predicate)
        if is_grouping(node):
            return lower_grouping(node, scope, self.scalars, self.allocator)
        columns = self.select_list(node, scope)
        relation = Project(scope.relation, tuple((c.unique, e) for c, e in columns))
        return Lowered(relation, tuple(c for c, _ in columns))

    def select_list(self, node: exp.Select, scope: Scope) -> list[tuple[Visible, Scalar]]:
        result: list[tuple[Visible, Scalar]] = []
        for item in node.expressions:
            for name, given, scalar in self.scalars.select_item(item, scope):
                result.append((Visible(name, self.allocator.name(name), given), scalar))
                scope.aliases.setdefault(name.lower(), scalar)
        return result

    def from_clause(self, node: exp.Select, ctes: Mapping[str, exp.Query]) -> Scope:
        clause = node.args.get("from_")
        if clause is None:
            raise never("a view without FROM never changes", "RV-NO-FROM", node, "store such rows in a table")
        return self.joined(self.item(clause.this, ctes), node, ctes)

    def joined(self, scope: Scope, node: exp.Expr, ctes: Mapping[str, exp.Query]) -> Scope:
        """The scope after the joins that hang on a node."""
        for join in node.args.get("joins") or ():
            self.join(scope, join, ctes)
        return scope

    def item(self, node: exp.Expr, ctes: Mapping[str, exp.Query]) -> Scope:
        """One item of FROM with the joins inside it: ``a``, ``(SELECT …) a``, ``(a JOIN b ON …)``."""
        return self.joined(self.bare_item(node, ctes), node, ctes)

    def bare_item(self, node: exp.Expr, ctes: Mapping[str, exp.Query]) -> Scope:
        alias = node.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            raise not_yet("a column list on an alias", "RV-ALIAS-COLUMNS", node, "give the columns aliases in a SELECT")
        if isinstance(node, exp.Subquery):
            self.refuse_all_but(("this", "alias", "joins", "order"), node)
            if not is_join_group(node):
                return self.named(self.query(node.this, ctes), node.alias)
            if node.alias:
                raise not_yet("an alias on a parenthesised join", "RV-FROM", node, "name the tables inside it")
            return self.item(node.this, ctes)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise not_yet(f"{node.key.upper()} in FROM", "RV-FROM", node)
        self.refuse_all_but(("this", "db", "catalog", "alias", "joins"), node)
        if not node.db and node.name.lower() in ctes:
            body = ctes[node.name.lower()]
            inner: Mapping[str, exp.Query] = body.meta.get("ctes", {})
            return self.named(self.query(body, inner), node.alias_or_name)
        return self.base(node)

    def named(self, lowered: Lowered, alias: str) -> Scope:
        return Scope.of(lowered.relation, Named(alias, lowered.columns))

    def base(self, node: exp.Table) -> Scope:
        found = self.find(node)
        if found is None:
            raise bad(
                f"there is no table or view {'.'.join(p.name for p in node.parts)!r} in the warehouse",
                "RV-UNKNOWN-TABLE",
                node,
                "create it with create_table, or attach it",
            )
        columns = tuple((c.name, self.allocator.name(c.name)) for c in found.columns)
        visible = tuple(Visible(c, unique) for c, unique in columns)
        return Scope.of(Scan(found.name.lower(), columns), Named(node.alias_or_name, visible))

    def find(self, node: exp.Table) -> BaseTable | None:
        qualifier = [p.name.lower() for p in node.parts[:-1]]
        if qualifier and qualifier not in (["default"], ["rollview", "default"]):
            return None
        return self.tables.get(node.name.lower())

    def join(self, scope: Scope, join: exp.Join, ctes: Mapping[str, exp.Query]) -> None:
        kind = " ".join(p for p in (join.method, join.side, join.kind) if p).upper()
        if kind not in ("", "INNER", "CROSS"):
            code = next((k for k in ("SEMI", "ANTI") if k in kind), kind.split()[0])
            raise not_yet(f"{kind} JOIN", f"RV-JOIN-{code}", join)
        self.refuse_all_but(("this", "on", "using", "method", "side", "kind", "hint"), join)
        right = self.item(join.this, ctes)
        taken = {i.alias.lower() for i in scope.items if i.alias}
        for item in right.items:
            if item.alias and item.alias.lower() in taken:
                raise bad(
                    f"the table alias {item.alias!r} is used twice",
                    "RV-DUPLICATE-ALIAS",
                    join.this,
                    "give one of them another alias",
                )
        using = [self.merged(name, scope, right) for name in join.args.get("using") or ()]
        scope.relation = Join(scope.relation, right.relation)
        scope.join(right)
        for a, b in reversed(using):
            scope.merge(a, b)
        predicate = conjunction(Scalar(exp.EQ(this=col(a).tree, expression=col(b).tree)) for a, b in using)
        on = join.args.get("on")
        if on is not None:
            predicate = self.scalars.lower(on, scope)
        if predicate is not None:
            scope.relation = Filter(scope.relation, predicate)

    def merged(self, name: exp.Identifier, left: Scope, right: Scope) -> tuple[str, str]:
        """The two columns that a name of USING equates."""
        reference = exp.Column(this=name.copy())
        a, b = left.resolve(reference).column, right.resolve(reference).column
        if a is None or b is None:
            raise bad(f"USING needs columns, and {name.name!r} is none", "RV-UNKNOWN-COLUMN", name)
        return a, b

    def refuse_all_but(self, understood: Collection[str], node: exp.Expr) -> None:
        """What is not understood is refused, never ignored; only the order of rows means nothing in a table."""
        if node.args.get("order"):
            self.notes.append("RV-ORDER-IGNORED")
        for part, value in node.args.items():
            if value and part not in understood:
                what, code = REFUSED.get(part, (part.strip("_").upper(), "RV-QUERY"))
                first = value[0] if isinstance(value, list) else value
                raise not_yet(what, code, first if isinstance(first, exp.Expr) else node)


def is_join_group(node: exp.Subquery) -> bool:
    """Parentheses around tables and joins, not around a query."""
    inner = node.this
    if isinstance(inner, exp.Subquery):
        return bool(inner.alias or inner.args.get("joins")) or is_join_group(inner)
    return not isinstance(inner, exp.Query)


def lower(tree: exp.Query, tables: Tables, scalars: Scalars) -> tuple[Lowered, tuple[str, ...]]:
    """The algebra of a query, and notes on what was left out of it on purpose."""
    lowering = Lowering(tables, scalars)
    try:
        lowered = lowering.query(tree, {})
    except ValueError as error:  # a node refused to be born: our resolver let something through
        raise BrokenInvariant(f"the view could not be resolved: {error}", code="RV-RESOLVE") from error
    return lowered, tuple(dict.fromkeys(lowering.notes))

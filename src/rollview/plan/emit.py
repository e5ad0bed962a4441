"""Relations to SQL trees. The tree becomes text only at the very end, in the dialect of whoever runs it.

Filters, projections and inner joins fold into one SELECT; aggregates, unions and shared parts become
subqueries. A part that occurs more than once is emitted once, as a CTE, so the SQL stays linear in the size
of the relation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from rollview.algebra.relation import (
    Aggregate,
    Filter,
    Join,
    Project,
    Relation,
    Scan,
    SemiJoin,
    UnionAll,
    children,
)
from rollview.algebra.scalar import Scalar
from rollview.errors import BrokenInvariant
from rollview.names import COUNT, PREFIX

SHARED = f"{PREFIX}part"
"""the name of a CTE; reserved, so that it hides no table"""

Bind = Callable[[Scan], exp.Table]
"""The table expression that a scan reads."""


def ident(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def table(*parts: str) -> exp.Table:
    """A quoted table name of one to three parts."""
    names = [ident(p) for p in parts]
    return exp.Table(
        this=names[-1],
        db=names[-2] if len(names) > 1 else None,
        catalog=names[-3] if len(names) > 2 else None,
    )


@dataclass
class Piece:
    """A SELECT in the making: where rows come from, and what each column is there."""

    origin: exp.Expr
    columns: dict[str, exp.Expr]
    joins: list[tuple[exp.Expr, exp.Expr | None]] = field(default_factory=list)
    where: list[exp.Expr] = field(default_factory=list)

    def value(self, scalar: Scalar) -> exp.Expr:
        return scalar.substitute({n: Scalar(e) for n, e in self.columns.items()}).tree

    def select(self, columns: dict[str, exp.Expr]) -> exp.Select:
        query = exp.select(*(exp.alias_(e.copy(), name, quoted=True) for name, e in columns.items()))
        query = query.from_(self.origin)
        for source, on in self.joins:
            query = query.join(source, on=on, join_type=None if on is not None else "cross")
        return query.where(*self.where) if self.where else query


class Emitter:
    """Emits one statement; names its aliases and collects its CTEs."""

    def __init__(self, bind: Bind) -> None:
        self.bind = bind
        self.aliases: set[str] = set()
        self.shared: dict[Relation, str] = {}
        self.ctes: list[tuple[str, exp.Query]] = []

    def alias(self, stem: str) -> str:
        candidate, n = stem, 1
        while candidate.lower() in self.aliases:
            n += 1
            candidate = f"{stem}_{n}"
        self.aliases.add(candidate.lower())
        return candidate

    def query(self, node: Relation) -> exp.Query:
        if isinstance(node, UnionAll):
            return self.union(node)
        if isinstance(node, Aggregate):
            return self.aggregate(node)
        piece = self.piece(node)
        return piece.select({name: piece.columns[name] for name in node.names})

    def statement(self, node: Relation) -> exp.Query:
        for part in repeated(node):
            self.ctes.append((name := self.alias(SHARED), self.query(part)))
            self.shared[part] = name
        query = self.query(node)
        for name, body in self.ctes:
            query = query.with_(ident(name), as_=body)
        return query

    def piece(self, node: Relation) -> Piece:
        if node in self.shared:
            alias = self.alias("p")
            source = exp.alias_(table(self.shared[node]), alias, table=True, quoted=True)
            return Piece(source, {n: column(alias, n) for n in node.names})
        match node:
            case Scan():
                return self.scan(node)
            case Filter():
                piece = self.piece(node.source)
                piece.where.append(piece.value(node.predicate))
                return piece
            case Project():
                piece = self.piece(node.source)
                piece.columns = {name: piece.value(e) for name, e in node.columns}
                return piece
            case Join():
                return self.join(node)
            case SemiJoin():
                return self.semijoin(node)
            case UnionAll() | Aggregate():
                return self.subquery(node)

    def scan(self, node: Scan) -> Piece:
        alias = self.alias(node.table)
        source = exp.alias_(self.bind(node), alias, table=True, quoted=True)
        columns: dict[str, exp.Expr] = {name: column(alias, c) for c, name in node.columns}
        if node.at.signed:
            columns[COUNT] = column(alias, COUNT)
        return Piece(source, columns)

    def subquery(self, node: Relation) -> Piece:
        body = self.query(node)
        alias = self.alias("q")
        return Piece(
            exp.Subquery(this=body, alias=exp.TableAlias(this=ident(alias))),
            {n: column(alias, n) for n in node.names},
        )

    def join(self, node: Join) -> Piece:
        left = self.piece(node.left)
        right = self.piece(node.right)
        if right.joins:
            right = self.wrap(right, node.right.names)
        columns = left.columns | right.columns
        on = None
        if node.predicate is not None:
            on = Piece(left.origin, columns).value(node.predicate)
        joins = [*left.joins, (right.origin, on)]
        return Piece(left.origin, columns, joins, left.where + right.where)

    def wrap(self, piece: Piece, names: tuple[str, ...]) -> Piece:
        alias = self.alias("q")
        body = piece.select({n: piece.columns[n] for n in names})
        return Piece(
            exp.Subquery(this=body, alias=exp.TableAlias(this=ident(alias))),
            {n: column(alias, n) for n in names},
        )

    def semijoin(self, node: SemiJoin) -> Piece:
        left = self.piece(node.left)
        right = self.piece(node.right)
        on = Piece(left.origin, left.columns | right.columns).value(node.predicate)
        inner = right.select({"one": exp.Literal.number(1)}).where(on)
        left.where.append(exp.Exists(this=inner))
        return left

    def union(self, node: UnionAll) -> exp.Query:
        parts = [self.renamed(part, node.columns) for part in node.inputs]
        query: exp.Query = parts[0]
        for part in parts[1:]:
            query = exp.Union(this=query, expression=part, distinct=False)
        return query

    def renamed(self, node: Relation, names: tuple[str, ...]) -> exp.Query:
        piece = self.piece(node)
        return piece.select({n: piece.columns[own] for n, own in zip(names, node.names, strict=True)})

    def aggregate(self, node: Aggregate) -> exp.Query:
        piece = self.piece(node.source)
        keys = {name: not_ordinal(piece.value(e)) for name, e in node.keys}
        measures: dict[str, exp.Expr] = {}
        for m in node.measures:
            argument = exp.Star() if m.argument is None else piece.value(m.argument)
            measures[m.name] = FUNCTIONS[m.function.value](this=argument)
        query = piece.select(keys | measures)
        return query.group_by(*(k.copy() for k in keys.values())) if keys else query


FUNCTIONS: dict[str, type[exp.AggFunc]] = {"count": exp.Count, "sum": exp.Sum, "avg": exp.Avg}


def column(alias: str, name: str) -> exp.Column:
    return exp.Column(this=ident(name), table=ident(alias))


def not_ordinal(tree: exp.Expr) -> exp.Expr:
    """GROUP BY 1 means the first column; a constant key must not look like that."""
    return exp.cast(tree.copy(), "int") if Scalar(tree).is_integer else tree


def repeated(node: Relation) -> list[Relation]:
    """Aggregates and unions that occur more than once, inner ones first."""
    seen: Counter[Relation] = Counter()
    order: list[Relation] = []

    def visit(n: Relation) -> None:
        if isinstance(n, Aggregate | UnionAll):
            seen[n] += 1
            if seen[n] > 1:
                return
        for child in children(n):
            visit(child)
        if isinstance(n, Aggregate | UnionAll):
            order.append(n)

    visit(node)
    return [n for n in order if seen[n] > 1]


def emit(node: Relation, bind: Bind) -> exp.Query:
    """The relation as a SQL tree."""
    if isinstance(node, UnionAll) and not node.inputs:
        raise BrokenInvariant("an empty relation was to be emitted", code="RV-EMPTY-EMIT")
    return Emitter(bind).statement(node)


def sql(tree: exp.Expr, dialect: str = "spark", *, pretty: bool = False) -> str:
    """The last line: a tree becomes text."""
    return tree.sql(dialect, pretty=pretty)

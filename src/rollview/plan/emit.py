"""Relations to SQL trees. The tree becomes text only at the very end, in the dialect of whoever runs it.

Filters, projections and inner joins fold into one SELECT; aggregates, unions and shared parts become
subqueries. A part that occurs more than once is emitted once, as a CTE, so the SQL stays linear in the size
of the relation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from rollview.algebra.generators import TIME_WINDOW
from rollview.algebra.relation import (
    Aggregate,
    AntiJoin,
    Filter,
    Function,
    Generate,
    Join,
    MarkJoin,
    OuterJoin,
    Project,
    Recall,
    Recursion,
    Relation,
    Scan,
    SemiJoin,
    UnionAll,
    Values,
    Window,
    is_empty,
)
from rollview.algebra.scalar import FOLDED, Scalar, conjunction, literal
from rollview.algebra.walking import children, recalled
from rollview.errors import BrokenInvariant
from rollview.frontend.dialect import MAX_ROUNDS, SparkSQL
from rollview.names import COUNT, PREFIX

SHAREABLE = (Aggregate, UnionAll, Generate, Window, SemiJoin, AntiJoin, MarkJoin, OuterJoin, Recursion)
SHARED = f"{PREFIX}part"
ROUNDS = f"{PREFIX}rounds"
"""the names of CTEs; reserved, so that they hide no table"""

Bind = Callable[[Scan], exp.Table]
"""The table expression that a scan reads."""


@lru_cache(maxsize=4096)
def ident(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)


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
    """A SELECT in the making: where rows come from, and what each column is there. It is used up once."""

    origin: exp.Expr
    columns: dict[str, Scalar]
    joins: list[exp.Join] = field(default_factory=list)
    where: list[Scalar] = field(default_factory=list)
    small: str | None = None
    """the alias of an input that is to be sent to every task"""

    @property
    def is_plain(self) -> bool:
        """Every column is one of the origin's or of a joined table's."""
        return all(e.column is not None for e in self.columns.values())

    def value(self, scalar: Scalar) -> Scalar:
        return scalar.substitute(self.columns)

    def select(self, columns: Mapping[str, Scalar], **clauses: exp.Expr | list[exp.Lateral]) -> exp.Select:
        where = conjunction(self.where)
        return exp.Select(
            expressions=[exp.Alias(this=e.tree, alias=ident(name)) for name, e in columns.items()],
            from_=exp.From(this=self.origin),
            joins=self.joins,
            where=None if where is None else exp.Where(this=where.tree),
            hint=None if self.small is None else broadcast(self.small),
            **clauses,
        )


class Emitter:
    """Emits one statement; names its aliases and collects its CTEs."""

    def __init__(
        self, bind: Bind, *, lookups: bool = False, spread: Sequence[str] = (), fragment: bool = False
    ) -> None:
        self.bind = bind
        self.fragment = fragment
        self.lookups = lookups
        self.spread = spread
        self.aliases: dict[str, int] = {}
        """the names that are taken, and where to go on counting from each"""
        self.numbers = Numbers()
        self.shared: dict[int, str] = {}
        self.ctes: list[tuple[str, exp.Query]] = []
        self.rounds: dict[str, str] = {}
        """the CTEs of the recursions whose step is being written"""

    def alias(self, stem: str) -> str:
        candidate, n = stem, self.aliases.get(stem.lower(), 0)
        while candidate.lower() in self.aliases:
            n += 1
            candidate = f"{stem}_{n}"
        self.aliases[candidate.lower()] = 1
        self.aliases[stem.lower()] = max(n, 1)
        return candidate

    def query(self, node: Relation) -> exp.Query:
        if isinstance(node, UnionAll):
            return self.union(node)
        if isinstance(node, Aggregate):
            return self.aggregate(node)
        if isinstance(node, Generate):
            return self.generate(node)
        if isinstance(node, Window):
            return self.window(node)
        if isinstance(node, Recursion):
            return self.recursion(node)
        piece = self.piece(node)
        return piece.select({name: piece.columns[name] for name in node.names})

    def statement(self, node: Relation) -> exp.Query:
        for part in repeated(node, self.numbers):
            self.ctes.append((name := self.alias(SHARED), self.query(part)))
            self.shared[self.numbers[part]] = name
        query = self.spread_out(node) if self.spread else self.query(node)
        if self.ctes:
            bodies = [exp.CTE(this=body, alias=table_alias(name)) for name, body in self.ctes]
            query.set("with_", exp.With(expressions=bodies))
        return query

    def spread_out(self, node: Relation) -> exp.Query:
        """σ(γ(R)), the rows of R brought together by columns that γ groups by: once for γ and for what follows."""
        assert isinstance(node, Filter) and isinstance(node.source, Aggregate)
        names = node.source.source.names
        piece = self.piece(node.source.source)
        rows = piece.select({n: piece.columns[n] for n in names})
        wanted = exp.Anonymous(this="REPARTITION", expressions=[exp.Column(this=ident(c)) for c in self.spread])
        given = rows.args["hint"].expressions if rows.args["hint"] else []
        rows.set("hint", exp.Hint(expressions=[*given, wanted]))
        groups = self.grouped(node.source, self.named(exp.Subquery(this=rows), self.alias("q"), names))
        found = self.named(exp.Subquery(this=groups), self.alias("q"), node.names)
        found.where.append(found.value(node.predicate))
        return found.select(found.columns)

    def piece(self, node: Relation) -> Piece:
        if (number := self.numbers[node]) in self.shared:
            return self.named(table(self.shared[number]), self.alias("p"), node.names)
        match node:
            case Scan():
                return self.scan(node)
            case Filter():
                piece = self.piece(node.source)
                piece.where.append(piece.value(node.predicate))
                return piece
            case Project():
                return self.project(node)
            case Join():
                return self.join(node)
            case SemiJoin() | AntiJoin():
                return self.semijoin(node)
            case MarkJoin():
                return self.markjoin(node)
            case OuterJoin():
                return self.outer_join(node)
            case Values():
                return self.values(node)
            case Recall():
                return self.recall(node)
            case UnionAll() | Aggregate() | Generate() | Window() | Recursion():
                return self.subquery(node)

    def scan(self, node: Scan) -> Piece:
        alias = self.alias(node.table)
        columns = {name: column(alias, c) for c, name in node.columns}
        if node.at.signed:
            columns[COUNT] = column(alias, COUNT)
        source = self.bind(node)
        source.set("alias", table_alias(alias))
        return Piece(source, columns)

    def project(self, node: Project) -> Piece:
        """The columns of one SELECT over another's; in a subquery of their own if they would become too large."""
        piece = self.piece(node.source)
        columns = {name: piece.value(e) for name, e in node.columns}
        if any(e.size > FOLDED for e in columns.values()):
            piece = self.wrapped(piece, node.source.names)
            columns = {name: piece.value(e) for name, e in node.columns}
        piece.columns = columns
        return piece

    def named(self, source: exp.Expr, alias: str, names: tuple[str, ...]) -> Piece:
        source.set("alias", table_alias(alias))
        return Piece(source, {n: column(alias, n) for n in names})

    def subquery(self, node: Relation) -> Piece:
        body = self.query(node)
        return self.named(exp.Subquery(this=body), self.alias("q"), node.names)

    def wrapped(self, piece: Piece, names: tuple[str, ...]) -> Piece:
        """The SELECT so far as a subquery."""
        body = piece.select({n: piece.columns[n] for n in names})
        return self.named(exp.Subquery(this=body), self.alias("q"), names)

    def join(self, node: Join) -> Piece:
        left = self.piece(node.left)
        lookup = self.lookups and node.lookup
        if lookup and left.joins:
            body = left.select({n: left.columns[n] for n in node.left.names})
            left = self.named(exp.Subquery(this=body), self.alias("q"), node.left.names)
        right = self.piece(node.right)
        if right.joins:
            right = self.wrapped(right, node.right.names)
        columns = left.columns | right.columns
        if node.predicate is None:
            join = exp.Join(this=right.origin, kind="CROSS")
        else:
            join = exp.Join(this=right.origin, on=node.predicate.substitute(columns).tree)
        small = left.origin.alias if lookup else left.small
        return Piece(left.origin, columns, [*left.joins, join], left.where + right.where, small)

    def outer_join(self, node: OuterJoin) -> Piece:
        """A side that may be padded must be rows of a table or subquery: its expressions and filters come before."""
        left = self.piece(node.left)
        right = self.piece(node.right)
        if node.keeps_right and (left.where or not left.is_plain):
            left = self.wrapped(left, node.left.names)
        if right.joins or right.where or (node.keeps_left and not right.is_plain):
            right = self.wrapped(right, node.right.names)
        columns = left.columns | right.columns
        side = "FULL" if node.keeps_left and node.keeps_right else "LEFT" if node.keeps_left else "RIGHT"
        join = exp.Join(this=right.origin, side=side, kind="OUTER", on=node.predicate.substitute(columns).tree)
        return Piece(left.origin, columns, [*left.joins, join], left.where)

    def semijoin(self, node: SemiJoin | AntiJoin) -> Piece:
        """As a join, since Spark would optimise every EXISTS by itself first, and all that is in it once more."""
        left = self.piece(node.left)
        right = self.piece(node.right)
        if right.joins or right.where:
            right = self.wrapped(right, node.right.names)
        on = node.predicate.substitute(left.columns | right.columns).tree
        kind = "SEMI" if isinstance(node, SemiJoin) else "ANTI"
        left.joins.append(exp.Join(this=right.origin, side="LEFT", kind=kind, on=on))
        return left

    def markjoin(self, node: MarkJoin) -> Piece:
        """In a subquery of its own: Spark understands EXISTS in SELECT and WHERE, but not everywhere."""
        left = self.piece(node.left)
        left.columns = {**left.columns, node.mark: Scalar(self.exists(node, left))}
        return self.wrapped(left, node.names)

    def exists(self, node: MarkJoin, left: Piece) -> exp.Exists:
        right = self.piece(node.right)
        right.where.append(node.predicate.substitute(left.columns | right.columns))
        return exp.Exists(this=right.select({"one": literal(1)}))

    def values(self, node: Values) -> Piece:
        rows = [exp.Tuple(expressions=[v.tree.copy() for v in row]) for row in node.rows]
        alias = self.alias("v")
        named = exp.TableAlias(this=ident(alias), columns=[ident(c) for c in node.columns])
        return Piece(exp.Values(expressions=rows, alias=named), {c: column(alias, c) for c in node.columns})

    def generate(self, node: Generate) -> exp.Query:
        piece = self.piece(node.source)
        if node.generator.tree.name.lower() == TIME_WINDOW:
            windows = dict.fromkeys(node.columns, piece.value(node.generator))
            return piece.select({n: piece.columns[n] for n in node.source.names} | windows)
        alias = self.alias("g")
        lateral = exp.Lateral(
            this=piece.value(node.generator).tree,
            view=True,
            outer=node.outer,
            alias=exp.TableAlias(this=ident(alias), columns=[ident(c) for c in node.columns]),
        )
        made = {c: column(alias, c) for c in node.columns}
        return piece.select({n: piece.columns[n] for n in node.source.names} | made, laterals=[lateral])

    def window(self, node: Window) -> exp.Query:
        piece = self.piece(node.source)
        windows = {name: piece.value(w) for name, w in node.columns}
        return piece.select({n: piece.columns[n] for n in node.source.names} | windows)

    def union(self, node: UnionAll) -> exp.Query:
        parts = [self.renamed(part, node.columns) for part in node.inputs if not is_empty(part)]
        if not parts:
            return exp.select(*(exp.alias_(exp.null(), n, quoted=True) for n in node.columns)).where(exp.false())
        query: exp.Query = parts[0]
        for part in parts[1:]:
            query = exp.Union(this=query, expression=part, distinct=False)
        return query

    def renamed(self, node: Relation, names: tuple[str, ...]) -> exp.Query:
        piece = self.piece(node)
        return piece.select({n: piece.columns[own] for n, own in zip(names, node.names, strict=True)})

    def recursion(self, node: Recursion) -> exp.Query:
        """A query of its own, so that it can stand wherever a subquery can."""
        name = self.alias(ROUNDS)
        first = self.renamed(node.source, node.columns)
        around, self.rounds = self.rounds, {**self.rounds, node.of: name}
        step = self.renamed(node.step, node.columns)
        self.rounds = around
        alias = exp.TableAlias(this=ident(name), columns=[ident(c) for c in node.columns])
        alias.meta[MAX_ROUNDS] = node.limit
        both = exp.CTE(this=exp.Union(this=first, expression=step, distinct=False), alias=alias)
        rounds = self.named(table(name), self.alias("p"), node.columns)
        query = rounds.select(rounds.columns)
        query.set("with_", exp.With(expressions=[both], recursive=True))
        return query

    def recall(self, node: Recall) -> Piece:
        """The round before; in a fragment outside of its recursion a row of its types."""
        alias, columns = self.alias("r"), [c for c, _ in node.columns]
        source: exp.Expr
        if node.of in self.rounds:
            source = table(self.rounds[node.of])
        elif not self.fragment:
            raise BrokenInvariant(f"{node.of} is recalled outside of its recursion", code="RV-RECALL-OUTSIDE")
        else:
            nulls = (exp.cast(exp.null(), t, dialect="spark") for t in node.types)
            values = [exp.Alias(this=n, alias=ident(c)) for c, n in zip(columns, nulls, strict=True)]
            source = exp.Subquery(this=exp.Select(expressions=values))
        piece = self.named(source, alias, (*columns, *([COUNT] if node.signed else [])))
        counted = {COUNT: piece.columns[COUNT]} if node.signed else {}
        piece.columns = {name: piece.columns[c] for c, name in node.columns} | counted
        return piece

    def aggregate(self, node: Aggregate) -> exp.Query:
        return self.grouped(node, self.piece(node.source))

    def grouped(self, node: Aggregate, piece: Piece) -> exp.Query:
        keys = {name: not_ordinal(piece.value(e)) for name, e in node.keys}
        measures = {}
        for m in node.measures:
            argument = exp.Star() if m.argument is None else piece.value(m.argument).tree
            call = argument if m.function is Function.CALL else FUNCTIONS[m.function](this=argument)
            measures[m.name] = Scalar(call)
        if not keys:
            return piece.select(measures)
        group = exp.Group(expressions=[k.tree for k in keys.values()])
        return piece.select(keys | measures, group=group)


FUNCTIONS: dict[Function, type[exp.AggFunc]] = {
    Function.COUNT: exp.Count,
    Function.SUM: exp.Sum,
    Function.AVG: exp.Avg,
    Function.MIN: exp.Min,
    Function.MAX: exp.Max,
    Function.BIT_XOR: exp.BitwiseXorAgg,
}


def column(alias: str, name: str) -> Scalar:
    return Scalar(exp.Column(this=ident(name), table=ident(alias)))


def broadcast(alias: str) -> exp.Hint:
    return exp.Hint(expressions=[exp.Anonymous(this="BROADCAST", expressions=[ident(alias)])])


def table_alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=ident(name))


def not_ordinal(scalar: Scalar) -> Scalar:
    """GROUP BY 1 means the first column; a constant key must not look like that."""
    if not scalar.is_integer:
        return scalar
    return Scalar(exp.Coalesce(this=scalar.tree.copy(), expressions=[scalar.tree.copy()]))


class Numbers:
    """Equal relations have equal numbers. A plan shares its parts, so hashing it whole would take time without end."""

    def __init__(self) -> None:
        self.known: dict[Hashable, int] = {}
        self.met: dict[int, tuple[Relation, int]] = {}

    def __getitem__(self, node: Relation) -> int:
        if id(node) not in self.met:
            below = tuple(self[child] for child in children(node))
            own = tuple(getattr(node, f.name) for f in fields(node) if f.name not in CHILDREN)
            number = self.known.setdefault((type(node), below, own), len(self.known))
            self.met[id(node)] = node, number  # kept, so that no other relation gets its id
        return self.met[id(node)][1]


CHILDREN = ("source", "left", "right", "inputs", "step")


def repeated(node: Relation, numbers: Numbers) -> list[Relation]:
    """What becomes a subquery anyway and occurs more than once, inner ones first."""
    seen: Counter[int] = Counter()
    order: list[Relation] = []

    def visit(n: Relation) -> None:
        if isinstance(n, SHAREABLE):
            seen[numbers[n]] += 1
            if seen[numbers[n]] > 1:
                return
        for child in children(n):
            visit(child)
        if isinstance(n, SHAREABLE):
            order.append(n)

    visit(node)
    return [n for n in order if seen[numbers[n]] > 1 and not recalled(n)]


def emit(
    node: Relation, bind: Bind, *, lookups: bool = False, spread: Sequence[str] = (), fragment: bool = False
) -> exp.Query:
    """The relation as a SQL tree; with `lookups`, the small side of a look-up is broadcast whatever Spark thinks.

    `fragment`: only its types are asked for, and it may be a part of the step of a recursion.
    `spread`: a net delta is wanted where rows with the same values in these columns are together.
    """
    if isinstance(node, UnionAll) and not node.inputs:
        raise BrokenInvariant("an empty relation was to be emitted", code="RV-EMPTY-EMIT")
    return Emitter(bind, lookups=lookups, spread=spread, fragment=fragment).statement(node)


def sql(tree: exp.Expr, dialect: str | type[Dialect] = SparkSQL, *, pretty: bool = False) -> str:
    """The last line: a tree becomes text."""
    return tree.sql(dialect, pretty=pretty, copy=False)

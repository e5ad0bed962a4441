"""A query that depends on the one around it, as a relation of its own.

Let Q(k) be a query that reads the columns k of the row around it. It is evaluated for all values of k at once:

    Q* = ⊎ {v} × Q(v) over the values v in δ(π_k(R)),   and then   R ⋈ Q(R.k)  =  R ⋈_{R.k <=> Q*.k} Q*

Every operator of Q works within the keys k: their values join its FROM, and its rows are then grouped by them, ranked
within them, made distinct and counted with them. Without GROUP BY there is one group for each value, also where it
finds no row.

An equality x = k of WHERE says what k is wherever the query has a row. Where both are of one type, equal values of
which cannot be told apart, x is the key, and R is not read for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.facts import stored_types
from rollview.algebra.relation import Aggregate, Join, Project, Relation
from rollview.algebra.scalar import Scalar, col, equal
from rollview.errors import RollviewError
from rollview.frontend.joins import FULL, INNER, RIGHT, kind_of
from rollview.frontend.refuse import not_yet
from rollview.frontend.scalars import ands

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rollview.algebra.schema import Tables
    from rollview.frontend.lower import Lowering
    from rollview.frontend.scope import Allocator, Lowered, Scope

    Ctes = Mapping[str, exp.Query]

PLAIN = ("tinyint", "smallint", "int", "bigint", "string", "date", "timestamp", "timestamp_ntz", "boolean", "decimal")
"""the types of which equal values are the same"""


class Wanted(Exception):
    """More columns of the query around are read than was known; it is lowered again."""

    def __init__(self, domain: Domain, columns: frozenset[str]) -> None:
        self.domain = domain
        self.columns = columns


class Leads(Exception):
    """The keys must come before the other items of FROM."""


@dataclass(frozen=True, eq=False)
class Domain:
    """The query around: its rows, how it resolves names, and those of its columns that the dependent query reads."""

    relation: Relation
    lower: Callable[[exp.Expr], Scalar]
    allocator: Allocator
    columns: tuple[str, ...] = ()
    read: set[str] = field(default_factory=set)
    """the columns whose values were taken from the rows"""

    def values(self, columns: tuple[str, ...]) -> tuple[Relation, dict[str, str]]:
        """δ(π_columns(R)), and what the columns are called there."""
        names = {c: self.allocator.name(c) for c in columns}
        self.read.update(columns)
        return Aggregate(self.relation, tuple((n, col(c)) for c, n in names.items()), ()), names

    def known(self) -> tuple[Relation, tuple[str, ...]]:
        relation, names = self.values(self.columns)
        return relation, tuple(names.values())

    def resolve(self, node: exp.Expr) -> Scalar:
        """What a name means around, over columns that are known to be read."""
        found = self.lower(node)
        if not found.columns <= set(self.relation.names):
            raise not_yet("a subquery that refers beyond the query around it", "RV-SUBQUERY", node)
        if not found.columns <= set(self.columns):
            raise Wanted(self, found.columns - set(self.columns))
        return found

    def tests(self, keys: tuple[str, ...]) -> tuple[Scalar, ...]:
        """How a row around is matched with what the dependent query found for it."""
        return tuple(
            equal(col(c), col(k)) if c in self.read else Scalar(exp.EQ(this=col(c).tree, expression=col(k).tree))
            for c, k in zip(self.columns, keys, strict=True)
        )


def dependent(
    lowering: Lowering, query: exp.Expr, ctes: Ctes, relation: Relation, lower: Callable[[exp.Expr], Scalar]
) -> tuple[Lowered, tuple[Scalar, ...]]:
    """The query for all rows of the one around, and how these find theirs."""
    domain = Domain(relation, lower, lowering.allocator)
    while True:
        try:
            found = lowering.within(domain).query(query, ctes)
        except Wanted as wanted:
            if wanted.domain is not domain:
                raise
            domain = replace(domain, columns=(*domain.columns, *sorted(wanted.columns)), read=set())
        else:
            return found, domain.tests(found.keys)


def from_clause(lowering: Lowering, domain: Domain, node: exp.Select, ctes: Ctes) -> Scope:
    """FROM with the keys: of an item that has them, by the equalities of WHERE, or with their values joined to it."""

    def lead(scope: Scope) -> None:
        join_values(domain, scope, {})

    try:
        scope = lowering.items(node, ctes)
    except Leads:
        scope = lowering.items(node, ctes, lead)
    except RollviewError as error:
        if error.code != "RV-UNKNOWN-COLUMN":
            raise
        scope = lowering.items(node, ctes, lead)
    where = node.args.get("where")
    join_values(domain, scope, {} if where is None or scope.keys else equated(domain, scope, where.this, lowering))
    return scope


def join_values(domain: Domain, scope: Scope, equated: Mapping[str, Scalar]) -> None:
    """The scope's rows beside the values of the keys; those of `equated` are there already."""
    if not scope.keys and domain.columns:
        names = {c: domain.allocator.name("key") for c in equated}
        if names:
            kept = tuple((n, col(n)) for n in scope.relation.names)
            scope.relation = Project(scope.relation, (*kept, *((n, equated[c]) for c, n in names.items())))
        rest = tuple(c for c in domain.columns if c not in equated)
        if rest:
            values, found = domain.values(rest)
            names |= found
            scope.relation = Join(scope.relation, values)
        scope.keys = tuple(names[c] for c in domain.columns)
    here = {c: col(k) for c, k in zip(domain.columns, scope.keys, strict=True)}
    scope.outer = lambda node: domain.resolve(node).substitute(here)
    scope.known = domain.known


def equated(domain: Domain, scope: Scope, where: exp.Expr, lowering: Lowering) -> dict[str, Scalar]:
    """The columns around that a conjunct equates with a column of the same type here."""
    found: dict[str, Scalar] = {}
    for part in ands(where):
        if not isinstance(part, exp.EQ):
            continue
        for a, b in ((part.this, part.expression), (part.expression, part.this)):
            inner, outer = column_of(a, scope.resolve), column_of(b, scope.resolve)
            if inner is None or outer is not None or (around := column_of(b, domain.lower)) is None:
                continue
            kind = plain_type(scope.relation, inner, lowering.tables)
            if kind is not None and kind == plain_type(domain.relation, around, lowering.tables):
                found.setdefault(around, col(inner))
    new = found.keys() - set(domain.columns)
    if new:
        raise Wanted(domain, frozenset(new))
    return found


def column_of(tree: exp.Expr, resolve: Callable[[exp.Column], Scalar]) -> str | None:
    """The column that a name means to a query, if it does."""
    if not isinstance(tree, exp.Column):
        return None
    try:
        return resolve(tree).column
    except RollviewError:
        return None


def plain_type(relation: Relation, column: str, tables: Tables) -> str | None:
    if column not in relation.names:
        return None
    kind = stored_types(relation, tables)[relation.names.index(column)]
    return kind if kind is not None and kind.split("(")[0] in PLAIN else None


def check_join(scope: Scope, right: Scope, join: exp.Join) -> None:
    """Keys of one side alone must not be lost in padded rows."""
    kind = kind_of(join)
    if (scope.keys or right.keys) and kind in (RIGHT, FULL):
        raise not_yet(f"{kind} JOIN in a subquery that depends on the query around it", "RV-SUBQUERY", join)
    if right.keys and not scope.keys and kind != INNER:
        raise Leads

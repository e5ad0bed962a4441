"""LATERAL (SELECT …) to a join: the subquery sees what is on its left.

    R, LATERAL (SELECT … FROM S WHERE p)            R ⋈_p S
    R, LATERAL (SELECT SUM(v) FROM S WHERE p)       R ⟕ γ(S), as for a scalar subquery
    any other form                                  R ⋈ Q*, of a dependent query (dependent.py)

and the outer join in the place of the join for LEFT JOIN LATERAL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Filter, Join, OuterJoin, Project, Relation
from rollview.algebra.scalar import Scalar, col, conjunction, literal
from rollview.errors import RollviewError
from rollview.frontend.generators import column_list
from rollview.frontend.grouping import Grouping
from rollview.frontend.joins import INNER, LEFT, kind_of
from rollview.frontend.refuse import not_yet
from rollview.frontend.scalar_subqueries import DEPENDS, Group, beside, is_one_group
from rollview.frontend.scope import Named, Scope, Visible, is_named, listed, name_of
from rollview.frontend.subqueries import Subqueries, is_plain, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rollview.frontend.lower import Lowering
    from rollview.frontend.subqueries import Ctes

NAMING = (exp.Table, exp.Subquery, exp.Lateral, exp.Values)
"""what has a name in FROM"""


def lateral(lowering: Lowering, scope: Scope, join: exp.Join, ctes: Ctes) -> None:
    if kind_of(join) not in (INNER, LEFT):
        raise not_yet(f"{kind_of(join)} JOIN LATERAL", "RV-LATERAL", join, "use LEFT JOIN LATERAL")
    query = stars_around(bare(join.this.this), scope)
    subqueries = Subqueries(lowering, lambda part: lowering.scalars.lower(part, scope), ctes, scope)
    try:
        if isinstance(query, exp.Select) and is_one_group(query):
            one_group(subqueries, scope, join, query)
            return
        if isinstance(query, exp.Select) and is_plain(query) and not query.args.get("distinct"):
            conditions(subqueries, scope, join, query)
            return
    except RollviewError as error:
        if error.code not in DEPENDS:
            raise
    lowered, tests = subqueries.dependent(query)
    joined(lowering, scope, join, lowered.relation, lowered.columns, tests)


def bare(query: exp.Expr) -> exp.Expr:
    """The query without parentheses that mean nothing."""
    while isinstance(query, exp.Subquery) and not any(v for part, v in query.args.items() if part != "this"):
        query = query.this
    return query


def of_query(join: exp.Join) -> exp.Join:
    """LATERAL g(…) as LATERAL (SELECT * FROM g(…))."""
    copy = join.copy()
    call = exp.Table(this=copy.this.this.copy(), alias=copy.this.args.get("alias"))
    copy.this.set("this", exp.Subquery(this=exp.select(exp.Star()).from_(call)))
    return copy


def stars_around(query: exp.Expr, scope: Scope) -> exp.Expr:
    """The query with columns for `r.*`, where r is none of its own tables but one that stands before LATERAL."""

    def opened(item: exp.Expr, own: set[str]) -> list[exp.Expr]:
        if not isinstance(item, exp.Column) or not isinstance(item.this, exp.Star) or any(item.this.args.values()):
            return [item]
        table = scope.table([p.name for p in item.parts[:-1]])
        if table is None or item.parts[-2].name.lower() in own:
            return [item]
        return [exp.column(c.name, item.args["table"], quoted=True) for c in table.columns]

    found = query.copy()
    if isinstance(found, exp.SetOperation):
        found.set("this", stars_around(found.left, scope))
        found.set("expression", stars_around(found.right, scope))
    elif isinstance(found, exp.Select):
        read = [found.args.get("from_"), *(found.args.get("joins") or ()), *(found.args.get("laterals") or ())]
        own = {n.alias_or_name.lower() for part in read if part is not None for n in part.find_all(*NAMING)}
        found.set("expressions", [column for item in found.expressions for column in opened(item, own)])
    return found


def conditions(subqueries: Subqueries, scope: Scope, join: exp.Join, query: exp.Select) -> None:
    """What refers to R becomes the predicate of a join."""
    lowering = subqueries.lowering
    inner, correlated = subqueries.rows(query, lowering.with_ctes(query, subqueries.ctes))
    relation, columns = lowering.select_list(query, inner)
    if any(not e.columns <= set(relation.names) for _, e in columns):
        raise not_yet("a LATERAL subquery that shows what is around it", "RV-LATERAL", join)
    shown = Project(relation, (*((n, col(n)) for n in relation.names), *((v.unique, e) for v, e in columns)))
    joined(lowering, scope, join, shown, tuple(v for v, _ in columns), correlated)


def joined(
    lowering: Lowering,
    scope: Scope,
    join: exp.Join,
    relation: Relation,
    columns: tuple[Visible, ...],
    tests: Sequence[Scalar],
) -> None:
    right = Scope.of(relation, named(join, columns))
    predicate = conjunction([*tests, *on(lowering, scope, right, join)])
    if predicate is not None:
        predicate = within(predicate, scope.relation, relation, join)
    if kind_of(join) == LEFT:
        scope.relation = OuterJoin(scope.relation, relation, predicate or literal(True))
    else:
        scope.relation = Join(scope.relation, relation)
        scope.relation = scope.relation if predicate is None else Filter(scope.relation, predicate)
    scope.join(right)


def one_group(subqueries: Subqueries, scope: Scope, join: exp.Join, query: exp.Select) -> None:
    """One row for each on the left, computed above the join; HAVING and ON may take it away."""
    lowering = subqueries.lowering
    inner, correlated = subqueries.rows(query, lowering.with_ctes(query, subqueries.ctes))
    grouping = Grouping(inner, lowering.scalars, lowering.allocator, lowering.tables)
    grouping.over_nothing = bool(correlated)
    outputs = [
        (Visible(name_of(i), lowering.allocator.name(name_of(i)), is_named(i)), grouping.above(i.unalias()))
        for i in query.expressions
    ]
    having = query.args.get("having")
    tests = [] if having is None else [grouping.above(having.this)]
    group = Group(inner.relation, tuple(correlated), grouping.aggregate(query).measures)
    left = scope.relation
    beneath = beside(left, group, subqueries, join)
    kept = tuple((n, col(n)) for n in left.names)
    right = Scope.of(left, named(join, tuple(v for v, _ in outputs)))
    values = {v.unique: e for v, e in outputs}
    found = conjunction([*tests, *(t.substitute(values) for t in on(lowering, scope, right, join))])
    if found is not None and kind_of(join) == LEFT:
        values = {n: Scalar(exp.Case().when(found.tree, e.tree)) for n, e in values.items()}
    elif found is not None:
        beneath = Filter(beneath, found)
    scope.relation = Project(beneath, (*kept, *values.items()))
    scope.join(right)


def on(lowering: Lowering, scope: Scope, right: Scope, join: exp.Join) -> list[Scalar]:
    tree = join.args.get("on")
    return [] if tree is None else [lowering.scalars.lower(tree, scope.beside(right))]


def named(join: exp.Join, columns: tuple[Visible, ...]) -> Named:
    item = join.this
    return Named(item.alias, listed(columns, column_list(item), item))

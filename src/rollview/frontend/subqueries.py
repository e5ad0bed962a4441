"""Subqueries in conditions to joins: EXISTS and IN are semi joins, NOT EXISTS and NOT IN anti joins.

A conjunct of WHERE that refers to the query around it becomes the join's predicate. `x NOT IN (S)` is true only if
x = s is false for every s, so a partner is any s for which it is not: the anti join tests (x = s) IS NOT FALSE.
Below OR, NOT or anything else the subquery is a mark join, whose column stands in the expression. IN below OR and NOT
is TRUE if some s is equal, else NULL if some comparison is NULL, else FALSE; anywhere else Spark has no NULL for it, so
it is refused there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra import facts
from rollview.algebra.relation import AntiJoin, Filter, Join, MarkJoin, OuterJoin, Project, Relation, SemiJoin
from rollview.algebra.scalar import Scalar, col, conjunction, literal, operand
from rollview.errors import BadInput
from rollview.frontend.generators import column_list, is_generator
from rollview.frontend.joins import INNER, LEFT, kind_of
from rollview.frontend.refuse import bad, not_yet
from rollview.frontend.scalar_subqueries import scalar_value
from rollview.frontend.scalars import ands, is_aggregate, is_grouping
from rollview.frontend.scope import Named, Scope, listed, mark_column
from rollview.frontend.time_filters import reads_clock, time_filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rollview.frontend.lower import Lowering

    Step = Callable[[Relation], Relation]
    Ctes = Mapping[str, exp.Query]

PLAIN = ("with_", "expressions", "from_", "joins", "laterals", "where", "order", "hint", "distinct")
"""the parts of a SELECT whose rows are those of its FROM and WHERE; DISTINCT changes nothing for EXISTS and IN"""


@dataclass(frozen=True, slots=True)
class Inner:
    """A lowered subquery: its rows, its output columns, and the conjuncts that refer to the query around it."""

    relation: Relation
    outputs: tuple[Scalar, ...]
    correlated: tuple[Scalar, ...]

    def predicate(self, *more: Scalar) -> Scalar:
        return conjunction([*self.correlated, *more]) or literal(True)


def where(
    lowering: Lowering, tree: exp.Expr, scope: Scope, ctes: Ctes, correlated: list[Scalar] | None = None
) -> list[Step]:
    """What WHERE does to the relation of its scope; conjuncts that refer further out go to `correlated`."""

    def lower(part: exp.Expr) -> Scalar:
        return lowering.scalars.lower(part, scope)

    parts = ands(tree)
    timely = [p for p in parts if reads_clock(p)]
    steps = conjoined(lowering, [p for p in parts if p not in timely], lower, ctes, correlated)
    return [*steps, time_filter(timely, lowering.allocator, lower)] if timely else steps


def condition(
    lowering: Lowering,
    tree: exp.Expr,
    lower: Callable[[exp.Expr], Scalar],
    ctes: Ctes,
    correlated: list[Scalar] | None = None,
) -> list[Step]:
    return conjoined(lowering, ands(tree), lower, ctes, correlated)


def conjoined(
    lowering: Lowering,
    parts: Sequence[exp.Expr],
    lower: Callable[[exp.Expr], Scalar],
    ctes: Ctes,
    correlated: list[Scalar] | None,
) -> list[Step]:
    """Plain conjuncts first, as one selection; then a join for each subquery."""
    steps: list[Step] = []
    plain = [lower(p) for p in parts if not found_in(p)]
    if plain:
        steps.append(selection(plain, correlated))
    for part in parts:
        if found_in(part):
            steps += Subqueries(lowering, lower, ctes).conjunct(part, correlated)
    return steps


def selection(parts: Sequence[Scalar], correlated: list[Scalar] | None) -> Step:
    def step(relation: Relation) -> Relation:
        here = [p for p in parts if correlated is None or p.columns <= set(relation.names)]
        if correlated is not None:
            correlated.extend(p for p in parts if p not in here)
        predicate = conjunction(here)
        return relation if predicate is None else Filter(relation, predicate)

    return step


def outputs_of(lowering: Lowering, node: exp.Select, scope: Scope, ctes: Ctes) -> exp.Select:
    """The SELECT with a column in the place of every subquery of its list; the scope's relation gets the columns."""
    if not any(found_in(item) for item in node.expressions):
        return node
    subqueries = Subqueries(lowering, lambda part: lowering.scalars.lower(part, scope), ctes)
    copy = node.copy()
    copy.set("expressions", [])
    for item in node.expressions:
        rewritten, steps = subqueries.columns(item)
        copy.append("expressions", rewritten)
        for step in steps:
            scope.relation = step(scope.relation)
    return copy


def lateral(lowering: Lowering, scope: Scope, join: exp.Join, ctes: Ctes) -> None:
    """R, LATERAL (SELECT … FROM S WHERE p(R, S)): what refers to R becomes the predicate of a join."""
    kind = kind_of(join)
    item, query = join.this, join.this.this.this
    subqueries = Subqueries(lowering, lambda part: lowering.scalars.lower(part, scope), ctes)
    if (
        kind not in (INNER, LEFT)
        or not isinstance(query, exp.Select)
        or not is_plain(query)
        or query.args.get("distinct")
    ):
        raise not_yet("a LATERAL subquery of this form", "RV-LATERAL", join, "write it as a join")
    inner_scope, correlated = subqueries.rows(query, lowering.with_ctes(query, ctes))
    relation, columns = lowering.select_list(query, inner_scope)
    if any(not e.columns <= set(relation.names) for _, e in columns):
        raise not_yet("a LATERAL subquery that shows what is around it", "RV-LATERAL", join, "select it outside")
    shown = Project(relation, (*((n, col(n)) for n in relation.names), *((v.unique, e) for v, e in columns)))
    right = Scope.of(shown, Named(item.alias, listed(tuple(v for v, _ in columns), column_list(item), item)))
    both = Scope(scope.relation, list(scope.items), set(scope.hidden), list(scope.shown))
    both.join(right)
    on = join.args.get("on")
    tests = [*correlated, *([lowering.scalars.lower(on, both)] if on is not None else [])]
    if kind == LEFT:
        predicate = conjunction(tests) or literal(True)
        scope.relation = OuterJoin(scope.relation, shown, within(predicate, scope.relation, shown, join))
    else:
        scope.relation = Join(scope.relation, shown)
        found = conjunction(tests)
        if found is not None:
            scope.relation = Filter(scope.relation, within(found, scope.relation, shown, join))
    scope.join(right)


def found_in(tree: exp.Expr) -> list[exp.Expr]:
    """The outermost subqueries of an expression."""
    return [n for n in tree.walk(bfs=False, prune=is_subquery) if is_subquery(n)]


def is_subquery(node: exp.Expr) -> bool:
    return is_predicate(node) or isinstance(node, exp.Subquery)


def is_predicate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Exists) or (isinstance(node, exp.In) and bool(node.args.get("query")))


class Subqueries:
    """Lowers the subqueries of one condition; `lower` gives an expression of the query around them its meaning."""

    def __init__(self, lowering: Lowering, lower: Callable[[exp.Expr], Scalar], ctes: Ctes) -> None:
        self.lowering = lowering
        self.lower = lower
        self.ctes = ctes

    def conjunct(self, tree: exp.Expr, correlated: list[Scalar] | None) -> list[Step]:
        negated, body = False, tree.unnest()
        while isinstance(body, exp.Not):
            negated, body = not negated, body.this.unnest()
        if is_predicate(body):
            return [self.filter(body, negated=negated)]
        return self.marks(tree, correlated)

    def filter(self, tree: exp.Expr, *, negated: bool) -> Step:
        inner = self.inner(tree)
        pairs = self.pairs(tree, inner)

        def step(relation: Relation) -> Relation:
            if negated:
                tests = [self.may_equal(a, b, relation, inner.relation) for a, b in pairs]
            else:
                tests = [equals(a, b) for a, b in pairs]
            predicate = within(inner.predicate(*tests), relation, inner.relation, tree)
            return (AntiJoin if negated else SemiJoin)(relation, inner.relation, predicate)

        return step

    def may_equal(self, a: Scalar, b: Scalar, left: Relation, right: Relation) -> Scalar:
        """(a = b) IS NOT FALSE, as Spark spells it to itself; that is a = b where neither can be NULL."""
        known = self.lowering.tables
        if a.column in facts.never_null(left, known) and b.column in facts.never_null(right, known):
            return equals(a, b)
        return Scalar(exp.Or(this=equals(a, b).tree, expression=is_null(equals(a, b)).tree))

    def marks(self, tree: exp.Expr, correlated: list[Scalar] | None) -> list[Step]:
        rewritten, steps = self.columns(tree)
        return [*steps, selection([self.lower(rewritten)], correlated)]

    def columns(self, tree: exp.Expr) -> tuple[exp.Expr, list[Step]]:
        """The expression with a column in the place of every subquery, and the joins that make the columns."""
        steps: list[Step] = []
        for node in (found := found_in(tree)):
            if any(is_aggregate(above) for above in ancestors(node, tree)):
                raise not_yet("a subquery inside an aggregate", "RV-SUBQUERY", node, "compute it in a subquery of FROM")
        if not found:
            return tree, steps

        def column(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Subquery):
                return scalar_value(self, steps, node)
            found = self.mark(steps, node, lambda pairs: pairs)
            if isinstance(node, exp.Exists) or only_connectives(node, tree):
                return found
            if not all(isinstance(above, exp.Connector | exp.Not | exp.Paren) for above in ancestors(node, tree)):
                # Spark takes such an IN for FALSE where it should be NULL, and so would a recompute
                raise not_yet("IN (subquery) whose NULL can be seen", "RV-SUBQUERY", node, "write it as EXISTS")
            doubt = self.mark(steps, node, lambda pairs: [is_null(p) for p in (conjunction(pairs),) if p])
            return exp.Paren(this=exp.Case().when(found, exp.true()).when(doubt, exp.Null()).else_(exp.false()))

        return replaced(tree, column), steps

    def mark(self, steps: list[Step], node: exp.Expr, test: Callable[[list[Scalar]], list[Scalar]]) -> exp.Expr:
        """The column of a mark join. Every join lowers the subquery for itself, so that no column has two origins."""
        inner = self.inner(node)
        predicate = inner.predicate(*test([equals(a, b) for a, b in self.pairs(node, inner)]))
        name = self.lowering.allocator.name("mark")

        def step(relation: Relation) -> Relation:
            return MarkJoin(relation, inner.relation, within(predicate, relation, inner.relation, node), name)

        steps.append(step)
        return mark_column(name)

    def pairs(self, tree: exp.Expr, inner: Inner) -> list[tuple[Scalar, Scalar]]:
        """What IN compares; nothing for EXISTS."""
        if isinstance(tree, exp.Exists):
            return []
        tested = tree.this.unnest()
        operands = tested.expressions if isinstance(tested, exp.Tuple) else [tree.this]
        if len(operands) != len(inner.outputs):
            raise bad(
                f"IN compares {len(operands)} with {len(inner.outputs)} columns",
                "RV-IN-COLUMNS",
                tree,
                "select as many columns as there are on the left",
            )
        return [(self.lower(o), b) for o, b in zip(operands, inner.outputs, strict=True)]

    def inner(self, tree: exp.Expr) -> Inner:
        query = (tree.args.get("query") or tree.this).unnest()
        ctes = self.lowering.with_ctes(query, self.ctes)
        single = isinstance(tree, exp.Subquery) and query.args.get("distinct")
        if isinstance(query, exp.Select) and is_plain(query) and not single:
            return self.select(query, ctes, outputs=not isinstance(tree, exp.Exists))
        try:
            lowered = self.lowering.query(query, self.ctes)
        except BadInput as error:
            if error.code == "RV-UNKNOWN-COLUMN":
                raise not_yet("a correlated subquery of this form", "RV-SUBQUERY", tree) from error
            raise
        return Inner(lowered.relation, tuple(col(c.unique) for c in lowered.columns), ())

    def rows(self, node: exp.Select, ctes: Ctes) -> tuple[Scope, list[Scalar]]:
        """What FROM and WHERE give, and the conjuncts that refer to the query around it."""
        scope = self.lowering.from_clause(node, ctes)
        scope.outer = self.lower
        correlated: list[Scalar] = []
        clause = node.args.get("where")
        for step in where(self.lowering, clause.this, scope, ctes, correlated) if clause is not None else ():
            scope.relation = step(scope.relation)
        return scope, correlated

    def select(self, node: exp.Select, ctes: Ctes, *, outputs: bool) -> Inner:
        self.lowering.refuse_all_but(PLAIN, node)
        scope, correlated = self.rows(node, ctes)
        if not outputs and not any(is_generator(item.unalias()) for item in node.expressions):
            return Inner(scope.relation, (), tuple(correlated))
        relation, columns = self.lowering.select_list(outputs_of(self.lowering, node, scope, ctes), scope)
        return Inner(relation, tuple(e for _, e in columns), tuple(correlated))


def is_plain(node: exp.Select) -> bool:
    if is_grouping(node) or any(item.find(exp.Window) for item in node.expressions):
        return False
    return not any(value and part not in PLAIN for part, value in node.args.items())


def within(predicate: Scalar, left: Relation, right: Relation, node: exp.Expr) -> Scalar:
    """The predicate, which must not refer to a query further out."""
    if not predicate.columns <= {*left.names, *right.names}:
        raise not_yet("a subquery that refers beyond the query around it", "RV-SUBQUERY", node)
    return predicate


def ancestors(node: exp.Expr, root: exp.Expr) -> Iterator[exp.Expr]:
    while node is not root and node.parent is not None:
        node = node.parent
        yield node


def only_connectives(node: exp.Expr, root: exp.Expr) -> bool:
    """Is there nothing but AND and OR above the node? Then NULL may as well be FALSE."""
    while node is not root:
        assert node.parent is not None
        node = node.parent
        if not isinstance(node, exp.And | exp.Or | exp.Paren):
            return False
    return True


def replaced(tree: exp.Expr, column: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """A copy with every subquery predicate replaced; what to put there is decided where it stands in `tree`."""
    columns = iter([column(node) for node in found_in(tree)])

    def replace(node: exp.Expr) -> exp.Expr:
        return next(columns) if is_subquery(node) else node

    return tree.transform(replace)


def equals(a: Scalar, b: Scalar) -> Scalar:
    return Scalar(exp.EQ(this=operand(a.tree), expression=operand(b.tree)))


def is_null(scalar: Scalar) -> Scalar:
    return Scalar(exp.Is(this=operand(scalar.tree), expression=exp.Null()))

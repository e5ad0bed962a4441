"""Subqueries in conditions to joins: EXISTS and IN are semi joins, NOT EXISTS and NOT IN anti joins.

A conjunct of WHERE that refers to the query around it becomes the join's predicate. `x NOT IN (S)` is true only if
x = s is false for every s, so a partner is any s for which it is not: the anti join tests (x = s) IS NOT FALSE.
Below OR, NOT or anything else the subquery is a mark join, whose column stands in the expression. There Spark has no
NULL for IN, not even where it can be seen: x IN (S) is whether some s is equal, x NOT IN (S) whether all s differ for
sure. x < ANY (S) is an IN that compares in another way; Spark has none, so it is NULL where SQL says so: TRUE if some s
compares so, else NULL if some comparison is NULL, else FALSE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra import facts
from rollview.algebra.relation import AntiJoin, Filter, MarkJoin, Relation, SemiJoin
from rollview.algebra.scalar import Scalar, col, conjunction, literal, operand
from rollview.errors import RollviewError
from rollview.frontend.dependent import dependent
from rollview.frontend.generators import is_generator
from rollview.frontend.joins import INNER, kind_of
from rollview.frontend.quantifiers import COMPARISON, compared
from rollview.frontend.refuse import bad, not_yet
from rollview.frontend.scalar_subqueries import DEPENDS, scalar_value
from rollview.frontend.scalars import ands, found_in, is_aggregate, is_grouping, is_predicate, is_subquery
from rollview.frontend.scope import mark_column
from rollview.frontend.time_filters import reads_clock, time_filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rollview.frontend.lower import Lowering
    from rollview.frontend.scope import Lowered, Scope

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

    @classmethod
    def of(cls, lowered: Lowered, tests: tuple[Scalar, ...] = ()) -> Inner:
        return cls(lowered.relation, tuple(col(c.unique) for c in lowered.columns), tests)

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
    subqueries = Subqueries(lowering, lower, ctes, scope)
    steps = conjoined(subqueries, [p for p in parts if p not in timely], correlated)
    return [*steps, time_filter(timely, lowering.allocator, lower)] if timely else steps


def condition(
    lowering: Lowering,
    tree: exp.Expr,
    lower: Callable[[exp.Expr], Scalar],
    ctes: Ctes,
    around: Scope,
) -> list[Step]:
    return conjoined(Subqueries(lowering, lower, ctes, around), ands(tree), None)


def conjoined(subqueries: Subqueries, parts: Sequence[exp.Expr], correlated: list[Scalar] | None) -> list[Step]:
    """Plain conjuncts first, as one selection; then a join for each subquery."""
    steps: list[Step] = []
    plain = [subqueries.lower(p) for p in parts if not found_in(p)]
    if plain:
        steps.append(selection(plain, correlated))
    for part in parts:
        if found_in(part):
            steps += subqueries.conjunct(part, correlated)
    return steps


def selection(parts: Sequence[Scalar], correlated: list[Scalar] | None) -> Step:
    def step(relation: Relation) -> Relation:
        here = [p for p in parts if correlated is None or p.columns <= set(relation.names)]
        if correlated is not None:
            correlated.extend(p for p in parts if p not in here)
        predicate = conjunction(here)
        return relation if predicate is None else Filter(relation, predicate)

    return step


def on(
    lowering: Lowering, left: Scope, right: Scope, join: exp.Join, ctes: Ctes
) -> tuple[exp.Join, Sequence[exp.Expr]]:
    """The join with a column in the place of every subquery of its condition; one of its sides gets the columns.

    Of an inner join the conjuncts with subqueries may as well be tested later, on its rows; these come beside it."""
    tree = join.args.get("on")
    if tree is None or not found_in(tree):
        return join, ()
    plain, others = [p for p in ands(tree) if not found_in(p)], [p for p in ands(tree) if found_in(p)]
    copy = join.copy()
    if kind_of(join) == INNER:
        copy.set("on", exp.and_(*plain) if plain else None)
        return copy, others
    copy.set("on", exp.and_(*plain, *(beside(lowering, left, right, p, ctes) for p in others)))
    return copy, ()


def beside(lowering: Lowering, left: Scope, right: Scope, part: exp.Expr, ctes: Ctes) -> exp.Expr:
    """A conjunct of ON over columns of the side that its subqueries depend on."""
    for side, other in ((right, left), (left, right)):
        subqueries = Subqueries(lowering, lambda tree, side=side: lowering.scalars.lower(tree, side), ctes, side)  # type: ignore[misc]
        try:
            rewritten, steps = subqueries.columns(part)
        except RollviewError as error:
            if other is right or error.code not in DEPENDS:
                raise
            continue
        for step in steps:
            side.relation = step(side.relation)
        return rewritten
    raise AssertionError


def outputs_of(lowering: Lowering, node: exp.Select, scope: Scope, ctes: Ctes) -> exp.Select:
    """The SELECT with a column in the place of every subquery of its list; the scope's relation gets the columns."""
    if not any(found_in(item) for item in node.expressions):
        return node
    subqueries = Subqueries(lowering, lambda part: lowering.scalars.lower(part, scope), ctes, scope)
    copy = node.copy()
    copy.set("expressions", [])
    for item in node.expressions:
        rewritten, steps = subqueries.columns(item)
        copy.append("expressions", rewritten)
        for step in steps:
            scope.relation = step(scope.relation)
    return copy


class Subqueries:
    """Lowers the subqueries of one condition; `lower` gives an expression of the query around them its meaning, and
    `around` are that query's rows, where they are known already."""

    def __init__(
        self, lowering: Lowering, lower: Callable[[exp.Expr], Scalar], ctes: Ctes, around: Scope | None = None
    ) -> None:
        self.lowering = lowering
        self.lower = lower
        self.ctes = ctes
        self.around = around

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
                tests = [self.may_hold(tree, a, b, relation, inner.relation) for a, b in pairs]
            else:
                tests = [compared(tree, a, b) for a, b in pairs]
            predicate = within(inner.predicate(*tests), relation, inner.relation, tree)
            return (AntiJoin if negated else SemiJoin)(relation, inner.relation, predicate)

        return step

    def may_hold(self, tree: exp.Expr, a: Scalar, b: Scalar, left: Relation, right: Relation) -> Scalar:
        """(a = b) IS NOT FALSE, as Spark spells it to itself; that is a = b where neither can be NULL."""
        known, test = self.lowering.tables, compared(tree, a, b)
        if a.column in facts.never_null(left, known) and b.column in facts.never_null(right, known):
            return test
        return Scalar(exp.Or(this=test.tree.copy(), expression=is_null(test).tree))

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
            if isinstance(node, exp.Exists) or self.without_null(node):
                return self.mark(steps, node, lambda pairs: pairs)
            if not node.args.get(COMPARISON):
                if is_compared(node, condition_around(node, tree)):
                    # whether Spark turns such an IN into NOT IN depends on what it is compared with
                    raise not_yet("IN (subquery) that is compared", "RV-SUBQUERY", node, "write it as EXISTS")
                return self.mark(steps, node, possible if is_negated(node, tree) else lambda pairs: pairs)
            found = self.mark(steps, node, lambda pairs: pairs)
            if only_connectives(node, condition_around(node, tree)):
                return found
            doubt = self.mark(steps, node, lambda pairs: [is_null(p) for p in (conjunction(pairs),) if p])
            return exp.Paren(this=exp.Case().when(found, exp.true()).when(doubt, exp.Null()).else_(exp.false()))

        return replaced(tree, column), steps

    def without_null(self, node: exp.Expr) -> bool:
        """Is no comparison of an IN ever NULL?"""
        if self.around is None:
            return False
        inner, tables = self.inner(node), self.lowering.tables
        ours, theirs = facts.never_null(self.around.relation, tables), facts.never_null(inner.relation, tables)
        return all(a.column in ours and b.column in theirs for a, b in self.pairs(node, inner))

    def mark(self, steps: list[Step], node: exp.Expr, test: Callable[[list[Scalar]], list[Scalar]]) -> exp.Expr:
        """The column of a mark join. Every join lowers the subquery for itself, so that no column has two origins."""
        inner = self.inner(node)
        predicate = inner.predicate(*test([compared(node, a, b) for a, b in self.pairs(node, inner)]))
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
        if len(operands) > 1 and tree.args.get(COMPARISON, exp.EQ.key) != exp.EQ.key:
            raise not_yet(
                "this comparison of several columns with ANY or ALL", "RV-SUBQUERY", tree, "write it as EXISTS"
            )
        return [(self.lower(o), b) for o, b in zip(operands, inner.outputs, strict=True)]

    def inner(self, tree: exp.Expr) -> Inner:
        """What the subquery finds; by its conditions alone if they say how it depends on the query around it."""
        query = (tree.args.get("query") or tree.this).unnest()
        ctes = self.lowering.with_ctes(query, self.ctes)
        single = isinstance(tree, exp.Subquery) and query.args.get("distinct")
        try:
            if isinstance(query, exp.Select) and is_plain(query) and not single:
                return self.select(query, ctes, outputs=not isinstance(tree, exp.Exists))
            lowered = self.lowering.query(query, self.ctes)
        except RollviewError as error:
            if error.code not in DEPENDS:
                raise
            if self.around is None:
                raise not_yet("a correlated subquery of this form", "RV-SUBQUERY", tree) from error
            return Inner.of(*self.dependent(query))
        return Inner.of(lowered)

    def dependent(self, query: exp.Expr) -> tuple[Lowered, tuple[Scalar, ...]]:
        assert self.around is not None
        return dependent(self.lowering, query, self.ctes, self.around.relation, self.lower)

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


def condition_around(node: exp.Expr, root: exp.Expr) -> exp.Expr:
    """The condition of CASE WHEN or IF that the node is in; else the whole expression."""
    here = node
    while here is not root and here.parent is not None:
        case = here.parent.parent
        compared = isinstance(case, exp.Case) and case.args.get("this")
        if isinstance(here.parent, exp.If) and here.arg_key == "this" and not compared:
            return here
        here = here.parent
    return root


def is_negated(node: exp.Expr, root: exp.Expr) -> bool:
    """Is there an odd number of NOT above the node, among AND and OR? Spark moves each to what it negates."""
    negated = False
    for above in ancestors(node, root):
        if not isinstance(above, exp.Connector | exp.Not | exp.Paren):
            break
        negated ^= isinstance(above, exp.Not)
    return negated


def is_compared(node: exp.Expr, root: exp.Expr) -> bool:
    """Is the truth that the node is, or what is made of it, compared with another value?"""
    truths = (exp.Connector, exp.Not, exp.Paren)
    return any(
        (isinstance(above, exp.Predicate) and not isinstance(above, truths) and not is_null_test(above))
        or (isinstance(above, exp.Case) and above.args.get("this"))
        for above in ancestors(node, root)
    )


def is_null_test(node: exp.Expr) -> bool:
    return isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)


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


def possible(pairs: Sequence[Scalar]) -> list[Scalar]:
    """Not known to be FALSE."""
    whole = conjunction(pairs)
    return [] if whole is None else [Scalar(exp.Or(this=operand(whole.tree), expression=is_null(whole).tree))]


def is_null(scalar: Scalar) -> Scalar:
    return Scalar(exp.Is(this=operand(scalar.tree), expression=exp.Null()))

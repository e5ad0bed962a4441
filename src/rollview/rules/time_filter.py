"""A time filter: the rows of R that compare with the clock's reading as asked, while R changes and the clock moves.

    Δ(σ_{p(c)} R) = σ_{p(c₁)}(ΔR) ⊎ σ_{p(c₁) ∧ p(c₀) is not true}(R₀) ∸ σ_{p(c₀) ∧ p(c₁) is not true}(R₀)

(c₀ before, c₁ after, R₀ before). Rows that both readings keep, or neither, are not touched; the rest are found by one
scan of R₀, whose condition consists of comparisons with the two readings.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Filter, Join, Project, Relation, Scan, SemiJoin, State, union
from rollview.algebra.scalar import Scalar, col, conjunction, conjuncts, operand
from rollview.deltas.signed import Signed
from rollview.names import CLOCK, COUNT, PREFIX

if TYPE_CHECKING:
    from rollview.rules.partners import Side

OPPOSITE: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.NEQ,
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
}


def time_filter_delta(node: SemiJoin, left: Side, clock: Side) -> Signed:
    """The law above."""
    parts: list[Relation] = []
    if not left.delta.is_empty:
        parts.append(SemiJoin(left.delta.relation, clock.after, node.predicate))
    if not clock.delta.is_empty:
        parts.append(moved(node, left.before))
    return Signed(union(tuple(parts), (*node.names, COUNT)))


def moved(node: SemiJoin, before: Relation) -> Relation:
    """The rows that come (+1) and go (-1) as the clock moves from c₀ to c₁."""
    assert isinstance(node.right, Scan)
    old = {name: f"{PREFIX}old_{name}" for _, name in node.right.columns}
    c0 = Scan(CLOCK, tuple((column, old[name]) for column, name in node.right.columns), State.BEFORE)
    c1 = Scan(CLOCK, node.right.columns, State.AFTER)
    was, is_ = node.predicate.substitute({n: col(o) for n, o in old.items()}), node.predicate
    comes, goes = turns(was, is_, c0), turns(is_, was, c1)
    rows = Filter(Join(Join(before, c0), c1), Scalar(exp.Or(this=comes, expression=goes)))
    sign = exp.If(this=is_.tree, true=exp.Literal.number(1), false=exp.Literal.number(-1))
    return Project(rows, (*((n, col(n)) for n in before.names), (COUNT, Scalar(sign))))


def turns(was: Scalar, is_: Scalar, clock: Scan) -> exp.Expr:
    """`is_` is true and `was`, which reads the clock, is not."""
    timely = (c for c in conjuncts(was) if c.columns & set(clock.names))  # the others are the same in both
    tests = [test for comparison in timely for test in fails(comparison, clock)]
    both = conjunction([*conjuncts(is_), Scalar(reduce(lambda a, b: exp.Or(this=a, expression=b), tests))])
    assert both is not None
    return exp.Paren(this=both.tree)


def fails(comparison: Scalar, clock: Scan) -> list[exp.Expr]:
    """x < k is not true: x >= k, or a side is NULL; but not one that the clock has no part in, since with the other
    reading the comparison is true. Comparisons of columns with literals prune files."""
    tree = comparison.tree
    sides = [Scalar(tree.this), Scalar(tree.expression)]
    doubtful = [s for s in sides if s.columns & set(clock.names) and s.column is None]
    nulls = [exp.Is(this=operand(s.tree), expression=exp.null()) for s in doubtful]
    return [OPPOSITE[type(tree)](this=tree.this, expression=tree.expression), *nulls]

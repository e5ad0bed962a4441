"""DISTINCT and the set operations, all by counts.

Law (the count algorithm): let l and r be how often a row occurs on the left and on the right. Then it occurs

    in  DISTINCT l       1 time if l > 0            in  UNION          1 time if l + r > 0
    in  INTERSECT        1 time if l, r > 0         in  INTERSECT ALL  min(l, r) times
    in  EXCEPT           1 time if l > 0, r = 0     in  EXCEPT ALL     l ∸ r times

DISTINCT is a grouping by all columns without measures. The others group both sides at once, tagged, and count; the
rest is a selection on the counts, or a generator that repeats the row.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.algebra.relation import Aggregate, Filter, Function, Generate, Measure, Project, Relation, UnionAll, keep
from rollview.algebra.scalar import Scalar, col, literal
from rollview.frontend.scope import Allocator, Lowered, Visible


def distinct_rows(lowered: Lowered, allocator: Allocator) -> Lowered:
    """δ(R): every row once."""
    columns = renamed(lowered, allocator)
    keys = tuple((new.unique, col(old.unique)) for new, old in zip(columns, lowered.whole, strict=True))
    return lowered.over(Aggregate(lowered.relation, keys, ()), columns)


def union_all(sides: list[Lowered], allocator: Allocator) -> Lowered:
    columns = renamed(sides[0], allocator)
    inputs = tuple(keep(s.relation, tuple(c.unique for c in s.whole)) for s in sides)
    return sides[0].over(UnionAll(inputs, tuple(c.unique for c in columns)), columns)


def counted(
    kind: type[exp.SetOperation], left: Lowered, right: Lowered, allocator: Allocator, *, all_: bool
) -> Lowered:
    """INTERSECT and EXCEPT, of sets or (`all_`) of bags, from how often each row occurs on either side."""
    tag = allocator.name("left")
    tagged = [(left, literal(1)), (right, Scalar(exp.cast(exp.null(), "int")))]
    inputs = tuple(
        Project(s.relation, (*((c.unique, col(c.unique)) for c in s.whole), (tag, mark))) for s, mark in tagged
    )
    columns = renamed(left, allocator)
    both = UnionAll(inputs, (*(c.unique for c in columns), tag))
    shown = renamed(left, allocator)
    rows, lefts = allocator.name("rows"), allocator.name("lefts")
    grouped: Relation = Aggregate(
        both,
        tuple((new.unique, col(old.unique)) for new, old in zip(shown, columns, strict=True)),
        (Measure(rows, Function.COUNT), Measure(lefts, Function.COUNT, col(tag))),
    )
    n, l = col(rows).tree, col(lefts).tree  # noqa: E741
    if all_:
        times = min_of(l, n) if kind is exp.Intersect else monus(l, n)
        grouped = Generate(grouped, repeated(times), (allocator.name("copy"),))
    elif kind is exp.Intersect:
        grouped = Filter(grouped, Scalar(exp.and_(positive(l), exp.GT(this=n.copy(), expression=l.copy()))))
    else:
        grouped = Filter(grouped, Scalar(exp.EQ(this=l.copy(), expression=n.copy())))
    return left.over(grouped, shown)


def renamed(lowered: Lowered, allocator: Allocator) -> tuple[Visible, ...]:
    return tuple(Visible(c.name, allocator.name(c.name), c.given) for c in lowered.whole)


def positive(tree: exp.Expr) -> exp.Expr:
    return exp.GT(this=tree.copy(), expression=exp.Literal.number(0))


def min_of(lefts: exp.Expr, rows: exp.Expr) -> exp.Expr:
    rights = exp.Sub(this=rows.copy(), expression=lefts.copy())
    fewer = exp.LT(this=lefts.copy(), expression=rights.copy())
    return exp.Case().when(fewer, lefts.copy()).else_(rights)


def monus(lefts: exp.Expr, rows: exp.Expr) -> exp.Expr:
    """l ∸ r = max(0, l - r), and r is what is not left."""
    less = exp.Sub(this=exp.Add(this=lefts.copy(), expression=lefts.copy()), expression=rows.copy())
    return exp.Case().when(positive(exp.Paren(this=less.copy())), less).else_(exp.Literal.number(0))


def repeated(times: exp.Expr) -> Scalar:
    """A generator of so many rows."""
    copies = exp.Anonymous(this="array_repeat", expressions=[exp.Literal.number(1), exp.cast(times, "int")])
    return Scalar(exp.Anonymous(this="explode", expressions=[copies]))

"""The refresh operator as a MERGE tree.

θ: rows are matched by key, null-safe. For aggregates every update function is an addition, and a group is deleted
when its count comes to zero. For rows, an old row is deleted by its key and new rows are inserted; an update is both.

`bounds` are literals that the matched keys lie between; Spark prunes the extent's files by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rollview.names import COUNT
from rollview.plan.emit import ident

TARGET, SOURCE = "v", "d"


def column(alias: str, name: str) -> exp.Column:
    return exp.Column(this=ident(name), table=ident(alias))


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and greatest value of a key column in a change, and whether NULL occurs."""

    low: exp.Expr
    high: exp.Expr
    nulls: bool = False

    def test(self, tree: exp.Expr) -> exp.Expr:
        between = exp.Between(this=tree.copy(), low=self.low.copy(), high=self.high.copy())
        if not self.nulls:
            return between
        return exp.Paren(this=exp.Or(this=between, expression=exp.Is(this=tree.copy(), expression=exp.Null())))


def same_key(key: Sequence[str], bounds: Mapping[str, Bounds]) -> exp.Expr:
    tests: list[exp.Expr] = []
    for name in key:
        tests.append(exp.NullSafeEQ(this=column(TARGET, name), expression=column(SOURCE, name)))
        if name in bounds:
            tests.append(bounds[name].test(column(TARGET, name)))
    return exp.and_(*tests) if tests else exp.true()


def merge_states(
    target: exp.Table,
    source: exp.Expr,
    key: Sequence[str],
    states: Sequence[str],
    *,
    keep_empty: bool,
    bounds: Mapping[str, Bounds] | None = None,
) -> exp.Merge:
    """V ⊔ □V for an aggregate."""

    def total(name: str) -> exp.Expr:
        return exp.Add(this=column(TARGET, name), expression=column(SOURCE, name))

    whens = []
    gained: exp.Expr | None = None
    if not keep_empty:
        # a new group that comes and goes within the span may leave the rounding of a floating-point sum behind
        gained = exp.GT(this=column(SOURCE, COUNT), expression=exp.Literal.number(0))
        empty = exp.EQ(this=total(COUNT), expression=exp.Literal.number(0))
        whens.append(exp.When(matched=True, condition=empty, then=exp.Var(this="DELETE")))
    update = [exp.EQ(this=exp.Column(this=ident(s)), expression=total(s)) for s in states]
    whens.append(exp.When(matched=True, then=exp.Update(expressions=update)))
    whens.append(exp.When(matched=False, condition=gained, then=inserted([*key, *states])))
    return merge(target, source, same_key(key, bounds or {}), whens)


def merge_rows(
    target: exp.Table,
    source: exp.Expr,
    key: Sequence[str],
    columns: Sequence[str],
    *,
    insert: bool,
    bounds: Mapping[str, Bounds] | None = None,
) -> exp.Merge:
    """Delete the rows whose key comes with a negative count; with `insert`, insert those with a positive one."""
    lost = exp.LT(this=column(SOURCE, COUNT), expression=exp.Literal.number(0))
    on = exp.and_(same_key(key, bounds or {}), lost)
    whens = [exp.When(matched=True, then=exp.Var(this="DELETE"))]
    if insert:
        gained = exp.GT(this=column(SOURCE, COUNT), expression=exp.Literal.number(0))
        whens.append(exp.When(matched=False, condition=gained, then=inserted(columns)))
    return merge(target, source, on, whens)


def merge(target: exp.Table, source: exp.Expr, on: exp.Expr, whens: Sequence[exp.When]) -> exp.Merge:
    if isinstance(source, exp.Query):
        source = exp.Subquery(this=source, alias=exp.TableAlias(this=ident(SOURCE)))
    else:
        source = exp.alias_(source, SOURCE, table=True, quoted=True)
    return exp.Merge(
        this=exp.alias_(target.copy(), TARGET, table=True, quoted=True),
        using=source,
        on=on,
        whens=exp.Whens(expressions=list(whens)),
    )


def inserted(columns: Sequence[str]) -> exp.Insert:
    names = [exp.Column(this=ident(c)) for c in columns]
    values: list[exp.Expr] = [column(SOURCE, c) for c in columns]
    return exp.Insert(this=exp.Tuple(expressions=names), expression=exp.Tuple(expressions=values))

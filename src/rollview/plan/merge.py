"""The refresh operator as a MERGE tree.

θ: rows are matched by key, null-safe. For aggregates U is given, and a group is deleted when its count comes to
zero. For rows, an old row is deleted by its key and new rows are inserted; an update is both.

`near` says by literals where the matched keys lie; Spark prunes the extent's files by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from rollview.deltas.change_table import Update
from rollview.names import COUNT
from rollview.plan.emit import ident
from rollview.plan.region import Region

TARGET, SOURCE = "v", "d"


def column(alias: str, name: str) -> exp.Column:
    return exp.Column(this=ident(name), table=ident(alias))


def same_key(key: Sequence[str], near: Mapping[str, Region]) -> exp.Expr:
    """Null-safe, unless the change is known to have no NULL there: plain equality is hashed faster.

    Extents are sorted by their key, so a column prunes as long as those before it have a single value.
    """
    tests: list[exp.Expr] = []
    pruning = True
    for name in key:
        region = near.get(name)
        equal = exp.EQ if region is not None and not region.nulls else exp.NullSafeEQ
        tests.append(equal(this=column(TARGET, name), expression=column(SOURCE, name)))
        if region is not None and pruning:
            tests.append(region.test(column(TARGET, name)))
        pruning = pruning and region is not None and len(region.values) == 1
    return exp.and_(*tests) if tests else exp.true()


def merge_states(
    target: exp.Table,
    source: exp.Expr,
    key: Sequence[str],
    updates: Mapping[str, Update],
    *,
    keep_empty: bool,
    near: Mapping[str, Region] | None = None,
) -> exp.Merge:
    """V ⊔ □V for an aggregate."""

    def total(name: str) -> exp.Expr:
        return updates[name].apply(column(TARGET, name), column(SOURCE, name))

    whens = []
    gained: exp.Expr | None = None
    if not keep_empty:
        # a new group that comes and goes within the span may leave the rounding of a floating-point sum behind
        gained = exp.GT(this=column(SOURCE, COUNT), expression=exp.Literal.number(0))
        empty = exp.EQ(this=total(COUNT), expression=exp.Literal.number(0))
        whens.append(exp.When(matched=True, condition=empty, then=exp.Var(this="DELETE")))
    update = [exp.EQ(this=exp.Column(this=ident(s)), expression=total(s)) for s in updates]
    whens.append(exp.When(matched=True, then=exp.Update(expressions=update)))
    whens.append(exp.When(matched=False, condition=gained, then=inserted([*key, *updates])))
    return merge(target, source, same_key(key, near or {}), whens)


def merge_rows(
    target: exp.Table,
    source: exp.Expr,
    key: Sequence[str],
    columns: Sequence[str],
    *,
    insert: bool,
    near: Mapping[str, Region] | None = None,
) -> exp.Merge:
    """Delete the rows whose key comes with a negative count; with `insert`, insert those with a positive one."""
    lost = exp.LT(this=column(SOURCE, COUNT), expression=exp.Literal.number(0))
    on = exp.and_(same_key(key, near or {}), lost)
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

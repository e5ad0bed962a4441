"""The refresh operator (deltas/refresh.py) as a MERGE tree.

`near` says by literals where the matched keys lie; Spark prunes the extent's files by them. `solid` are the key columns
that are never NULL.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from rollview.algebra.scalar import Scalar
from rollview.deltas.change_table import Update
from rollview.deltas.refresh import NEW, OLD, Refresh, aggregate_refresh, new, old, rows_refresh
from rollview.plan.emit import ident
from rollview.plan.region import Region

TARGET, SOURCE = "v", "d"


def column(alias: str, name: str) -> exp.Column:
    return exp.Column(this=ident(name), table=ident(alias))


def same_key(key: Sequence[str], near: Mapping[str, Region], solid: Collection[str] = ()) -> exp.Expr:
    """Null-safe, unless there is known to be no NULL: plain equality is hashed faster.

    Extents are sorted by their key, so a column prunes as long as those before it have a single value.
    """
    tests: list[exp.Expr] = []
    pruning = True
    for name in key:
        region = near.get(name)
        equal = exp.EQ if name in solid or (region is not None and not region.nulls) else exp.NullSafeEQ
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
    solid: Collection[str] = (),
) -> exp.Merge:
    """V ⊔ □V for an aggregate."""

    totals = tuple((s, Scalar(u.apply(old(s).tree, new(s).tree))) for s, u in updates.items())
    operator = aggregate_refresh(tuple(key), totals, keep_empty=keep_empty)
    return rendered(operator, target, source, [*key, *updates], near, solid)


def merge_rows(
    target: exp.Table,
    source: exp.Expr,
    key: Sequence[str],
    columns: Sequence[str],
    *,
    insert: bool,
    near: Mapping[str, Region] | None = None,
    solid: Collection[str] = (),
) -> exp.Merge:
    """Delete the rows whose key comes with a negative count; with `insert`, insert those with a positive one."""
    return rendered(rows_refresh(tuple(key)), target, source, columns if insert else (), near, solid)


def rendered(
    operator: Refresh,
    target: exp.Table,
    source: exp.Expr,
    inserts: Sequence[str],
    near: Mapping[str, Region] | None = None,
    solid: Collection[str] = (),
) -> exp.Merge:
    """V ⊔_θ^U □V; `inserts` are the columns of the rows that are inserted, none if another statement does that."""
    on = same_key(operator.key, near or {}, solid)
    if operator.match is not None:
        on = exp.and_(on, paired(operator.match))
    whens = []
    always = operator.delete is not None and isinstance(operator.delete.tree, exp.Boolean)
    if operator.delete is not None:
        condition = None if always else paired(operator.delete)
        whens.append(exp.When(matched=True, condition=condition, then=exp.Var(this="DELETE")))
    if operator.updates and not always:
        update = [exp.EQ(this=exp.Column(this=ident(c)), expression=paired(e)) for c, e in operator.updates]
        whens.append(exp.When(matched=True, then=exp.Update(expressions=update)))
    if inserts:
        gained = None if operator.insert is None else paired(operator.insert)
        whens.append(exp.When(matched=False, condition=gained, then=inserted(inserts)))
    return merge(target, source, on, whens)


def paired(scalar: Scalar) -> exp.Expr:
    """The expression over the two rows of a matched pair."""
    sides = {OLD: TARGET, NEW: SOURCE}
    columns = {n: Scalar(column(sides[n[: len(OLD)]], n[len(OLD) :])) for n in scalar.columns}
    return scalar.substitute(columns).tree


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

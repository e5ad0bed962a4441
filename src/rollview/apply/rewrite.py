"""A small extent is written anew: V ⊔ □V = γ_key(⊕ of each state)(V ⊎ □V), groups whose count is zero left out.

The refresh operator read as algebra. It is one pass and one commit, without look-ups and without delete files to
accumulate, and beats a MERGE for as long as the extent is small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from rollview.change import Applied
from rollview.deltas.change_table import Update, Updates
from rollview.lake.lake import Lake
from rollview.lake.refs import TableRef
from rollview.names import COUNT, PREFIX
from rollview.plan.emit import FUNCTIONS, ident
from rollview.plan.merge import SOURCE, TARGET, column, same_key

OLD, NEW = f"{PREFIX}old", f"{PREFIX}new"
"""how many rows of the extent (at most one) and of the change a group comes from"""


def rewrite_states(
    lake: Lake,
    extent: TableRef,
    source: exp.Expr,
    key: Sequence[str],
    updates: Updates,
    properties: Mapping[str, str],
    *,
    keep_empty: bool,
    after: int | None = None,
) -> Applied:
    """Merge the change into the extent; `source` is the change as a query or a bound name."""
    both = exp.Union(
        this=side(extent.tree(), [*key, *updates], old=1),
        expression=side(source, [*key, *updates], old=0),
        distinct=False,
    )
    keys: list[exp.Expr] = [exp.Column(this=ident(k)) for k in key]
    bulk = {**updates, OLD: Update.ADD, NEW: Update.ADD}
    totals = [exp.alias_(FUNCTIONS[u.value](this=exp.Column(this=ident(s))), s, quoted=True) for s, u in bulk.items()]
    merged = exp.select(*keys, *totals).from_(exp.Subquery(this=both, alias=exp.TableAlias(this=ident("both"))))
    if keys:
        merged = merged.group_by(*(k.copy() for k in keys))
    left = "true" if keep_empty else f"`{COUNT}` <> 0"
    changed = f"`{NEW}` > 0"
    counts = lake.rewrite(
        extent,
        merged,
        [*key, *updates],
        left,
        {
            "inserted": f"{left} AND `{OLD}` = 0",
            "updated": f"{left} AND `{OLD}` > 0 AND {changed}",
            "deleted": f"NOT ({left}) AND `{OLD}` > 0",
        },
        properties,
        order=key,
        after=after,
    )
    return Applied(counts["inserted"], counts["updated"], counts["deleted"])


def replace_groups(
    lake: Lake,
    extent: TableRef,
    source: exp.Table,
    key: Sequence[str],
    columns: Sequence[str],
    properties: Mapping[str, str],
    *,
    keep_empty: bool,
    after: int | None = None,
) -> None:
    """V' = (V ▷ V_new) ⊎ V_new: the rows of `source` take the place of those with the same key."""
    names = [exp.Column(this=ident(c)) for c in columns]
    fresh: exp.Query = exp.select(*names).from_(source.copy())
    if not keep_empty:
        fresh = (
            exp.select(*names)
            .from_(source.copy())
            .where(exp.GT(this=exp.Column(this=ident(COUNT)), expression=exp.Literal.number(0)))
        )
    if key:
        same = exp.select(exp.Literal.number(1)).from_(exp.alias_(source.copy(), SOURCE, table=True, quoted=True))
        stays = exp.Not(this=exp.Exists(this=same.where(same_key(key, {}))))
        rest = exp.select(*(column(TARGET, c) for c in columns)).from_(
            exp.alias_(extent.tree(), TARGET, table=True, quoted=True)
        )
        fresh = exp.Union(this=rest.where(stays), expression=fresh, distinct=False)
    lake.overwrite_small(extent, lake.run(fresh), properties, order=key, after=after)


def side(source: exp.Expr, columns: Sequence[str], *, old: int) -> exp.Select:
    origin = (
        exp.Subquery(this=source, alias=exp.TableAlias(this=ident("d"))) if isinstance(source, exp.Query) else source
    )
    marks = [exp.alias_(exp.Literal.number(n), name, quoted=True) for name, n in ((OLD, old), (NEW, 1 - old))]
    return exp.select(*(exp.Column(this=ident(c)) for c in columns), *marks).from_(origin.copy())

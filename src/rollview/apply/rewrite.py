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
    columns = [*key, *updates]
    return rewritten(lake, extent, merged, key, columns, properties, keep_empty=keep_empty, after=after)


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
) -> Applied:
    """V' = (V ▷ V_new) ⊎ V_new: the rows of `source` take the place of those with the same key."""
    here, there = (exp.alias_(t, n, table=True, quoted=True) for t, n in ((extent.tree(), TARGET), (source, SOURCE)))
    same = same_key(key, {}) if key else exp.true()
    missing = exp.Is(this=column(TARGET, COUNT), expression=exp.Null())
    found = exp.If(this=missing, true=exp.Literal.number(0), false=exp.Literal.number(1))
    fresh = exp.select(*(column(SOURCE, c) for c in columns), *marks(found, 1)).from_(there.copy())
    fresh = fresh.join(here.copy(), on=same.copy(), join_type="left")
    stays = exp.Not(this=exp.Exists(this=exp.select(exp.Literal.number(1)).from_(there).where(same)))
    rest = exp.select(*(column(TARGET, c) for c in columns), *marks(1, 0)).from_(here).where(stays)
    made = exp.Union(this=rest, expression=fresh, distinct=False)
    return rewritten(lake, extent, made, key, columns, properties, keep_empty=keep_empty, after=after)


def rewritten(
    lake: Lake,
    extent: TableRef,
    made: exp.Query,
    key: Sequence[str],
    columns: Sequence[str],
    properties: Mapping[str, str],
    *,
    keep_empty: bool,
    after: int | None,
) -> Applied:
    """Write the groups that are left, with OLD and NEW, and count what came, changed and went."""
    left = "true" if keep_empty else f"`{COUNT}` <> 0"
    counts = lake.rewrite(
        extent,
        made,
        columns,
        left,
        {
            "inserted": f"{left} AND `{OLD}` = 0",
            "updated": f"{left} AND `{OLD}` > 0 AND `{NEW}` > 0",
            "deleted": f"NOT ({left}) AND `{OLD}` > 0",
        },
        properties,
        order=key,
        after=after,
    )
    return Applied(counts["inserted"], counts["updated"], counts["deleted"])


def side(source: exp.Expr, columns: Sequence[str], *, old: int) -> exp.Select:
    origin = (
        exp.Subquery(this=source, alias=exp.TableAlias(this=ident("d"))) if isinstance(source, exp.Query) else source
    )
    return exp.select(*(exp.Column(this=ident(c)) for c in columns), *marks(old, 1 - old)).from_(origin.copy())


def marks(old: exp.Expr | int, new: int) -> list[exp.Expr]:
    """OLD and NEW of a row."""
    known = exp.Literal.number(old) if isinstance(old, int) else old
    return [exp.alias_(e, n, quoted=True) for n, e in ((OLD, known), (NEW, exp.Literal.number(new)))]

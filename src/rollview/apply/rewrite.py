"""A small extent is written anew: V ⊔ □V = γ_key(SUM of each state)(V ⊎ □V), groups whose count is zero left out.

The refresh operator read as algebra. It is one pass and one commit, without look-ups and without delete files to
accumulate, and beats a MERGE for as long as the extent is small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from rollview.apply.applied import Applied
from rollview.lake.lake import Lake, TableRef
from rollview.names import COUNT, PREFIX
from rollview.plan.emit import ident

OLD, NEW = f"{PREFIX}old", f"{PREFIX}new"
"""how many rows of the extent (at most one) and of the change a group comes from"""


def rewrite_states(
    lake: Lake,
    extent: TableRef,
    source: exp.Expr,
    key: Sequence[str],
    states: Sequence[str],
    properties: Mapping[str, str],
    *,
    keep_empty: bool,
) -> Applied:
    """Add the change to the extent; `source` is the change as a query or a bound name."""
    both = exp.Union(
        this=side(extent.tree(), [*key, *states], old=1),
        expression=side(source, [*key, *states], old=0),
        distinct=False,
    )
    keys: list[exp.Expr] = [exp.Column(this=ident(k)) for k in key]
    sums = [exp.alias_(exp.Sum(this=exp.Column(this=ident(s))), s, quoted=True) for s in [*states, OLD, NEW]]
    merged = exp.select(*keys, *sums).from_(exp.Subquery(this=both, alias=exp.TableAlias(this=ident("both"))))
    if keys:
        merged = merged.group_by(*(k.copy() for k in keys))
    left = "true" if keep_empty else f"`{COUNT}` <> 0"
    changed = f"`{NEW}` > 0"
    counts = lake.rewrite(
        extent,
        merged,
        [*key, *states],
        left,
        {
            "inserted": f"{left} AND `{OLD}` = 0",
            "updated": f"{left} AND `{OLD}` > 0 AND {changed}",
            "deleted": f"NOT ({left}) AND `{OLD}` > 0",
        },
        properties,
        order=key,
    )
    return Applied(counts["inserted"], counts["updated"], counts["deleted"])


def side(source: exp.Expr, columns: Sequence[str], *, old: int) -> exp.Select:
    origin = (
        exp.Subquery(this=source, alias=exp.TableAlias(this=ident("d"))) if isinstance(source, exp.Query) else source
    )
    marks = [exp.alias_(exp.Literal.number(n), name, quoted=True) for name, n in ((OLD, old), (NEW, 1 - old))]
    return exp.select(*(exp.Column(this=ident(c)) for c in columns), *marks).from_(origin.copy())

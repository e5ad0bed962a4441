"""WITH RECURSIVE: a CTE that reads itself is an anchor UNION ALL a step over the rows of the round before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import Recall, Recursion, keep
from rollview.algebra.walking import walk
from rollview.frontend.limit import is_limited
from rollview.frontend.refuse import bad
from rollview.frontend.scope import Lowered, Named, Scope, Visible, listed
from rollview.frontend.sets import union_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rollview.frontend.lower import Lowering

RECALLED = "recalled"
"""in the meta of a query that stands for the round before: the columns to recall"""
LIMIT = "limit"
"""in the meta of a CTE's body: how many rounds it may have"""


def names_itself(cte: exp.CTE) -> bool:
    """May it be a recursion?"""
    return any(t.name.lower() == cte.alias.lower() and not t.db for t in cte.this.find_all(exp.Table))


def recursion(lowering: Lowering, name: str, body: exp.Query) -> Lowered:
    """The rows of all rounds."""
    names, limit = body.meta["columns"], body.meta[LIMIT]
    ctes: Mapping[str, exp.Query] = body.meta["ctes"]
    ctes = lowering.with_ctes(body, ctes)
    if not isinstance(body, exp.Union) or body.args.get("distinct") or is_limited(body):
        hint = "WITH RECURSIVE t AS (SELECT … UNION ALL SELECT … FROM t …)"
        raise bad("a query that reads itself is an anchor UNION ALL a step", "RV-RECURSION-FORM", body, hint)
    anchor = lowering.query(body.left, ctes)
    types = {c.name: c.type for c in lowering.typer.relation(anchor.relation)}
    of = lowering.allocator.name(name)
    shown = [
        (Visible(v.name, lowering.allocator.name(v.name), v.given), types[v.unique])
        for v in listed(anchor.columns, names, body)
    ]
    before = exp.Select()
    before.meta.update({RECALLED: (of, shown), "columns": []})
    step = lowering.query(body.right, {**ctes, name: before})
    if len(step.columns) != len(shown):
        message = "the anchor and the step of a recursive query differ in their number of columns"
        raise bad(message, "RV-UNION-COLUMNS", body, f"{len(shown)} in the anchor, {len(step.columns)} in the step")
    if not any(isinstance(n, Recall) and n.of == of for n in walk(step.relation)):
        return union_all([anchor, step], lowering.allocator)  # the name means another query in there
    columns = tuple(v for v, _ in shown)
    first, then = (keep(s.relation, tuple(c.unique for c in s.columns)) for s in (anchor, step))
    return Lowered(Recursion(first, then, of, tuple(v.unique for v in columns), limit), columns)


def recalled(lowering: Lowering, body: exp.Query, item: exp.Table, names: list[str]) -> Scope:
    """The round before, as an item of FROM."""
    of, shown = body.meta[RECALLED]
    own = tuple(Visible(v.name, lowering.allocator.name(v.name)) for v, _ in shown)
    pairs = tuple((v.unique, mine.unique) for (v, _), mine in zip(shown, own, strict=True))
    relation = Recall(of, pairs, tuple(type_ for _, type_ in shown))
    return Scope.of(relation, Named(item.alias_or_name, listed(own, names, item)))

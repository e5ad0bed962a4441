"""Which names in a statement mean tables and views, and which mean its own CTEs."""

from __future__ import annotations

from collections.abc import Collection

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rollview.names import USER_NAMESPACE

OURS = ((), (USER_NAMESPACE,), ("rollview", USER_NAMESPACE))
"""what may stand before the name of a relation of the warehouse"""


def references(tree: exp.Expr) -> list[exp.Table]:
    """The places that read a table or view, wherever it lives."""
    return [t for t in tree.find_all(exp.Table) if t.name and not is_cte(t)]


def is_ours(node: exp.Table) -> bool:
    """May the name mean a relation of the warehouse?"""
    return tuple(p.name.lower() for p in node.parts[:-1]) in OURS


def is_cte(node: exp.Table) -> bool:
    """Is the name a CTE at this place? A CTE is seen by what follows it, and not by itself."""
    name = node.name.lower()
    if node.db:
        return False
    here: exp.Expr = node
    while here.parent is not None:
        above = here.parent
        visible: Collection[exp.Expr] = ()
        if isinstance(above, exp.With):
            place = next(i for i, cte in enumerate(above.expressions) if cte is here)
            visible = above.expressions if above.args.get("recursive") else above.expressions[:place]
        elif (clause := above.args.get("with_")) is not None and clause is not here:
            visible = clause.expressions
        if any(cte.alias.lower() == name for cte in visible):
            return True
        here = above
    return False


def respelled(text: str, names: Collection[str]) -> str:
    """The text with the warehouse's names in lower case, as the catalog has them; Spark's catalogs mind the case."""
    try:
        trees = sqlglot.parse(text, read="spark")
    except SqlglotError:
        return text  # whoever runs it will say what is wrong
    for node in (r for tree in trees if tree is not None for r in references(tree)):
        name = node.this
        if is_ours(node) and isinstance(name, exp.Identifier) and name.name.lower() in names:
            start, end = name.meta_get("start"), name.meta_get("end")
            if start is not None and end is not None:
                text = text[:start] + text[start : end + 1].lower() + text[end + 1 :]
    return text

"""The user's own SQL over the base tables as of a tick: what a recompute evaluates and `verify` compares with."""

from __future__ import annotations

from sqlglot import exp

from rollview.frontend.parse import parse_query
from rollview.propagate.states import States


def at_tick(sql: str, states: States, tick: int) -> exp.Query:
    """The query with each warehouse name replaced by that relation's state at the tick."""
    tree = parse_query(sql).copy()
    for node in list(tree.find_all(exp.Table)):
        name = node.name.lower()
        if name not in states.relations or in_scope(node, name):
            continue
        bound = states.at(name, tick)
        alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name, quoted=True))
        for argument in ("this", "db", "catalog", "version"):
            node.set(argument, bound.args.get(argument))
        node.set("alias", alias.copy())
    return tree


def in_scope(node: exp.Table, name: str) -> bool:
    """Is the name a CTE at this place?"""
    if node.db:
        return False
    above = node.parent
    while above is not None:
        clause = above.args.get("with_")
        if clause is not None and any(cte.alias.lower() == name for cte in clause.expressions):
            return True
        above = above.parent
    return False

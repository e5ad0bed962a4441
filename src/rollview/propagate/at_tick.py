"""The user's own SQL over the base tables as of a tick: what a recompute evaluates and `verify` compares with."""

from __future__ import annotations

from sqlglot import exp

from rollview.frontend.parse import parse_query
from rollview.frontend.references import is_ours, references
from rollview.propagate.states import States


def at_tick(sql: str, states: States, tick: int) -> exp.Query:
    """The query with each warehouse name replaced by that relation's state at the tick."""
    tree = parse_query(sql).copy()
    for node in references(tree):
        if not is_ours(node) or node.name.lower() not in states.relations:
            continue
        bound = states.at(node.name.lower(), tick)
        alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name, quoted=True))
        for argument in ("this", "db", "catalog", "version"):
            node.set(argument, bound.args.get(argument))
        node.set("alias", alias.copy())
    return tree

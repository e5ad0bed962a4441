"""Facts derived once, bottom up: keys, equivalent columns, foreign keys. Rules only read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rollview.algebra.relation import Aggregate, Filter, Join, Project, Relation, Scan, SemiJoin, UnionAll
from rollview.algebra.scalar import conjuncts, equated

if TYPE_CHECKING:
    from rollview.algebra.schema import Tables


def key(node: Relation, tables: Tables) -> tuple[str, ...] | None:
    """Columns of which no two rows of the node agree in all; None if there is no such proof."""
    match node:
        case Scan():
            return scan_key(node, tables)
        case Filter():
            return key(node.source, tables)
        case SemiJoin():
            return key(node.left, tables)
        case Project():
            below = key(node.source, tables)
            if below is None:
                return None
            shown = {e.column: name for name, e in reversed(node.columns) if e.column is not None}
            return tuple(shown[k] for k in below) if all(k in shown for k in below) else None
        case Join():
            return join_key(node, tables)
        case UnionAll():
            return None
        case Aggregate():
            return tuple(name for name, _ in node.keys)


def scan_key(node: Scan, tables: Tables) -> tuple[str, ...] | None:
    table = tables[node.table]
    if table.key is None:
        return None
    given = {column.lower(): name for column, name in node.columns}
    if not all(k.lower() in given for k in table.key):
        return None
    return tuple(given[k.lower()] for k in table.key)


def join_key(node: Join, tables: Tables) -> tuple[str, ...] | None:
    """Both keys; one side's is enough if the other side is looked up by its whole key."""
    left, right = key(node.left, tables), key(node.right, tables)
    if left is None or right is None:
        return None
    pairs = [p for p in (equated(c) for c in conjuncts(node.predicate)) if p]
    if looked_up(right, node.left.names, pairs):
        return left
    if looked_up(left, node.right.names, pairs):
        return right
    return left + right


def looked_up(wanted: tuple[str, ...], by: tuple[str, ...], pairs: list[tuple[str, str]]) -> bool:
    """Is every column of the key `wanted` equated with a column of the other side?"""
    bound = {a for a, b in pairs if b in by} | {b for a, b in pairs if a in by}
    return all(k in bound for k in wanted)


def refers(child: Scan, parent: Scan, pairs: list[tuple[str, str]], tables: Tables) -> bool:
    """Do the join equalities follow a declared foreign key from `child` to the key of `parent`?"""
    up = {column.lower(): name for column, name in parent.columns}
    down = {column.lower(): name for column, name in child.columns}
    joined = {frozenset(p) for p in pairs}
    return any(
        fk.table.lower() == parent.table
        and all(
            c.lower() in down and r.lower() in up and frozenset((down[c.lower()], up[r.lower()])) in joined
            for c, r in zip(fk.columns, fk.referenced, strict=True)
        )
        for fk in tables[child.table].foreign_keys
    )

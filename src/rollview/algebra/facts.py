"""Facts derived once, bottom up: keys, equivalent columns, foreign keys. Rules only read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.block import Block, flatten
from rollview.algebra.nulls import rejects
from rollview.algebra.relation import (
    Aggregate,
    AntiJoin,
    Filter,
    Generate,
    Join,
    MarkJoin,
    OuterJoin,
    Project,
    Recall,
    Recursion,
    Relation,
    Scan,
    SemiJoin,
    UnionAll,
    Values,
    Window,
)
from rollview.algebra.scalar import Scalar, conjuncts

if TYPE_CHECKING:
    from rollview.algebra.schema import Tables


def key(node: Relation, tables: Tables) -> tuple[str, ...] | None:
    """Columns of which no two rows of the node agree in all; None if there is no such proof."""
    match node:
        case Scan():
            return scan_key(node, tables)
        case SemiJoin() | AntiJoin() | MarkJoin():
            return key(node.left, tables)
        case OuterJoin():
            return outer_key(node, tables)
        case Project():
            below = key(node.source, tables)
            if below is None:
                return None
            shown = {e.column: name for name, e in reversed(node.columns) if e.column is not None}
            return tuple(shown[k] for k in below) if all(k in shown for k in below) else None
        case Filter() | Join():
            return first_row_key(node) or block_key(node, tables)
        case UnionAll() | Values() | Generate() | Recall() | Recursion():
            return None
        case Window():
            return key(node.source, tables)
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


def outer_key(node: OuterJoin, tables: Tables) -> tuple[str, ...] | None:
    """The keys of both sides, NULL where padded; of one side alone where it has at most one partner.

    Two padded rows agree in both keys only if one comes from each side and both have NULL as their own key.
    """
    left, right = key(node.left, tables), key(node.right, tables)
    if left is None or right is None:
        return None
    if not node.keeps_right and fixes(node, node.left, right):
        return left
    if not node.keeps_left and fixes(node, node.right, left):
        return right
    if node.keeps_left and node.keeps_right:
        never = never_null(node.left, tables) | never_null(node.right, tables)
        if not never & set(left) and not never & set(right):
            return None
    return left + right


def fixes(node: OuterJoin, side: Relation, other: tuple[str, ...]) -> bool:
    """Do the equalities of the predicate let one row of `side` meet one value of the other side's key?"""
    here = set(side.names)
    pairs = [p for p in (c.equated for c in conjuncts(node.predicate)) if p]
    fixed = {b if a in here else a for a, b in pairs if (a in here) != (b in here)}
    return fixed.issuperset(other)


def never_null(node: Relation, tables: Tables) -> frozenset[str]:
    """Columns that are NULL in no row."""
    match node:
        case Scan():
            table = tables[node.table]
            sure = {c.name.lower() for c in table.columns if not c.nullable}
            if not table.nulls_in_key:
                sure |= {k.lower() for k in table.key or ()}
            return frozenset(name for column, name in node.columns if column.lower() in sure)
        case Filter():
            return never_null(node.source, tables) | rejects(node.predicate)
        case Project():
            below = never_null(node.source, tables)
            return frozenset(name for name, e in node.columns if e.column in below or e.is_constant)
        case Join():
            both = never_null(node.left, tables) | never_null(node.right, tables)
            return both if node.predicate is None else both | rejects(node.predicate)
        case SemiJoin():
            return never_null(node.left, tables) | (rejects(node.predicate) & set(node.left.names))
        case AntiJoin():
            return never_null(node.left, tables)
        case MarkJoin():
            return never_null(node.left, tables) | {node.mark}
        case OuterJoin():
            left = frozenset[str]() if node.keeps_right else never_null(node.left, tables)
            right = frozenset[str]() if node.keeps_left else never_null(node.right, tables)
            return left | right
        case UnionAll():
            sides = [never_null(i, tables) for i in node.inputs]
            return frozenset(
                name
                for place, name in enumerate(node.columns)
                if all(part.names[place] in sure for part, sure in zip(node.inputs, sides, strict=True))
            )
        case Aggregate():
            below = never_null(node.source, tables)
            return frozenset(name for name, e in node.keys if e.column in below or e.is_constant)
        case Generate() | Window():
            return never_null(node.source, tables)
        case Recall() | Recursion():
            return frozenset()
        case Values():
            columns = zip(node.columns, zip(*node.rows, strict=True), strict=True)
            return frozenset(name for name, values in columns if all(v.is_constant for v in values))


def first_row_key(node: Filter | Join) -> tuple[str, ...] | None:
    """The partition, where only its first row is kept: row_number() = 1."""
    if not isinstance(node, Filter) or not isinstance(node.source, Window):
        return None
    columns = tuple(k.column for k in node.source.partition)
    numbers = {n for n, w in node.source.columns if w.tree.this.name.lower() == "row_number"}
    for part in conjuncts(node.predicate):
        first = isinstance(part.tree, exp.EQ | exp.LTE) and part.tree.expression == exp.Literal.number(1)
        if first and Scalar(part.tree.this).column in numbers and columns and None not in columns:
            return tuple(c for c in columns if c is not None)
    return None


def block_key(node: Filter | Join, tables: Tables) -> tuple[str, ...] | None:
    """The keys of some inputs that determine all the others, which the equalities look up by their whole keys."""
    block = flatten(node)
    keys = [key(i, tables) for i in block.inputs]
    if None in keys:
        return None
    kept = list(range(len(keys)))
    for i in reversed(range(len(keys))):
        rest = [j for j in kept if j != i]
        if determines_all(block, [k or () for k in keys], rest):
            kept = rest
    return tuple(name for i in kept for name in keys[i] or ())


def determines_all(block: Block, keys: list[tuple[str, ...]], start: list[int]) -> bool:
    """Do the rows of the inputs `start` fix the rows of every input? (the closure under keys and equalities)"""
    reached = set(start)
    while True:
        known = {name for i in reached for name in block.inputs[i].names}
        known |= {b if a in known else a for a, b in block.equalities if a in known or b in known}
        found = {i for i, k in enumerate(keys) if known.issuperset(k)} - reached
        if not found:
            return len(reached) == len(keys)
        reached |= found


def determined(node: Relation, given: frozenset[str], tables: Tables) -> frozenset[str]:
    """The columns that have one value wherever the given ones have (the closure under keys and equalities)."""
    while isinstance(node, SemiJoin | AntiJoin):
        node = node.left
    block = flatten(node)
    keys = [key(i, tables) for i in block.inputs]
    known = set(given)
    while True:
        size = len(known)
        known |= {name for pair in block.equalities if known.intersection(pair) for name in pair}
        for source, k in zip(block.inputs, keys, strict=True):
            if k is not None and known.issuperset(k):
                known.update(source.names)
        if len(known) == size:
            return frozenset(known)


def refers(child: Scan, parent: Scan, pairs: list[tuple[str, str]], tables: Tables) -> bool:
    """Do the join equalities follow a declared foreign key from `child` to the whole key of `parent`?"""
    key = {k.lower() for k in tables[parent.table].key or ()}
    up = {column.lower(): name for column, name in parent.columns}
    down = {column.lower(): name for column, name in child.columns}
    joined = {frozenset(p) for p in pairs}
    return any(
        fk.table.lower() == parent.table
        and {r.lower() for r in fk.referenced} == key
        and all(
            c.lower() in down and r.lower() in up and frozenset((down[c.lower()], up[r.lower()])) in joined
            for c, r in zip(fk.columns, fk.referenced, strict=True)
        )
        for fk in tables[child.table].foreign_keys
    )


def stored_types(node: Relation, tables: Tables) -> list[str | None]:
    """The types of the node's columns where they are nothing but columns of tables."""
    match node:
        case Scan():
            read = [tables[node.table].column(c) for c, _ in node.columns]
            return [c.type if c is not None else None for c in read]
        case Recall():
            return list(node.types)
        case Filter():
            return stored_types(node.source, tables)
        case SemiJoin() | AntiJoin():
            return stored_types(node.left, tables)
        case MarkJoin():
            return [*stored_types(node.left, tables), "boolean"]
        case Join() | OuterJoin():
            return stored_types(node.left, tables) + stored_types(node.right, tables)
        case Project():
            below = dict(zip(node.source.names, stored_types(node.source, tables), strict=True))
            return [below.get(e.column) if e.column is not None else None for _, e in node.columns]
        case Aggregate():
            below = dict(zip(node.source.names, stored_types(node.source, tables), strict=True))
            found = [below.get(e.column) if e.column is not None else None for _, e in node.keys]
            return [*found, *([None] * len(node.measures))]
        case _:
            return [None] * len(node.names)

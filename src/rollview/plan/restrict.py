"""Look-ups near the delta: literals of a small delta's join keys, put on the base tables it is joined with.

R ⋈_{a=b} ΔS = σ_{b ∈ keys}(R) ⋈ ΔS, and likewise R ⋉ S where the keys of S come from a delta. Spark then reads only the
files and row groups that can hold the keys, so the cost follows the change and not the table (Barbier, Lemma 4.6: drive
by the delta).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Protocol

from sqlglot import exp

from rollview.algebra.relation import (
    Aggregate,
    AntiJoin,
    Filter,
    Generate,
    Join,
    MarkJoin,
    OuterJoin,
    Project,
    Relation,
    Scan,
    SemiJoin,
    State,
    UnionAll,
    Values,
    Window,
    scans,
)
from rollview.algebra.scalar import Scalar, col, conjuncts, equated
from rollview.plan.rederive import SUSPECTS
from rollview.plan.region import Region
from rollview.rules.join import flatten

DELTAS = (State.DELTA, State.UPDATES)


class Known(Protocol):
    """What the runtime knows of a span's deltas and of the tables beside them."""

    def keys(self, table: str, state: State, column: str) -> Region | None:
        """The values in a column of DELTA or UPDATES of a table, or of the suspect groups."""
        ...

    def worth(self, table: str) -> bool:
        """Is a scan of this table so large that literals pay?"""
        ...


def restrict(node: Relation, known: Known) -> Relation:
    """The same relation, its base scans restricted to the keys that the deltas beside them have.

    Literals are not free: a thousand of them cost Spark more than the scan of a small table, so only scans that are
    worth it get them.
    """
    match node:
        case Scan() | Values():
            return node
        case Join() | Filter():
            return region(node, known)
        case Project() | Aggregate() | Generate() | Window():
            return replace(node, source=restrict(node.source, known))
        case SemiJoin():
            return looked_up(node, {}, known)
        case AntiJoin() | MarkJoin() | OuterJoin():
            return replace(node, left=restrict(node.left, known), right=restrict(node.right, known))
        case UnionAll():
            return replace(node, inputs=tuple(restrict(i, known) for i in node.inputs))


Near = Mapping[str, Region]
"""What is known of the values that some columns may have."""


def looked_up(node: SemiJoin, given: Near, known: Known) -> Relation:
    """R ⋉_{a ≡ b} S: the rows of R can only have the values that S has."""
    near = {name: keys for name, keys in given.items() if name in node.left.names}
    for part in conjuncts(node.predicate):
        if isinstance(part.tree, exp.NullSafeEQ | exp.EQ):
            one, other = Scalar(part.tree.left).column, Scalar(part.tree.right).column
            for a, b in ((one, other), (other, one)):
                if a in node.left.names and b in node.right.names and (keys := values(node.right, b, known)):
                    near[a] = keys
    return replace(node, left=bounded(node.left, near, known), right=restrict(node.right, known))


def values(node: Relation, name: str, known: Known) -> Region | None:
    """Where the values of a column lie, if they all come from a delta."""
    match node:
        case Scan() if node.at in DELTAS or node.table == SUSPECTS:
            column = next((c for c, n in node.columns if n == name), None)
            return None if column is None else known.keys(node.table, node.at, column)
        case Project() | Aggregate():
            columns = node.columns if isinstance(node, Project) else node.keys
            below = next((e.column for n, e in columns if n == name), None)
            return None if below is None else values(node.source, below, known)
        case Filter() | Join():
            block = flatten(node)
            same = equivalent(name, block.equalities)
            found = (values(i, n, known) for i in block.inputs for n in i.names if n in same)
            return next((region for region in found if region is not None), None)
        case SemiJoin() | AntiJoin():
            return values(node.left, name, known)
        case UnionAll() if node.inputs:
            place = node.columns.index(name)
            parts = [values(i, i.names[place], known) for i in node.inputs]
            return reduce(lambda a, b: a.union(b) if a and b else None, parts)
        case _:
            return None


def equivalent(name: str, equalities: Sequence[tuple[str, str]]) -> set[str]:
    """The columns that equalities tie to a column, and it."""
    same = {name}
    while grown := {b if a in same else a for a, b in equalities if (a in same) != (b in same)}:
        same |= grown
    return same


def bounded(node: Relation, near: Near, known: Known) -> Relation:
    """The relation, of which only rows with the given values matter."""
    match node:
        case Scan():
            return limited(node, near) if known.worth(node.table) else node
        case Join() | Filter():
            return region(node, known, near)
        case Project():
            theirs = {e.column: near[n] for n, e in node.columns if n in near and e.column is not None}
            return replace(node, source=bounded(node.source, theirs, known))
        case Aggregate():
            theirs = {e.column: near[n] for n, e in node.keys if n in near and e.column is not None}
            return replace(node, source=bounded(node.source, theirs, known))
        case Generate():
            return replace(node, source=bounded(node.source, near, known))
        case SemiJoin():
            return looked_up(node, near, known)
        case OuterJoin() if not node.keeps_right:
            return outer(node, near, known)
        case UnionAll():
            parts = [
                bounded(i, {own: near[n] for own, n in zip(i.names, node.columns, strict=True) if n in near}, known)
                for i in node.inputs
            ]
            return replace(node, inputs=tuple(parts))
        case _:
            return restrict(node, known)


def outer(node: OuterJoin, near: Near, known: Known) -> Relation:
    """R ⟕ S: what can be no partner of the rows of R that matter does not matter."""
    left = {name: keys for name, keys in near.items() if name in node.left.names}
    right = {}
    for pair in (equated(part) for part in conjuncts(node.predicate)):
        for a, b in (pair, pair[::-1]) if pair else ():
            if a in left and b in node.right.names:
                right[b] = replace(left[a], nulls=False)
    return replace(node, left=bounded(node.left, left, known), right=bounded(node.right, right, known))


def region(node: Join | Filter, known: Known, given: Near | None = None) -> Relation:
    """One block of joins and filters: what is equal to a delta's column has the delta's values."""
    block = flatten(node)
    near: dict[str, Region] = dict(given or {})
    joined = {name for pair in block.equalities for name in pair}
    for leaf in block.inputs:
        for name in joined & set(leaf.names):
            found = values(leaf, name, known)
            if found is not None:
                near[name] = replace(found, nulls=False)
    spread = True
    while spread:
        spread = False
        for a, b in block.equalities:
            for one, other in ((a, b), (b, a)):
                if one in near and other not in near:
                    near[other] = replace(near[one], nulls=False)
                    spread = True
    return inside(node, near, known)


def inside(node: Relation, near: Mapping[str, Region], known: Known) -> Relation:
    match node:
        case Join():
            large = any(known.worth(s.table) for s in scans(node.right) if s.at in (State.BEFORE, State.AFTER))
            left, right = inside(node.left, near, known), inside(node.right, near, known)
            return replace(node, left=left, right=right, lookup=node.lookup and large)
        case Filter():
            return replace(node, source=inside(node.source, near, known))
        case Scan():
            return limited(node, near) if known.worth(node.table) else node
        case UnionAll() | SemiJoin() | OuterJoin() | Aggregate() | Project() | Generate():
            return bounded(node, near, known)
        case _:
            return restrict(node, known)


def limited(scan: Scan, near: Mapping[str, Region]) -> Relation:
    result: Relation = scan
    if scan.at in (State.BEFORE, State.AFTER):
        for _, name in scan.columns:
            if name in near:
                result = Filter(result, Scalar(near[name].test(col(name).tree)))
    return result

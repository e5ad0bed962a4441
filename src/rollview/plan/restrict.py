"""Look-ups near the delta: literals of a small delta's join keys, put on the base tables it is joined with.

R ⋈_{a=b} ΔS = σ_{b ∈ keys}(R) ⋈ ΔS. Spark then reads only the files and row groups that can hold the keys, so the cost
follows the change and not the table (Barbier, Lemma 4.6: drive by the delta).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

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
from rollview.algebra.scalar import Scalar, col
from rollview.plan.region import Region
from rollview.rules.join import flatten

DELTAS = (State.DELTA, State.UPDATES)


class Known(Protocol):
    """What the runtime knows of a span's deltas and of the tables beside them."""

    def keys(self, table: str, state: State, column: str) -> Region | None:
        """The values in a column of DELTA or UPDATES of a table."""
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
        case SemiJoin() | AntiJoin() | MarkJoin() | OuterJoin():
            return replace(node, left=restrict(node.left, known), right=restrict(node.right, known))
        case UnionAll():
            return replace(node, inputs=tuple(restrict(i, known) for i in node.inputs))


def region(node: Join | Filter, known: Known) -> Relation:
    """One block of joins and filters: what is equal to a delta's column has the delta's values."""
    block = flatten(node)
    near: dict[str, Region] = {}
    joined = {name for pair in block.equalities for name in pair}
    for leaf in block.inputs:
        if isinstance(leaf, Scan) and leaf.at in DELTAS:
            for column, name in leaf.columns:
                keys = known.keys(leaf.table, leaf.at, column) if name in joined else None
                if keys is not None:
                    near[name] = keys
    spread = True
    while spread:
        spread = False
        for a, b in block.equalities:
            for one, other in ((a, b), (b, a)):
                if one in near and other not in near:
                    near[other] = near[one]
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
        case UnionAll():
            parts = []
            for part in node.inputs:
                theirs = {own: near[name] for own, name in zip(part.names, node.columns, strict=True) if name in near}
                parts.append(inside(part, theirs, known) if isinstance(part, Scan) else restrict(part, known))
            return replace(node, inputs=tuple(parts))
        case _:
            return restrict(node, known)


def limited(scan: Scan, near: Mapping[str, Region]) -> Relation:
    result: Relation = scan
    if scan.at in (State.BEFORE, State.AFTER):
        for _, name in scan.columns:
            if name in near:
                result = Filter(result, Scalar(near[name].test(col(name).tree, nulls=False)))
    return result

"""Look-ups near the delta: literals of a small delta's join keys, put on the base tables it is joined with.

R ⋈_{a=b} ΔS = σ_{b ∈ keys}(R) ⋈ ΔS. Spark then reads only the files and row groups that can hold the keys, so the cost
follows the change and not the table (Barbier, Lemma 4.6: drive by the delta).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
)
from rollview.algebra.scalar import Scalar, col
from rollview.rules.join import flatten

DELTAS = (State.DELTA, State.UPDATES)


@dataclass(frozen=True, slots=True)
class Keys:
    """The values of one column of a delta: all of them if few, else the bounds between which they lie."""

    values: tuple[exp.Expr, ...]
    low: exp.Expr | None = None
    high: exp.Expr | None = None

    def test(self, name: str) -> Scalar:
        if self.values:
            return Scalar(exp.In(this=col(name).tree, expressions=[v.copy() for v in self.values]))
        assert self.low is not None and self.high is not None
        return Scalar(exp.Between(this=col(name).tree, low=self.low.copy(), high=self.high.copy()))


class Known(Protocol):
    """What the runtime knows of a span's deltas and of the tables beside them."""

    def keys(self, table: str, state: State, column: str) -> Keys | None:
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
    near: dict[str, Keys] = {}
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


def inside(node: Relation, near: Mapping[str, Keys], known: Known) -> Relation:
    match node:
        case Join():
            return replace(node, left=inside(node.left, near, known), right=inside(node.right, near, known))
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


def limited(scan: Scan, near: Mapping[str, Keys]) -> Relation:
    result: Relation = scan
    if scan.at in (State.BEFORE, State.AFTER):
        for _, name in scan.columns:
            if name in near:
                result = Filter(result, near[name].test(name))
    return result

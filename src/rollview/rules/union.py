"""Bag union is linear in each input."""

from __future__ import annotations

from rollview.algebra.relation import UnionAll, union
from rollview.deltas.signed import Signed
from rollview.names import COUNT


def union_delta(node: UnionAll, inputs: tuple[Signed, ...]) -> Signed:
    """Δ(R ⊎ S) = ΔR ⊎ ΔS."""
    return Signed(union(tuple(d.relation for d in inputs), (*node.columns, COUNT)))

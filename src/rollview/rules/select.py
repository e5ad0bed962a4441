"""Selection is linear: a change passes it as rows do."""

from __future__ import annotations

from rollview.algebra.relation import Filter
from rollview.deltas.signed import Signed


def select_delta(node: Filter, source: Signed) -> Signed:
    """Δ(σ_p R) = σ_p(ΔR)."""
    return Signed(Filter(source.relation, node.predicate))

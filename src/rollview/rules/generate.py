"""Generators work row by row, so they are linear."""

from __future__ import annotations

from dataclasses import replace

from rollview.algebra.relation import Generate, keep
from rollview.deltas.signed import Signed
from rollview.names import COUNT


def generate_delta(node: Generate, source: Signed) -> Signed:
    """Δ(μ R) = μ(ΔR): every row that is made has the sign of the row it is made of."""
    return Signed(keep(replace(node, source=source.relation), (*node.names, COUNT)))

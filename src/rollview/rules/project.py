"""Projection of bags is linear: counts ride along."""

from __future__ import annotations

from rollview.algebra.relation import Project
from rollview.algebra.scalar import col
from rollview.deltas.signed import Signed
from rollview.names import COUNT


def project_delta(node: Project, source: Signed) -> Signed:
    """Δ(π_A R) = π_{A, __count}(ΔR)."""
    return Signed(Project(source.relation, (*node.columns, (COUNT, col(COUNT)))))

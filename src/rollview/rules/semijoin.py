"""Semi and anti joins: a row of L is kept if it has a partner in R, or if it has none. Both sides may change at once.

    Δ(L ▷ R) = (ΔL ▷ R') ⊎ turned(L, R)          R' after, L before
    Δ(L ⋉ R) = (ΔL ⋉ R') ⊎ -turned(L, R)

where `turned` are the rows of L whose being alone changes with R (partners.py). Rows of L keep their multiplicity; how
many partners they have does not matter. The predicate may be anything; NULL is no match.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import AntiJoin, Project, Relation, SemiJoin, union
from rollview.algebra.scalar import Scalar, col
from rollview.deltas.signed import Signed
from rollview.names import COUNT
from rollview.rules.partners import Side, near, turned

if TYPE_CHECKING:
    from rollview.algebra.schema import Tables


def semijoin_delta(node: SemiJoin | AntiJoin, left: Side, right: Side, known: Tables, *, naive: bool) -> Signed:
    """The laws above."""
    parts: list[Relation] = []
    if not left.delta.is_empty:
        partners = near(right.after, left.delta.relation, node.predicate)
        parts.append(replace(node, left=left.delta.relation, right=partners))
    if not right.delta.is_empty:
        alone = turned(left.before, right, node.predicate, known, naive=naive)
        parts.append(alone if isinstance(node, AntiJoin) else negated(alone))
    return Signed(union(tuple(parts), (*node.names, COUNT)))


def negated(change: Relation) -> Relation:
    kept = tuple((n, col(n)) for n in change.names[:-1])
    return Project(change, (*kept, (COUNT, Scalar(exp.Neg(this=col(COUNT).tree)))))

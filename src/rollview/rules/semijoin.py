"""Semi, anti and mark joins: a row of L is kept if it has a partner in R, or if it has none, or says which.

Both sides may change at once:

    Δ(L ▷ R) = (ΔL ▷ R') ⊎ turned(L, R)          R' after, L before
    Δ(L ⋉ R) = (ΔL ⋉ R') ⊎ -turned(L, R)
    Δ(L mark R) = (ΔL mark R') ⊎ turned(L, R) × {(FALSE, 1), (TRUE, -1)}

where `turned` are the rows of L whose being alone changes with R (partners.py). Rows of L keep their multiplicity; how
many partners they have does not matter. The predicate may be anything; NULL is no match.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.relation import AntiJoin, MarkJoin, Project, Relation, SemiJoin, keep, union
from rollview.algebra.scalar import Scalar, col, literal
from rollview.deltas.signed import Signed
from rollview.names import COUNT
from rollview.rules.lookup import near
from rollview.rules.partners import Side, turned

if TYPE_CHECKING:
    from rollview.algebra.schema import Tables


def semijoin_delta(
    node: SemiJoin | AntiJoin | MarkJoin, left: Side, right: Side, known: Tables, *, naive: bool
) -> Signed:
    """The laws above."""
    parts: list[Relation] = []
    if not left.delta.is_empty:
        partners = near(right.after, left.delta.relation, node.predicate)
        kept = replace(node, left=left.delta.relation, right=partners)
        parts.append(keep(kept, (*node.names, COUNT)) if isinstance(node, MarkJoin) else kept)
    if not right.delta.is_empty:
        alone = turned(left.before, right, node.predicate, known, naive=naive)
        match node:
            case AntiJoin():
                parts.append(alone)
            case SemiJoin():
                parts.append(negated(alone))
            case MarkJoin():
                parts += [marked(alone, node.mark, False), marked(negated(alone), node.mark, True)]
    return Signed(union(tuple(parts), (*node.names, COUNT)))


def negated(change: Relation) -> Relation:
    kept = tuple((n, col(n)) for n in change.names[:-1])
    return Project(change, (*kept, (COUNT, Scalar(exp.Neg(this=col(COUNT).tree)))))


def marked(change: Relation, mark: str, value: bool) -> Relation:
    kept = tuple((n, col(n)) for n in change.names[:-1])
    return Project(change, (*kept, (mark, literal(value)), (COUNT, col(COUNT))))

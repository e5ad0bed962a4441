"""Recursion: R = A ⊎ T(R), round by round, where the step T reads other tables, too.

Law. If T is linear, that is, if it makes rows of each row of a round by itself (σ, π, ⋈ and ⋉ with other tables, ⟕,
⊎ of such, generators), then with T′ the step after the change and R the rows before it

    ΔR = A_Δ ⊎ T′(ΔR),    A_Δ = ΔA ⊎ ΔT(R)

which is a recursion again: its anchor is what the change does to the anchor, and to one round over the rows that there
were; its step carries signed rows on, in the state AFTER. R before the change is what is stored, if R is.

A step that compares the rows of a round with each other (DISTINCT, the round joined with itself) is singular:

    ΔR = R_after - R_before

Signed rows that would cancel are carried on side by side. Where lost rows lead into a cycle of the state after, which
no other row reaches any more, ΔR has no end though R has: Spark stops it, and the view is recomputed (RV-UNDEFINED).
"""

from __future__ import annotations

from dataclasses import replace

from rollview.algebra.relation import (
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
    SemiJoin,
    UnionAll,
    keep,
    union,
)
from rollview.algebra.scalar import col
from rollview.algebra.walking import rebuilt, walk
from rollview.deltas.signed import Signed, rows_as
from rollview.names import COUNT


def recursion_delta(before: Recursion, after: Recursion, anchor: Signed, step: Signed) -> Signed:
    """The laws above; `anchor` is ΔA, and `step` is ΔT for any one round."""
    names = (*after.columns, COUNT)
    if (carried := lifted(after.step, after.of)) is None:
        return Signed(union((rows_as(before, -1), rows_as(after, 1)), names))
    first = union((anchor.relation, over(step.relation, before)), names)
    return Signed(Recursion(first, carried, after.of, names, after.limit))


def is_linear(node: Recursion) -> bool:
    return lifted(node.step, node.of) is not None


def over(node: Relation, rounds: Recursion) -> Relation:
    """The step of a recursion over all rows of all rounds."""
    if isinstance(node, Recall) and node.of == rounds.of:
        return Project(rounds, tuple((name, col(column)) for column, name in node.columns))
    return rebuilt(node, lambda child: over(child, rounds))


def lifted(node: Relation, of: str) -> Relation | None:
    """T over changed rows: the same rows with the count of the row that each is made of; None if T is not linear."""
    names = (*node.names, COUNT)
    match node:
        case Recall() if node.of == of:
            return replace(node, signed=True)
        case Filter() | Generate():
            source = lifted(node.source, of)
            return None if source is None else keep(replace(node, source=source), names)
        case Project():
            source = lifted(node.source, of)
            return None if source is None else Project(source, (*node.columns, (COUNT, col(COUNT))))
        case Join() | SemiJoin() | AntiJoin() | MarkJoin() | OuterJoin():
            if passes_left(node) and not recalls(node.right, of):
                left = lifted(node.left, of)
                return None if left is None else keep(replace(node, left=left), names)
            if passes_right(node) and not recalls(node.left, of):
                right = lifted(node.right, of)
                return None if right is None else keep(replace(node, right=right), names)
            return None
        case UnionAll():
            parts = [part for part in (lifted(i, of) for i in node.inputs) if part is not None]
            return UnionAll(tuple(parts), names) if len(parts) == len(node.inputs) else None
        case _:
            return None


def passes_left(node: Join | SemiJoin | AntiJoin | MarkJoin | OuterJoin) -> bool:
    """Is every row of the result made of one row of the left side?"""
    return not isinstance(node, OuterJoin) or not node.keeps_right


def passes_right(node: Join | SemiJoin | AntiJoin | MarkJoin | OuterJoin) -> bool:
    return isinstance(node, Join) or (isinstance(node, OuterJoin) and not node.keeps_left)


def recalls(node: Relation, of: str) -> bool:
    """Does it read the round before?"""
    return any(isinstance(n, Recall) and n.of == of for n in walk(node))

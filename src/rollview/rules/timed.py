"""Timed deltas: signed deltas whose rows also carry the tick at which they happened, as the column `__tick`.

Law (Salem et al., Definition 4.2): for all ticks a < b of the span, R_b = R_a ⊎ σ_{a < __tick ≤ b}(ΔR).

Selection, projection and union are linear, so the tick rides along. A join has to see the other inputs as of each
event. Among events of one tick those of lower-numbered inputs come first, so the event (r, t) of input i meets

    Rⱼ before the span ⊎ the events of Rⱼ with ticks ≤ t (j < i) or < t (j > i)

and every pair of events meets exactly once, at the later one's tick. That is n queries and no compensation, for inputs
whose state before the span can be read. An aggregate at the top of a view is summed per tick (`aggregate_change` with
the tick as one more key).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra.block import Block, assemble, flatten
from rollview.algebra.relation import Filter, Join, Project, Relation, Scan, State, UnionAll, keep, union
from rollview.algebra.scalar import Scalar, col, literal
from rollview.algebra.walking import tables
from rollview.deltas.signed import Signed, nothing
from rollview.names import COUNT, PREFIX, TICK
from rollview.rules.dispatch import Shapes, at
from rollview.rules.select import select_delta

if TYPE_CHECKING:
    from collections.abc import Mapping


def timed_delta(node: Relation, shapes: Shapes) -> Signed:
    """ΔR with ticks, over the span's timed DELTA scans and BEFORE states. Only for nodes that `is_timed` admits."""
    if not any(t in shapes and shapes[t].changed for t in tables(node)):
        return nothing((*node.names, TICK))
    match node:
        case Scan():
            return Signed(Scan(node.table, (*node.columns, (TICK, TICK)), State.DELTA))
        case Filter() if isinstance(node.source, Join | Filter):
            return timed_join(flatten(node), shapes)
        case Join():
            return timed_join(flatten(node), shapes)
        case Filter():
            return select_delta(node, timed_delta(node.source, shapes))
        case Project():
            riding = ((TICK, col(TICK)), (COUNT, col(COUNT)))
            return Signed(Project(timed_delta(node.source, shapes).relation, (*node.columns, *riding)))
        case UnionAll():
            parts = tuple(timed_delta(i, shapes).relation for i in node.inputs)
            return Signed(union(parts, (*node.columns, TICK, COUNT)))
        case _:
            raise TypeError(f"{type(node).__name__} has no timed delta")


def timed_join(block: Block, shapes: Shapes) -> Signed:
    """⊎ᵢ ΔRᵢ ⋈ the other inputs as of each event."""
    deltas = [timed_delta(leaf, shapes) for leaf in block.inputs]
    steps = [event_join(block, deltas, i, shapes) for i, delta in enumerate(deltas) if not delta.is_empty]
    return Signed(union(tuple(steps), (*block.names, TICK, COUNT)))


def event_join(block: Block, deltas: Sequence[Signed], i: int, shapes: Shapes) -> Relation:
    others: dict[int, Relation] = {}
    order: list[Scalar] = []
    count: exp.Expr = col(COUNT).tree
    for j, leaf in enumerate(block.inputs):
        if j == i:
            continue
        if deltas[j].is_empty:
            others[j] = at(leaf, State.AFTER, shapes)
            continue
        others[j] = events(leaf, deltas[j], j, shapes)
        before = exp.LTE if j < i else exp.LT
        order.append(Scalar(before(this=col(theirs(TICK, j)).tree, expression=col(TICK).tree)))
        count = exp.Mul(this=count, expression=col(theirs(COUNT, j)).tree)
    tree = assemble(deltas[i].relation, others, (*block.conjuncts, *order))
    kept = tuple((n, col(n)) for n in block.names)
    return Project(tree, (*kept, (TICK, col(TICK)), (COUNT, Scalar(count))))


def events(leaf: Relation, delta: Signed, j: int, shapes: Shapes) -> Relation:
    """An input as a history: its rows before the span, at tick 0, and then its events."""
    before = at(leaf, State.BEFORE, shapes)
    kept: dict[str, Scalar] = {n: col(n) for n in leaf.names}
    start: Mapping[str, Scalar] = {**kept, TICK: literal(0), COUNT: literal(1)}
    names = (*leaf.names, theirs(TICK, j), theirs(COUNT, j))
    return UnionAll((Project(before, tuple(start.items())), keep(delta.relation, (*leaf.names, TICK, COUNT))), names)


def theirs(column: str, j: int) -> str:
    return f"{column}_{PREFIX}{j}"


def is_timed(node: Relation) -> bool:
    """Is there a timed delta for this node?"""
    match node:
        case Scan():
            return True
        case Filter() | Project():
            return is_timed(node.source)
        case Join():
            return type(node) is Join and is_timed(node.left) and is_timed(node.right)
        case UnionAll():
            return all(is_timed(i) for i in node.inputs)
        case _:
            return False

"""One query of compensated propagation as algebra: each table as the delta of a window, or as it is now.

Law (Salem et al., §3.3): a result row counts the product of the counts that joined in it, with the query's sign, and
carries the least of their ticks. Rows of tables that are read as they are count one and have no tick.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, product

from sqlglot import exp

from rollview.algebra.block import assemble, flatten
from rollview.algebra.relation import Filter, Join, Project, Relation, Scan, State, UnionAll
from rollview.algebra.scalar import Scalar, col
from rollview.algebra.walking import scans
from rollview.deltas.signed import Signed
from rollview.names import COUNT, PREFIX, TICK
from rollview.propagate.compute_delta import Query


def window_name(place: int) -> str:
    """The name by which the delta of a window is scanned."""
    return f"{PREFIX}window_{place}"


def counts(place: int) -> str:
    return f"{COUNT}_{place}"


def ticks(place: int) -> str:
    return f"{TICK}_{place}"


def can_be_asked(node: Relation) -> bool:
    """Selections, projections, inner joins and unions of tables."""
    match node:
        case UnionAll():
            return bool(node.inputs) and all(can_be_asked(i) for i in node.inputs)
        case Scan():
            return True
        case Filter() | Project():
            return can_be_asked(node.source)
        case Join():
            return can_be_asked(node.left) and can_be_asked(node.right)
        case _:
            return False


def summands(node: Relation) -> tuple[Relation, ...]:
    """The node as a union of selections, projections and joins alone: σ, π and ⋈ distribute over ⊎."""
    match node:
        case Filter() | Project():
            return tuple(replace(node, source=part) for part in summands(node.source))
        case Join():
            pairs = product(summands(node.left), summands(node.right))
            return tuple(replace(node, left=left, right=right) for left, right in pairs)
        case UnionAll():
            parts = [part for i in node.inputs for part in summands(i)]
            return tuple(
                Project(p, tuple((c, col(n)) for c, n in zip(node.columns, p.names, strict=True))) for p in parts
            )
        case _:
            return (node,)


def places(node: Relation) -> tuple[str, ...]:
    """The tables of a view by place; a table that occurs twice has two places."""
    return tuple(scan.table for scan in scans(node))


def asked(node: Relation, query: Query) -> Signed:
    """The query over the node's tables, with ticks."""
    tree = rewritten(node, query, count())
    windows = [i for i, w in enumerate(query.factors) if w is not None]
    counted: exp.Expr = exp.Literal.number(1) if query.sign > 0 else exp.Neg(this=exp.Literal.number(1))
    for i in windows:
        counted = exp.Mul(this=counted, expression=col(counts(i)).tree)
    stamps = [col(ticks(i)).tree for i in windows]
    least = stamps[0] if len(stamps) == 1 else exp.Least(this=stamps[0], expressions=stamps[1:])
    kept = tuple((n, col(n)) for n in node.names)
    return Signed(Project(tree, (*kept, (TICK, Scalar(least)), (COUNT, Scalar(counted)))))


def rewritten(node: Relation, query: Query, places: Iterator[int]) -> Relation:
    """The node with windows for tables; counts and ticks of each window ride along."""
    match node:
        case Scan():
            place = next(places)
            if query.factors[place] is None:
                return Scan(node.table, node.columns, State.AFTER)
            window = Scan(window_name(place), (*node.columns, (TICK, ticks(place))), State.DELTA)
            kept = tuple((n, col(n)) for n in window.names if n != COUNT)
            return Project(window, (*kept, (counts(place), col(COUNT))))
        case Project():
            source = rewritten(node.source, query, places)
            riding = tuple((n, col(n)) for n in source.names if rides(n))
            return Project(source, (*node.columns, *riding))
        case Filter() | Join():
            block = flatten(node)
            inputs = [rewritten(leaf, query, places) for leaf in block.inputs]
            start = next((i for i, leaf in enumerate(inputs) if any(rides(n) for n in leaf.names)), 0)
            others = {i: leaf for i, leaf in enumerate(inputs) if i != start}
            return assemble(inputs[start], others, block.conjuncts)
        case _:
            raise TypeError(f"{type(node).__name__} cannot be asked")


def rides(name: str) -> bool:
    return name.startswith((f"{COUNT}_", f"{TICK}_"))

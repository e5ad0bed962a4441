"""Going through relations: what is below a node, and the same node over something else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rollview.algebra.relation import (
    Aggregate,
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
    Scan,
    SemiJoin,
    UnionAll,
    Values,
    Window,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def children(node: Relation) -> tuple[Relation, ...]:
    match node:
        case Scan() | Values() | Recall():
            return ()
        case Filter() | Project() | Aggregate() | Generate() | Window():
            return (node.source,)
        case Recursion():
            return (node.source, node.step)
        case Join() | SemiJoin() | AntiJoin() | MarkJoin() | OuterJoin():
            return (node.left, node.right)
        case UnionAll():
            return node.inputs


def rebuilt(node: Relation, change: Callable[[Relation], Relation]) -> Relation:
    """The node over changed children."""
    match node:
        case Scan() | Values() | Recall():
            return node
        case Filter() | Project() | Aggregate() | Generate() | Window():
            return replace(node, source=change(node.source))
        case Recursion():
            return replace(node, source=change(node.source), step=change(node.step))
        case Join() | SemiJoin() | AntiJoin() | MarkJoin() | OuterJoin():
            return replace(node, left=change(node.left), right=change(node.right))
        case UnionAll():
            return replace(node, inputs=tuple(change(i) for i in node.inputs))


def walk(node: Relation) -> Iterator[Relation]:
    """The node and everything below it, top down; an object that is shared comes once."""
    met: set[int] = set()
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if id(here) not in met:
            met.add(id(here))
            yield here
            waiting += reversed(children(here))


def recalled(node: Relation) -> frozenset[str]:
    """The recursions whose rounds it recalls from outside of them: it means something only in their steps."""
    found = list(walk(node))
    inside = {n.of for n in found if isinstance(n, Recursion)}
    return frozenset(n.of for n in found if isinstance(n, Recall)) - inside


def scans(node: Relation) -> Iterator[Scan]:
    return (n for n in walk(node) if isinstance(n, Scan))


def tables(node: Relation) -> frozenset[str]:
    """The base tables that a relation reads."""
    return frozenset(scan.table for scan in scans(node))

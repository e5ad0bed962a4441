"""One total dispatch: the change of a node from the changes of its children."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from rollview.algebra import facts
from rollview.algebra.block import Block, flatten
from rollview.algebra.clock import is_time_filter
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
    State,
    UnionAll,
    Values,
    Window,
)
from rollview.algebra.walking import tables
from rollview.deltas.signed import Signed, nothing, of_scan
from rollview.rules.aggregate import aggregate_delta
from rollview.rules.generate import generate_delta
from rollview.rules.join import Input, join_delta
from rollview.rules.outer_join import outer_join_delta
from rollview.rules.partners import Side
from rollview.rules.project import project_delta
from rollview.rules.recursion import recursion_delta
from rollview.rules.select import select_delta
from rollview.rules.semijoin import semijoin_delta
from rollview.rules.subtract import subtracted_delta
from rollview.rules.time_filter import time_filter_delta
from rollview.rules.union import union_delta
from rollview.rules.window import window_delta

if TYPE_CHECKING:
    from rollview.algebra.schema import Tables


@dataclass(frozen=True, slots=True)
class Shape:
    """What kinds of change a span holds for one table, by key where it has one."""

    inserts: bool = True
    deletes: bool = True
    updates: bool = True

    @property
    def changed(self) -> bool:
        return self.inserts or self.deletes or self.updates

    @property
    def inserts_only(self) -> bool:
        return not self.deletes and not self.updates


Shapes = Mapping[str, Shape]


def at(node: Relation, state: State, shapes: Shapes) -> Relation:
    """The node read in one state; a table that does not change is read AFTER either way."""
    match node:
        case Scan():
            changed = node.table in shapes and shapes[node.table].changed
            return Scan(node.table, node.columns, state if changed else State.AFTER)
        case Values() | Recall():
            return node
        case Recursion():
            return replace(node, source=at(node.source, state, shapes), step=at(node.step, state, shapes))
        case Filter() | Project() | Aggregate() | Generate() | Window():
            return replace(node, source=at(node.source, state, shapes))
        case Join() | SemiJoin() | AntiJoin() | MarkJoin() | OuterJoin():
            return replace(node, left=at(node.left, state, shapes), right=at(node.right, state, shapes))
        case UnionAll():
            return replace(node, inputs=tuple(at(i, state, shapes) for i in node.inputs))


def delta(node: Relation, shapes: Shapes, known: Tables, *, foreign_keys: bool = True, naive: bool = False) -> Signed:
    """ΔR as a query over BEFORE, AFTER and DELTA states; `naive` re-derives what is affected where there is a choice
    between that and counting."""
    if not any(t in shapes and shapes[t].changed for t in tables(node)):
        return nothing(node.names)

    def change(child: Relation) -> Signed:
        return delta(child, shapes, known, foreign_keys=foreign_keys, naive=naive)

    def side(child: Relation) -> Side:
        return Side(at(child, State.BEFORE, shapes), at(child, State.AFTER, shapes), change(child))

    match node:
        case Scan():
            return of_scan(node)
        case Filter() if isinstance(node.source, Join | Filter):
            return join_change(node, shapes, known, change, foreign_keys=foreign_keys)
        case Filter():
            return select_delta(node, change(node.source))
        case Project():
            return project_delta(node, change(node.source))
        case Join():
            return join_change(node, shapes, known, change, foreign_keys=foreign_keys)
        case UnionAll():
            return union_delta(node, tuple(change(i) for i in node.inputs))
        case Aggregate():
            given = side(node.source)
            if node.exact and not naive:
                return subtracted_delta(node, given.after, given.delta)
            return aggregate_delta(node, given.before, given.after, given.delta)
        case Window():
            found = side(node.source)
            return window_delta(node, found.before, found.after, found.delta)
        case Values() | Recall():
            return nothing(node.names)
        case Recursion():
            before, after = at(node, State.BEFORE, shapes), at(node, State.AFTER, shapes)
            assert isinstance(before, Recursion) and isinstance(after, Recursion)
            return recursion_delta(before, after, change(node.source), change(node.step))
        case Generate():
            return generate_delta(node, change(node.source))
        case SemiJoin() if is_time_filter(node):
            return time_filter_delta(node, side(node.left), side(node.right))
        case SemiJoin() | AntiJoin() | MarkJoin():
            return semijoin_delta(node, side(node.left), side(node.right), known, naive=naive)
        case OuterJoin():
            return outer_join_delta(node, side(node.left), side(node.right), known, naive=naive)


def join_change(
    node: Join | Filter,
    shapes: Shapes,
    known: Tables,
    change: Callable[[Relation], Signed],
    *,
    foreign_keys: bool,
) -> Signed:
    block = flatten(node)
    parents = ancestors(block, known) if foreign_keys else []
    inputs = [input_states(leaf, i in parents, shapes, known, change(leaf)) for i, leaf in enumerate(block.inputs)]
    types = {n: t for leaf in block.inputs for n, t in zip(leaf.names, facts.stored_types(leaf, known), strict=True)}
    return join_delta(block, inputs, parents, types)


def input_states(leaf: Relation, parent: bool, shapes: Shapes, known: Tables, change: Signed) -> Input:
    before, after = at(leaf, State.BEFORE, shapes), at(leaf, State.AFTER, shapes)
    updates, mid = change, after
    if parent and isinstance(leaf, Scan) and leaf.table in shapes:
        shape = shapes[leaf.table]
        updates = of_scan(leaf, State.UPDATES) if shape.updates else nothing(leaf.names)
        if shape.deletes:
            mid = UnionAll((after, Scan(leaf.table, leaf.columns, State.REMOVED)), leaf.names)
    return Input(before, after, change, updates, mid, facts.key(leaf, known))


def ancestors(block: Block, known: Tables) -> list[int]:
    """The inputs that others refer to by a declared foreign key, parents first; none if they form a cycle."""
    pairs = block.equalities
    children: dict[int, set[int]] = {}
    for p, parent in enumerate(block.inputs):
        for c, child in enumerate(block.inputs):
            if p == c or not isinstance(parent, Scan) or not isinstance(child, Scan):
                continue
            if facts.scan_key(parent, known) is not None and facts.refers(child, parent, pairs, known):
                children.setdefault(p, set()).add(c)
    graph: dict[int, set[int]] = {p: set() for p in children}
    for p, cs in children.items():
        for c in cs:
            graph.setdefault(c, set()).add(p)
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError:
        return []
    return [i for i in order if i in children]

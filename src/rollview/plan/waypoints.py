"""Waypoints: where a change that takes several look-ups stops, and goes on from the rows that it has found.

The first look-up from a delta is driven by it: the delta's keys are literals, and its few rows are sent to every task.
How many rows it finds nobody knows before, so the next look-up would have to sort and shuffle the whole of its table.
Instead those rows are computed first. If they are few as well, the query goes on from them as from a delta:

    (ΔR ⋈ S) ⋈ T = W ⋈ T        W = the rows of ΔR ⋈ S, in the place of that expression wherever it occurs
    T ⋉ K(ΔR ⋈ S) = T ⋉ W

A query of its own takes its time, so a waypoint is only set before a table that is large and that no literals bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

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
from rollview.algebra.scalar import Scalar
from rollview.algebra.walking import children, rebuilt, walk
from rollview.plan.restrict import DELTAS, Known, Near, Restriction
from rollview.plan.stages import is_waypoint, plain


class Surveyed(Known, Protocol):
    """What is known of a span's deltas and of the tables beside them, and which of these are far."""

    def far(self, table: str) -> bool:
        """Is this table so large that a query of its own pays to read less of it?"""
        ...


def waypoints(node: Relation, known: Surveyed) -> tuple[Relation, ...]:
    """What should be computed first; no two of them lie within each other."""
    survey = Survey(known)
    survey.bounded(node, {})
    return tuple(survey.found)


def passed(node: Relation, names: Mapping[Relation, str]) -> Relation:
    """The same relation, that reads the rows of waypoints by their names."""
    done: dict[int, Relation] = {}

    def visit(n: Relation) -> Relation:
        if id(n) not in done:
            if n in names:
                done[id(n)] = Scan(names[n], plain(n.names))
            else:
                made = rebuilt(n, visit)
                if isinstance(made, Join) and isinstance(n, Join) and n.left in names:
                    made = replace(made, lookup=True)
                done[id(n)] = made
        return done[id(n)]

    return visit(node)


class Survey(Restriction):
    """Bounds scans as every query does, and notes what was not bounded."""

    def __init__(self, known: Surveyed) -> None:
        super().__init__(known)
        self.sight = known
        self.found: dict[Relation, None] = {}
        self.known_driven: dict[int, bool] = {}

    def inside(self, node: Relation, near: Near) -> Relation:
        made = super().inside(node, near)
        if isinstance(node, Join) and isinstance(made, Join) and not node.lookup:
            self.stop(node.left, node.right, made.right)
        return made

    def looked_up(self, node: SemiJoin | AntiJoin, given: Near) -> Relation:
        made = super().looked_up(node, given)
        if isinstance(node, SemiJoin) and isinstance(made, SemiJoin):
            self.stop(node.right, node.left, made.left)
        return made

    def stop(self, few: Relation, state: Relation, bounded: Relation) -> None:
        """Before `state` is looked up, `few` is computed, if it is more than a delta and if that can help."""
        if isinstance(few, Scan) or not self.driven(few):
            return
        unbounded = read_as(state) & read_as(bounded)
        if any(s.at not in DELTAS and self.sight.far(s.table) for s, _ in unbounded) and not self.stops_in(few):
            self.found[few] = None

    def stops_in(self, node: Relation) -> bool:
        """Is a waypoint in it already?"""
        return any(n in self.found for n in walk(node))

    def driven(self, node: Relation) -> bool:
        """Does it start from changed rows?"""
        if id(node) not in self.known_driven:
            self.known_driven[id(node)] = self.starts(node)
        return self.known_driven[id(node)]

    def starts(self, node: Relation) -> bool:
        match node:
            case Scan():
                return node.at in DELTAS or is_waypoint(node.table)
            case Values() | Recall():
                return False
            case Filter() | Project() | Aggregate() | Generate() | Window() | Recursion():
                return self.driven(node.source)
            case Join() | SemiJoin():
                return self.driven(node.left) or self.driven(node.right)
            case AntiJoin() | MarkJoin():
                return self.driven(node.left)
            case OuterJoin():
                return self.driven(node.left) and (not node.keeps_right or self.driven(node.right))
            case UnionAll():
                return bool(node.inputs) and all(self.driven(i) for i in node.inputs)


def read_as(node: Relation) -> set[tuple[Scan, Scalar | None]]:
    """The scans of states in a relation, with the test right above each."""
    found: set[tuple[Scan, Scalar | None]] = set()
    for n in walk(node):
        tests = n.predicate if isinstance(n, Filter) else None
        found |= {(c, tests) for c in children(n) if isinstance(c, Scan)}
    return {(node, None)} if isinstance(node, Scan) else {f for f in found if f[0].at in (State.BEFORE, State.AFTER)}

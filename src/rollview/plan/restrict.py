"""Look-ups near the delta: literals of a small delta's join keys, put on the base tables it is joined with.

R ⋈_{a=b} ΔS = σ_{b ∈ keys}(R) ⋈ ΔS, and likewise R ⋉ S where the keys of S come from a delta. Spark then reads only the
files and row groups that can hold the keys, so the cost follows the change and not the table (Barbier, Lemma 4.6: drive
by the delta).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Protocol

from sqlglot import exp

from rollview.algebra.block import equivalent
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
from rollview.algebra.scalar import Scalar, col, conjuncts
from rollview.algebra.walking import children, rebuilt
from rollview.plan.region import Region
from rollview.plan.stages import SUSPECTS, is_waypoint
from rollview.rules.join import flatten

DELTAS = (State.DELTA, State.UPDATES)


class Known(Protocol):
    """What the runtime knows of a span's deltas and of the tables beside them."""

    def keys(self, table: str, state: State, column: str) -> Region | None:
        """The values in a column of DELTA or UPDATES of a table, of the suspect groups, or of a waypoint."""
        ...

    def worth(self, table: str) -> bool:
        """Is a scan of this table so large that literals pay?"""
        ...

    def helps(self, table: str, column: str, region: Region) -> bool:
        """Could rows with these values lie together, so that much of the table need not be read?"""
        ...


Near = Mapping[str, Region]
"""What is known of the values that some columns may have."""


def restrict(node: Relation, known: Known) -> Relation:
    """The same relation, its base scans restricted to the keys that the deltas beside them have.

    Literals are not free: a thousand of them cost Spark more than the scan of a small table, so only scans that are
    worth it get them.
    """
    return Restriction(known).bounded(node, {})


def origins(node: Relation, names: Sequence[str], known: Known) -> dict[str, Region]:
    """Where the values of some columns lie, as far as they all come from deltas."""
    found = {name: Restriction(known).values(node, name) for name in names}
    return {name: region for name, region in found.items() if region is not None}


class Restriction:
    """A plan shares its parts, and stays so: each is looked at once for the same values."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.done: dict[tuple[int, frozenset[tuple[str, Region]]], Relation] = {}
        self.reads_large: dict[int, bool] = {}

    def bounded(self, node: Relation, near: Near) -> Relation:
        """The relation, of which only rows with the given values matter."""
        asked = id(node), frozenset((n, r) for n, r in near.items() if n in node.names)
        if asked not in self.done:
            self.done[asked] = self.within(node, near)
        return self.done[asked]

    def looked_up(self, node: SemiJoin | AntiJoin, given: Near) -> Relation:
        """R ⋉_{a ≡ b} S: rows of R matter only with values that S has, and rows of S only with values that R has.

        The second holds for R ▷ S, too.
        """
        left = {name: keys for name, keys in given.items() if name in node.left.names}
        right: dict[str, Region] = {}
        for a, b, null_safe in matched(node):
            if (keys := left.get(a) or self.values(node.left, a)) is not None:
                right[b] = keys if null_safe else replace(keys, nulls=False)
            if isinstance(node, SemiJoin) and (keys := self.values(node.right, b)) is not None:
                left[a] = keys
        return replace(node, left=self.bounded(node.left, left), right=self.bounded(node.right, right))

    def values(self, node: Relation, name: str) -> Region | None:
        """Where the values of a column lie, if they all come from a delta."""
        match node:
            case Scan() if node.at in DELTAS or node.table == SUSPECTS or is_waypoint(node.table):
                column = next((c for c, n in node.columns if n == name), None)
                return None if column is None else self.known.keys(node.table, node.at, column)
            case Project() | Aggregate():
                columns = node.columns if isinstance(node, Project) else node.keys
                below = next((e.column for n, e in columns if n == name), None)
                return None if below is None else self.values(node.source, below)
            case Filter() | Join():
                block = flatten(node)
                same = equivalent(name, [(a, b) for a, b, _ in equated(block.conjuncts)])
                found = (self.values(i, n) for i in block.inputs for n in i.names if n in same)
                return next((region for region in found if region is not None), None)
            case SemiJoin():
                found = (self.values(node.right, b) for a, b, _ in matched(node) if a == name)
                return self.values(node.left, name) or next((region for region in found if region is not None), None)
            case AntiJoin() | MarkJoin() | OuterJoin() if name in node.left.names and not keeps_right(node):
                return self.values(node.left, name)
            case Generate() | Window() if name in node.source.names:
                return self.values(node.source, name)
            case UnionAll() if node.inputs:
                place = node.columns.index(name)
                parts = [self.values(i, i.names[place]) for i in node.inputs]
                return reduce(lambda a, b: a.union(b) if a and b else None, parts)
            case _:
                return None

    def within(self, node: Relation, near: Near) -> Relation:
        match node:
            case Scan():
                return self.limited(node, near) if self.known.worth(node.table) else node
            case Values() | Recall():
                return node
            case Recursion():
                return rebuilt(node, lambda child: self.bounded(child, {}))
            case Join() | Filter():
                return self.region(node, near)
            case Project() | Aggregate():
                columns = node.columns if isinstance(node, Project) else node.keys
                theirs = {e.column: near[n] for n, e in columns if n in near and e.column is not None}
                return replace(node, source=self.bounded(node.source, theirs))
            case Generate():
                return replace(node, source=self.bounded(node.source, near))
            case Window():
                return replace(node, source=self.bounded(node.source, {}))
            case SemiJoin() | AntiJoin():
                return self.looked_up(node, near)
            case MarkJoin():
                return replace(node, left=self.bounded(node.left, near), right=self.bounded(node.right, {}))
            case OuterJoin():
                return self.outer(node, {} if node.keeps_right else near)
            case UnionAll():
                parts = [
                    self.bounded(i, {own: near[n] for own, n in zip(i.names, node.columns, strict=True) if n in near})
                    for i in node.inputs
                ]
                return replace(node, inputs=tuple(parts))

    def limited(self, scan: Scan, near: Near) -> Relation:
        result: Relation = scan
        if scan.at in (State.BEFORE, State.AFTER):
            for column, name in scan.columns:
                if name in near and self.known.helps(scan.table, column, near[name]):
                    result = Filter(result, Scalar(near[name].test(col(name).tree)))
        return result

    def outer(self, node: OuterJoin, near: Near) -> Relation:
        """R ⟕ S: what can be no partner of the rows of R that matter does not matter."""
        left = {name: keys for name, keys in near.items() if name in node.left.names}
        right = {}
        if not node.keeps_right:
            for a, b, null_safe in matched(node):
                if (keys := left.get(a) or self.values(node.left, a)) is not None:
                    right[b] = keys if null_safe else replace(keys, nulls=False)
        return replace(node, left=self.bounded(node.left, left), right=self.bounded(node.right, right))

    def region(self, node: Join | Filter, given: Near) -> Relation:
        """One block of joins and filters: what is equal to a delta's column has the delta's values."""
        block = flatten(node)
        near: dict[str, Region] = dict(given)
        pairs = equated(block.conjuncts)
        never_null = {name for a, b, null_safe in pairs if not null_safe for name in (a, b)}

        def learn(name: str, keys: Region) -> None:
            near[name] = replace(keys, nulls=keys.nulls and name not in never_null)

        for leaf in block.inputs:
            for name in {n for a, b, _ in pairs for n in (a, b)} & set(leaf.names):
                found = self.values(leaf, name)
                if found is not None:
                    learn(name, found)
        spread = True
        while spread:
            spread = False
            for a, b, _ in pairs:
                for one, other in ((a, b), (b, a)):
                    if one in near and other not in near:
                        learn(other, near[one])
                        spread = True
        return self.inside(node, near)

    def inside(self, node: Relation, near: Near) -> Relation:
        match node:
            case Join():
                left, right = self.inside(node.left, near), self.inside(node.right, near)
                return replace(node, left=left, right=right, lookup=node.lookup and self.large(node.right))
            case Filter():
                return replace(node, source=self.inside(node.source, near))
            case _:
                return self.bounded(node, near)

    def large(self, node: Relation) -> bool:
        """Does it read a large table?"""
        if isinstance(node, Scan):
            return node.at in (State.BEFORE, State.AFTER) and self.known.worth(node.table)
        if id(node) not in self.reads_large:
            self.reads_large[id(node)] = any(self.large(child) for child in children(node))
        return self.reads_large[id(node)]


Equated = tuple[str, str, bool]
"""two columns that are equal in every row that matters, and whether NULL equals NULL"""


def equated(tests: Sequence[Scalar]) -> list[Equated]:
    found = []
    for test in tests:
        if isinstance(test.tree, exp.NullSafeEQ | exp.EQ):
            one, other = Scalar(test.tree.left).column, Scalar(test.tree.right).column
            if one is not None and other is not None:
                found.append((one, other, isinstance(test.tree, exp.NullSafeEQ)))
    return found


def matched(node: SemiJoin | AntiJoin | OuterJoin) -> list[Equated]:
    """The columns of the left side, and those of the right side that they must equal."""
    found = [e for a, b, safe in equated(conjuncts(node.predicate)) for e in ((a, b, safe), (b, a, safe))]
    return [(a, b, safe) for a, b, safe in found if a in node.left.names and b in node.right.names]


def keeps_right(node: AntiJoin | MarkJoin | OuterJoin) -> bool:
    return isinstance(node, OuterJoin) and node.keeps_right

"""Parts: inner groups of a view that are stored as views of their own, so that no refresh derives them again.

A view reads its parts as it reads any other view: their changes come from their own logs, their states from their
extents. Three laws bring groups to where they can be stored:

    γ(R)                       a part as it stands
    γ_K(L ⟕_{a=b} R)           = π(L ⟕_{a=b} γ_b(R)),  if K holds a key of L and only R's columns are aggregated
    L ⋉_{a=b} R                = L ⋉_{a=b} γ_b(R),     likewise for ▷ and marks

In the last two the join then meets at most one row, so a change of R alone tells which rows of L it turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.algebra import facts
from rollview.algebra.block import flatten
from rollview.algebra.clock import as_called, is_time_filter
from rollview.algebra.nulls import strict_in
from rollview.algebra.relation import (
    Aggregate,
    AntiJoin,
    Filter,
    Function,
    Join,
    MarkJoin,
    Measure,
    OuterJoin,
    Project,
    Recursion,
    Relation,
    Scan,
    SemiJoin,
)
from rollview.algebra.scalar import Scalar, col, conjunction, conjuncts
from rollview.algebra.schema import ForeignKey
from rollview.algebra.walking import children, rebuilt, recalled, scans, tables
from rollview.names import PREFIX
from rollview.plan.emit import emit, sql, table
from rollview.plan.extent import core, stored_rounds
from rollview.plan.inner import tidy
from rollview.rules.lookup import Condition, filtered

if TYPE_CHECKING:
    from rollview.algebra.schema import Tables

Kept = Callable[[str, Aggregate | Recursion, bool], str | None]
"""the name under which the part of this text, and of these groups or rounds, is stored; None if it is not. And are all
groups met by what changes beside them, because no equality says which?"""


def nothing_kept(text: str, part: Aggregate | Recursion, whole: bool) -> str | None:
    return None


def with_parts(definition: Relation, base: Tables, kept: Kept) -> Relation:
    """The view over its parts; an aggregate at its top is stored anyway, and a recursion that is the view."""
    split = Split(base, kept, frozenset(loose_groups(definition)))
    top = core(definition)
    stored = isinstance(top, Aggregate) or stored_rounds(definition) is not None
    changed = put(definition, top, rebuilt(top, split.below) if stored else split.below(top))
    return tidy(changed) if split.found else definition


def put(node: Relation, old: Relation, new: Relation) -> Relation:
    return new if node is old else rebuilt(node, lambda child: put(child, old, new))


@dataclass(slots=True)
class Split:
    """Replaces the inner groups that are kept, the innermost first."""

    base: Tables
    kept: Kept
    loose: frozenset[int]
    found: bool = False

    def below(self, given: Relation) -> Relation:
        node = rebuilt(given, self.below)
        match node:
            case Aggregate():
                return self.over_matches(node) or self.part(node, whole=id(given) in self.loose) or node
            case SemiJoin() if is_time_filter(node):
                return node
            case SemiJoin() | AntiJoin() | MarkJoin():
                return self.of_partners(node) or node
            case Recursion():
                return self.rounds(node) or node
            case _:
                return node

    def rounds(self, node: Recursion) -> Relation | None:
        """The scan of the part that holds all rounds: its own change begins with its rows as they were."""
        if not tables(node) or recalled(node):
            return None
        columns = tuple((f"c{i}", col(n)) for i, n in enumerate(node.names))
        text = sql(emit(as_called(Project(node, columns)), lambda scan: table(scan.table)))
        name = self.kept(text, node, False)
        if name is None:
            return None
        self.found = True
        return Scan(name, tuple((c, str(e.column)) for c, e in columns))

    def part(self, node: Aggregate, *, whole: bool = False) -> Relation | None:
        """The scan of the part, if it is kept."""
        if not tables(node) or recalled(node) or is_keyed(node, self.base):
            return None
        keys = tuple((f"k{i}", e) for i, (_, e) in enumerate(node.keys))
        groups = Aggregate(
            node.source, keys, tuple(replace(m, name=f"m{i}") for i, m in enumerate(node.measures)), node.grouped
        )
        name = self.kept(sql(emit(as_called(groups), lambda scan: table(scan.table))), groups, whole)
        if name is None:
            return None
        self.found = True
        return Scan(name, tuple(zip(groups.names, node.names, strict=True)))

    def over_matches(self, node: Aggregate) -> Relation | None:
        """γ_K(L ⟕ R) = π(L ⟕ γ_b(R)): each group is one row of L with its partners, or alone."""
        join = node.source
        if not isinstance(join, OuterJoin) or not join.keeps_left or join.keeps_right:
            return None
        grouped = {e.column for _, e in node.keys}
        key = facts.key(join.left, self.base)
        here = set(join.left.names)
        if key is None or not grouped.issuperset(key) or not all(e.columns <= here for _, e in node.keys):
            return None
        measures = [of_partners(m, set(join.right.names)) for m in node.measures]
        groups = self.groups(join, tuple(m for m in measures if m is not None))
        if groups is None or None in measures:
            return None
        scan, predicate = groups
        outputs = tuple((m.name, seen(m)) for m in node.measures)
        return Project(OuterJoin(join.left, scan, predicate), (*node.keys, *outputs))

    def of_partners(self, node: SemiJoin | AntiJoin | MarkJoin) -> Relation | None:
        """L ⋉ R = L ⋉ γ_b(R)."""
        groups = self.groups(node, ())
        return None if groups is None else replace(node, right=groups[0], predicate=groups[1])

    def groups(
        self, join: OuterJoin | SemiJoin | AntiJoin | MarkJoin, measures: tuple[Measure, ...]
    ) -> tuple[Relation, Scalar] | None:
        """The right side grouped by what the predicate equates, and the predicate over it."""
        condition = Condition.of(join.predicate, join.left.names, join.right.names)
        if condition.rest or not condition.equalities:
            return None
        keys = tuple((f"{PREFIX}by_{i}_{min(e.right.columns)}", e.right) for i, e in enumerate(condition.equalities))
        part = self.part(Aggregate(filtered(join.right, condition.right), keys, measures))
        tests = (e.test(e.left, col(name)) for e, (name, _) in zip(condition.equalities, keys, strict=True))
        predicate = conjunction([*tests, *condition.left])
        return None if part is None or predicate is None else (part, predicate)


def loose_groups(node: Relation) -> Iterator[int]:
    """The aggregates, by identity, that are joined by no equality that names a group: a change on the other side meets
    all groups."""
    inputs, pairs = children(node), list[tuple[str, str]]()
    match node:
        case Join() | Filter():
            block = flatten(node)
            inputs, pairs = block.inputs, block.equalities
        case SemiJoin() | AntiJoin() | MarkJoin() | OuterJoin():
            pairs = [pair for c in conjuncts(node.predicate) if (pair := c.equated)]
        case _:
            pass
    for given in inputs:
        if len(inputs) > 1 and isinstance(given, Aggregate) and not is_sought(given, pairs):
            yield id(given)
        yield from loose_groups(given)


def is_sought(groups: Aggregate, pairs: Sequence[tuple[str, str]]) -> bool:
    """Is something outside equal to what they are grouped by?"""
    keys, here = {name for name, _ in groups.keys}, set(groups.names)
    return any((a in keys and b not in here) or (b in keys and a not in here) for a, b in pairs)


def is_keyed(node: Aggregate, base: Tables) -> bool:
    """Is every group one row, so that storing the groups is storing the table?"""
    key = facts.key(node.source, base)
    return key is not None and {e.column for _, e in node.keys}.issuperset(key)


def each(measure: Measure) -> str:
    return f"{PREFIX}each_{measure.name}"


def of_partners(measure: Measure, names: set[str]) -> Measure | None:
    """The measure over the partners alone; None if a row without partners would count in it."""
    if measure.argument is None:
        return replace(measure, name=each(measure))
    plain = measure.function in (Function.COUNT, Function.SUM, Function.AVG, Function.MIN, Function.MAX)
    if not plain or not measure.argument.columns <= names or not strict_in(measure.argument.tree):
        return None
    return replace(measure, name=each(measure))


def seen(measure: Measure) -> Scalar:
    """What the view shows of it: a row without partners counts as one row, and as no value."""
    value = col(each(measure))
    if measure.function is not Function.COUNT:
        return value
    alone = exp.Literal.number(1 if measure.argument is None else 0)
    return Scalar(exp.Coalesce(this=value.tree, expressions=[alone]))


def references(part: Aggregate | Recursion, base: Tables) -> tuple[ForeignKey, ...]:
    """Foreign keys that groups inherit: a key that is nothing but a column that refers to a table."""
    if isinstance(part, Recursion):
        return ()
    columns = {name: (s.table, c.lower()) for s in scans(part.source) for c, name in s.columns}
    read = [(name, columns[key.column]) for name, key in part.keys if key.column in columns]
    return tuple(
        ForeignKey((name,), reference.table, reference.referenced)
        for name, (table_name, column) in read
        for reference in base[table_name].foreign_keys
        if [c.lower() for c in reference.columns] == [column]
    )

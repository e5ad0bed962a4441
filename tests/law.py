"""incremental == recompute: the law that every view and every history is held to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.apply_bags import Bound, rolled
from tests.pure_typer import PureTyper
from tests.steps import Rows, Step

from rollview.algebra.interpreter import evaluate
from rollview.algebra.relation import State
from rollview.plan.compile import CompiledView, compile_view
from rollview.plan.group_reserve import GROUP_GROWTH
from rollview.plan.maintain import Maintenance, maintain
from rollview.plan.stages import EXTENT
from rollview.rules.dispatch import at, delta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rollview.algebra.evaluate import Row
    from rollview.algebra.interpreter import Bag
    from rollview.algebra.relation import Relation
    from rollview.algebra.schema import Tables
    from rollview.deltas.signed import Signed
    from rollview.frontend.scope import Lowered
    from rollview.plan.group_reserve import GroupReserve
    from rollview.rules.dispatch import Shapes


@dataclass
class Subject:
    """A view under test: compiled, and as the user wrote it."""

    sql: str
    tables: Tables
    view: CompiledView
    written: Lowered
    """lowered, but not normalised"""
    plans: dict[object, Maintenance] = field(default_factory=dict, repr=False)
    """by the shapes of the changes, and whether foreign keys are used"""

    @classmethod
    def of(cls, sql: str, tables: Tables) -> Subject:
        typer = PureTyper(tables)
        return cls(sql, tables, compile_view(sql, tables, typer), typer.written(sql))

    @property
    def has_one_meaning(self) -> bool:
        """Does the text leave nothing open? What Spark alone gets wrong (RV-LIMIT-INSIDE) has a meaning."""
        return not {"RV-TIES", "RV-QUALIFY"} & set(self.view.notes)

    def stored(self, step: Step) -> Bag:
        """The extent, recomputed after the step."""
        return plain(evaluate(self.view.extent.rows, step.source()))

    def read(self, step: Step, stored: Bag) -> Bag:
        """What a reader of the extent sees."""
        extent = self.view.extent
        return plain(evaluate(extent.reader, step.source({EXTENT: (extent.columns, stored)})))

    def meant(self, step: Step) -> Bag:
        """What the user's query means after the step."""
        names = self.written.relation.names
        places = [names.index(c.unique) for c in self.written.columns]
        result: Bag = Counter()
        for row, n in evaluate(self.written.relation, step.source()).items():
            result[tuple(row[p] for p in places)] += n
        return plain(result)

    def same_as(self, other: Subject, states: Sequence[Rows]) -> bool:
        """Do both queries mean the same in each of the states?"""
        steps = (Step(self.tables, state, state) for state in states)
        return all(self.meant(step) == other.meant(step) for step in steps)

    def maintenance(self, step: Step, *, foreign_keys: bool, shapes: Shapes | None = None) -> Maintenance:
        """Without foreign keys it is the naive plan altogether: what is affected is re-derived."""
        changed = step.shapes if shapes is None else shapes
        given = {name: shape for name, shape in changed.items() if name in self.view.reads}
        known = (frozenset(given.items()), foreign_keys)
        if known not in self.plans:
            plan = maintain(self.view, given, self.tables, foreign_keys=foreign_keys, naive=not foreign_keys)
            self.plans[known] = plan
        return self.plans[known]

    def advance(self, step: Step, stored: Bag, *, foreign_keys: bool, shapes: Shapes | None = None) -> Bag:
        """The extent rolled forward by the maintenance plan."""
        plan = self.maintenance(step, foreign_keys=foreign_keys, shapes=shapes)
        if plan.change is None:
            return stored
        return rolled(self.view.extent, plan, stored, lambda node, bound: rows_of(node, step, bound))

    def check(self, step: Step, stored: Bag) -> None:
        if (reserve := self.view.extent.group_reserve) is not None:
            check_reserves(reserve, step, stored)
        else:
            assert stored == self.stored(step), "the extent differs from its recompute"
        assert not self.has_one_meaning or self.read(step, stored) == self.meant(step), (
            "readers see something else than the view's SQL says"
        )


def check_reserves(reserve: GroupReserve, step: Step, stored: Bag) -> None:
    """Of each group the rows up to some rank, as many as are needed, and not many more than are wanted."""
    places = [reserve.columns.index(g) for g in reserve.groups]
    ranked = sorted(rows_of(reserve.ranked(reserve.source), step).elements(), key=lambda row: row[-1])
    groups: dict[tuple[object, ...], list[tuple[int, Row]]] = {}
    for *row, rank in ranked:
        groups.setdefault(tuple(row[p] for p in places), []).append((rank, tuple(row)))
    right: Bag = Counter()
    for rows in groups.values():
        there = [rank for rank, row in rows if row in stored]
        last = max(there, default=0)
        assert len(there) >= reserve.needed or last == rows[-1][0], "too few rows of a group"
        assert len(there) <= GROUP_GROWTH * reserve.wanted or last <= reserve.wanted, "too many rows of a group"
        right.update(row for rank, row in rows if rank <= last)
    assert stored == right, "a row is missing among the first of its group, or one is there that is none of them"


def rows_of(node: Relation, step: Step, bound: Bound | None = None) -> Bag:
    return plain(evaluate(node, step.source(bound)))


def plain(bag: Bag) -> Bag:
    return Counter({row: n for row, n in bag.items() if n})


def check_history(sql: str, tables: Tables, states: Sequence[Rows], *, foreign_keys: bool | None = None) -> Subject:
    """The law in small steps and in one big step; by both plans, unless one is asked for."""
    subject = Subject.of(sql, tables)
    for choice in (True, False) if foreign_keys is None else (foreign_keys,):
        check_steps(subject, states, foreign_keys=choice)
    return subject


def check_steps(subject: Subject, states: Sequence[Rows], *, foreign_keys: bool) -> None:
    tables = subject.tables
    start = Step(tables, states[0], states[0])
    first = subject.stored(start)
    subject.check(start, first)
    stored = first
    for before, after in pairwise(states):
        step = Step(tables, before, after)
        stored = subject.advance(step, stored, foreign_keys=foreign_keys)
        subject.check(step, stored)
    leap = Step(tables, states[0], states[-1])
    subject.check(leap, subject.advance(leap, first, foreign_keys=foreign_keys))


def check_delta(node: Relation, step: Step, *, foreign_keys: bool = True, naive: bool = False) -> Signed:
    """R_after = R_before ⊎ ΔR, for a relation on its own."""
    change = delta(node, step.shapes, step.tables, foreign_keys=foreign_keys, naive=naive)
    total = rows_of(at(node, State.BEFORE, step.shapes), step)
    for (*row, count), n in rows_of(change.relation, step).items():
        assert count in (1, -1), "a signed delta is elementary"
        total[tuple(row)] += count * n
    assert plain(total) == rows_of(at(node, State.AFTER, step.shapes), step)
    return change

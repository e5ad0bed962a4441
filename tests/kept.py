"""An extent with a reserve, kept on the interpreter by the stages of a refresh."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp
from tests.apply_bags import rolled
from tests.law import Subject, plain, rows_of
from tests.steps import Rows, Step

from rollview.algebra.relation import Filter
from rollview.algebra.scalar import literal
from rollview.plan.extent import stored
from rollview.plan.maintain import maintain
from rollview.plan.reserve import FULL, USED, Stock
from rollview.plan.stages import CHANGED, EXTENT
from rollview.plan.visible import changed_rows, view_delta

if TYPE_CHECKING:
    from rollview.algebra.interpreter import Bag
    from rollview.algebra.relation import Relation
    from rollview.plan.extent import Extent
    from rollview.plan.reserve import Reserve


@dataclass
class Kept:
    """An extent with a reserve, on the interpreter: the stages of a refresh."""

    subject: Subject
    step: Step
    rows: Bag
    stock: Stock
    derived: int = 0
    cut: int = 0

    @classmethod
    def of(cls, subject: Subject, state: Rows) -> Kept:
        step = Step(subject.tables, state, state)
        kept = cls(subject, step, Counter(), Stock(0, 0, None))
        kept.fill(kept.extent.rows)
        return kept

    @property
    def extent(self) -> Extent:
        return self.subject.view.extent

    @property
    def reserve(self) -> Reserve:
        assert self.extent.reserve is not None
        return self.extent.reserve

    def fill(self, source: Relation) -> None:
        """Chosen rows take the place of all."""
        self.rows = self.run(source)
        edge = self.run(self.reserve.edge(stored(self.extent.columns)))
        *values, count = next(iter(edge), (0,))
        found = dict(zip(dict.fromkeys(self.reserve.columns), values, strict=False))
        bound = None
        if count >= self.reserve.wanted:
            bound = tuple(exp.null() if found[c] is None else literal(found[c]).tree for c in self.reserve.columns)
        self.stock = Stock(count, count, bound)

    def run(self, node: Relation) -> Bag:
        return rows_of(node, self.step, {EXTENT: (self.extent.columns, self.rows)})

    def advance(self, after: Rows) -> None:
        subject = self.subject
        self.step = Step(subject.tables, self.step.after, after)
        given = {n: s for n, s in self.step.shapes.items() if n in subject.view.reads}
        plan = maintain(subject.view, given, subject.tables, bound=self.stock.bound)
        if plan.change is None:
            return
        before = self.rows
        moved = sum(row[-1] * n for row, n in self.run(plan.change).items())
        self.rows = rolled(self.extent, plan, self.rows, lambda node, bound: rows_of(node, self.step, bound))
        bound = {CHANGED: (plan.change.names, self.run(plan.change)), EXTENT: (self.extent.columns, before)}
        assert rows_of(changed_rows(self.extent), self.step, bound) == self.rows
        self.stock = replace(self.stock, rows=self.stock.rows + moved)
        match self.reserve.unfit(self.stock):
            case reason if reason == USED:
                self.derived += 1
                self.fill(self.extent.rows)
            case reason if reason == FULL:
                self.cut += 1
                self.fill(self.reserve.chosen(stored(self.extent.columns)))
        self.check_log(before)

    def check_log(self, before: Bag) -> None:
        """What the views above are told."""
        bound = {CHANGED: (self.extent.columns, self.rows), EXTENT: (self.extent.columns, before)}
        seen = Counter(self.subject.read(self.step, before))
        for (*row, count), n in rows_of(view_delta(self.extent).relation, self.step, bound).items():
            seen[tuple(row)] += count * n
        assert plain(seen) == self.subject.read(self.step, self.rows)

    def check(self) -> None:
        """All rows up to the bound, and enough of them for the view to be what its definition says."""
        rows = self.extent.followed
        if self.stock.bound is not None:
            rows = Filter(rows, self.reserve.within(self.stock.bound))
        assert self.rows == self.run(rows)
        assert self.stock.rows == self.rows.total()
        assert self.subject.read(self.step, self.rows) == self.run(self.subject.view.definition)

"""The law for views whose inner groups are stored: the parts are relations like others, and the view reads them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.law import Subject, plain
from tests.property.cases import Case, batches, check_states
from tests.pure_typer import PureTyper
from tests.steps import Rows, Step

from rollview.algebra.interpreter import evaluate
from rollview.algebra.schema import BaseTable
from rollview.plan.compile import CompiledView, compile_view
from rollview.plan.parts import references

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from rollview.algebra.relation import Aggregate, Recursion
    from rollview.algebra.schema import Tables

BATCH = 50


class Parts:
    """A view with every part stored that it can have, the innermost first."""

    def __init__(self, sql: str, tables: Tables) -> None:
        self.tables = dict(tables)
        self.names: dict[str, str] = {}
        self.views: dict[str, CompiledView] = {}
        self.found: list[tuple[str, Aggregate | Recursion]] = []
        while True:
            self.found.clear()
            view = compile_view(sql, self.tables, PureTyper(self.tables), self.kept)
            if not self.found:
                break
            self.store(*self.found[0])
        self.subject = Subject(sql, self.tables, view, PureTyper(tables).written(sql))

    def kept(self, text: str, groups: Aggregate | Recursion, whole: bool) -> str | None:
        if text not in self.names:
            self.found.append((text, groups))
        return self.names.get(text)

    def store(self, text: str, groups: Aggregate | Recursion) -> None:
        name = self.names[text] = f"__part{len(self.names) + 1}"
        view = self.views[name] = compile_view(text, self.tables, PureTyper(self.tables))
        inherited = references(groups, self.tables)
        self.tables[name] = BaseTable(name, view.output, view.extent.visible_key, inherited, nulls_in_key=True)

    def state(self, rows: Rows) -> Rows:
        """The rows of the parts beside those of the tables."""
        result = dict(rows)
        for name in self.names.values():
            result[name] = Counter()
        for name, view in self.views.items():
            result[name] = plain(evaluate(view.definition, Step(self.tables, result, result).source()))
        return result


@pytest.mark.parametrize("batch", batches(100, BATCH))
def test_a_view_over_its_parts_is_the_view(batch: int) -> None:
    split = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case.of(seed)
        try:
            parts = Parts(case.sql, case.tables)
            split += bool(parts.names)
            for states in case.histories if parts.names else ():
                check_states(parts.subject, [parts.state(rows) for rows in states])
        except Exception as error:
            raise AssertionError(f"seed {seed}: {case.sql}") from error
    assert split, "no view of the batch has a part"

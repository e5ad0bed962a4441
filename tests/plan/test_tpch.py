"""All 22 TPC-H queries as views: compiled quickly, maintained from changes, and right on DuckDB."""

from __future__ import annotations

import time
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.duck import Duck, check_on_duckdb
from tests.law import Subject
from tests.pace import pace
from tests.plan.tpch import QUERIES, TABLES, history
from tests.property.cases import seeds, spans
from tests.pure_typer import PureTyper

from rollview.algebra.relation import State
from rollview.plan.compile import compile_view
from rollview.plan.emit import emit, sql, table
from rollview.plan.maintain import maintain
from rollview.rules.dispatch import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.steps import Rows


def histories(subject: Subject, wanted: int) -> Iterator[list[Rows]]:
    """Histories in which the query finds rows, or a value in its one row."""
    for seed in range(40 * wanted):
        states = history(Random(seed), 4)
        duck = Duck(subject, states)
        if any(value is not None for at in range(4) for row in duck.meant(at) for value in row):
            yield states


@pytest.mark.long
@pytest.mark.parametrize("number", QUERIES)
def test_the_law(number: int) -> None:
    subject = Subject.of(QUERIES[number], TABLES)
    wanted = max(1, seeds(0) // 50)
    found = list(islice(histories(subject, wanted), wanted))
    assert found
    for i, states in enumerate(found):
        check_on_duckdb(subject, states, spans(states), through_spark=i % 2 == 0, decimals=4)


@pytest.mark.parametrize("number", QUERIES)
def test_compiles_in_300_ms(number: int) -> None:
    """Processor time, within three attempts: the view, and the SQL for a change of all its tables."""
    for _ in range(3):
        start = time.process_time()
        view = compile_view(QUERIES[number], TABLES, PureTyper(TABLES))
        plan = maintain(view, {t: Shape() for t in view.reads}, TABLES)
        assert plan.change is not None
        sql(emit(plan.change, lambda scan: table(scan.at.value, scan.table)))
        if (taken := time.process_time() - start) < 0.3 * pace():
            return
    pytest.fail(f"{taken:.3f} s")


@pytest.mark.parametrize("number", [1, 3, 5, 6, 7, 8, 9, 10, 12, 14, 19])
def test_a_change_of_lineitem_is_all_that_is_read_of_it(number: int) -> None:
    """Aggregates of joins at the top of a view: the change table needs the delta and what it is joined with."""
    view = compile_view(QUERIES[number], TABLES, PureTyper(TABLES))
    plan = maintain(view, {"lineitem": Shape()}, TABLES)
    assert {s.at for s in plan.scans if s.table == "lineitem"} == {State.DELTA}

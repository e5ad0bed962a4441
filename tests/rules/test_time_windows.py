"""Time windows are a generator: linear, and NULL lies in no window."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from tests.law import Subject, check_history
from tests.pure_typer import PureTyper
from tests.rules.tables import by_name
from tests.steps import Step, rows

from rollview.algebra.schema import BaseTable, Column
from rollview.errors import RollviewError
from rollview.plan.compile import compile_view

COLUMNS = (Column("id", "int"), Column("at", "timestamp"), Column("v", "int"))
TABLES = by_name(BaseTable("e", COLUMNS, ("id",)), BaseTable("w", (*COLUMNS, Column("window", "int"))))
START = datetime(1969, 12, 31, 23, 50, tzinfo=UTC)
VIEWS = {
    "tumbling": "SELECT window(at, '10 minutes') AS w, COUNT(*) AS n, SUM(v) AS s FROM e GROUP BY 1",
    "sliding": "SELECT window, v, COUNT(*) AS n FROM e GROUP BY window(at, '10 minutes', '4 minutes', '1 minute'), v",
    "gaps": "SELECT window(at, '2 minutes', '5 minutes') AS w, COUNT(*) AS n FROM e GROUP BY ALL",
    "each_row": "SELECT id, window(at, '1 hour') FROM e WHERE v > 1",
    "a_column_of_that_name": "SELECT window, COUNT(*) AS n FROM w GROUP BY window, window(at, '5 minutes')",
}


def moment(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def state(rng: Random, table: str) -> Any:
    more = (1,) if table == "w" else ()
    found = [
        (i, rng.choice((None, moment(rng.randrange(40)), moment(rng.randrange(40)))), rng.choice((None, 1, 2)), *more)
        for i in range(12)
        if rng.random() < 0.7
    ]
    return rows(**{"e": [], "w": [], table: found})


@pytest.mark.parametrize("sql", VIEWS.values(), ids=VIEWS)
def test_the_law(sql: str) -> None:
    rng, table = Random(5), "w" if "FROM w" in sql else "e"
    check_history(sql, TABLES, [state(rng, table) for _ in range(12)])


def test_the_windows_of_a_moment() -> None:
    """Also before 1970; an end belongs to the next window."""
    view = Subject.of("SELECT id, window(at, '10 minutes', '5 minutes') AS w FROM e", TABLES)
    now = rows(e=[(1, moment(0), 1), (2, moment(4), 1), (3, moment(15), 1), (4, None, 1)], w=[])
    spans = {(1, -5, 5), (1, 0, 10), (2, -5, 5), (2, 0, 10), (3, 10, 20), (3, 15, 25)}
    found = view.meant(Step(TABLES, now, now))
    assert found == {(i, (moment(a), moment(b))): 1 for i, a, b in spans}


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("SELECT window(at, '1 hour'), window(at, '2 hours') AS two FROM e", 30),
        ("SELECT id FROM e WHERE window(at, '1 hour') IS NULL", 24),
        ("SELECT session_window(at, '5 minutes') AS s FROM e", 8),
        ("SELECT session_window(at, '5 minutes', '1 minute') AS s FROM e GROUP BY 1", 8),
        ("SELECT COUNT(*) AS n FROM e GROUP BY ROLLUP (session_window(at, '5 minutes'))", 46),
        ("SELECT COUNT(*) AS n FROM e GROUP BY session_window(at, '5 minutes'), session_window(at, '6 minutes')", 71),
    ],
)
def test_refused(sql: str, column: int) -> None:
    with pytest.raises(RollviewError) as caught:
        compile_view(sql, TABLES, PureTyper(TABLES))
    assert (caught.value.code, caught.value.position and caught.value.position.column) == ("RV-GENERATOR", column)

"""Where the clock may stand, and a view's text at a reading of it."""

from __future__ import annotations

import pytest
from sqlglot import exp
from tests.pure_typer import PureTyper
from tests.rules.tables import by_name, table

from rollview.algebra.clock import CLOCK_TABLE, NOW, TODAY, is_time_filter
from rollview.algebra.walking import walk
from rollview.errors import RollviewError
from rollview.frontend.time_filters import at_reading, clock_columns
from rollview.plan.compile import compile_view

TABLES = by_name(table("r", "a, day date, t timestamp"), table("s", "a, day date"), CLOCK_TABLE)

ACCEPTED = {
    "SELECT a FROM r WHERE day >= current_date": {TODAY},
    "SELECT a FROM r WHERE (a = 1 AND (day >= CURRENT_DATE() AND t < now()))": {TODAY, NOW},
    "SELECT a FROM r WHERE day BETWEEN current_date - 3 AND Curdate()": {TODAY},
    "SELECT a FROM r WHERE current_timestamp > t": {NOW},
    "SELECT a FROM r WHERE t > localtimestamp()": {NOW},
    "SELECT q.a FROM (SELECT a, day AS d FROM r) q WHERE d = current_date": {TODAY},
    "SELECT r.a FROM r JOIN s ON r.a = s.a AND s.day < current_date": {TODAY},
    "SELECT r.a FROM r, s WHERE r.a = s.a AND s.day < current_date": {TODAY},
    "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND s.day < current_date)": {TODAY},
    "WITH q AS (SELECT a FROM r WHERE day < current_date) SELECT a FROM q UNION ALL SELECT a FROM q": {TODAY},
}
REFUSED = [
    "SELECT current_date AS d FROM r",
    "SELECT a FROM r WHERE a = 1 OR day < current_date",
    "SELECT a FROM r WHERE NOT day < current_date",
    "SELECT a FROM r WHERE day <> current_date",
    "SELECT a FROM r WHERE (day < current_date) = TRUE",
    "SELECT a FROM r WHERE CASE WHEN day < current_date THEN TRUE END",
    "SELECT a FROM r WHERE day IN (current_date)",
    "SELECT a FROM r WHERE day < (SELECT current_date)",
    "SELECT a FROM r WHERE date_sub(current_date, (SELECT MAX(a) FROM s)) > day",
    "SELECT a FROM r GROUP BY a, current_date",
    "SELECT a FROM r GROUP BY a HAVING MAX(day) < current_date",
    "SELECT a, COUNT(*) FILTER (WHERE day < current_date) AS n FROM r GROUP BY a",
    "SELECT a, SUM(a) OVER (ORDER BY current_date) AS n FROM r",
    "SELECT a FROM r QUALIFY MAX(day) OVER (PARTITION BY a) < current_date",
    "SELECT r.a FROM r LEFT JOIN s ON r.a = s.a AND s.day < current_date",
    "SELECT r.a FROM r FULL JOIN s ON s.day < current_date",
    "SELECT r.a FROM r LEFT SEMI JOIN s ON s.day < current_date",
    "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND r.day < current_date)",
    "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND r.day BETWEEN s.day AND current_date)",
    "SELECT a FROM r ORDER BY current_date LIMIT 3",
    "SELECT a FROM r WHERE t > now() AND current_user() = 'me'",
]


@pytest.mark.parametrize("sql", ACCEPTED)
def test_accepted(sql: str) -> None:
    assert clock_columns(sql) == ACCEPTED[sql]
    view = compile_view(sql, TABLES, PureTyper(TABLES))
    found = [n for n in walk(view.definition) if is_time_filter(n)]
    assert found
    assert {column for n in found for column, _ in getattr(n.right, "columns", ())} == ACCEPTED[sql]


@pytest.mark.parametrize("sql", REFUSED)
def test_refused(sql: str) -> None:
    with pytest.raises(RollviewError) as caught:
        compile_view(sql, TABLES, PureTyper(TABLES))
    assert caught.value.code == "RV-NONDETERMINISTIC"
    position = caught.value.position
    assert position is not None and sql[position.column - 1 :].startswith(("current_", "now"))
    assert caught.value.hint


def test_the_hint_names_time_filters() -> None:
    with pytest.raises(RollviewError) as caught:
        compile_view("SELECT a,\n  now() AS n FROM r", TABLES, PureTyper(TABLES))
    assert (caught.value.position and (caught.value.position.line, caught.value.position.column)) == (2, 3)
    assert "only a time filter may read the clock: WHERE day >= now() - INTERVAL 7 DAYS" in (caught.value.hint or "")


def test_the_clock_is_no_table() -> None:
    with pytest.raises(RollviewError) as caught:
        compile_view("SELECT * FROM __clock", TABLES, PureTyper(TABLES))
    assert caught.value.code == "RV-UNKNOWN-TABLE"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("SELECT 'now()' AS n FROM r WHERE t < now()", "SELECT 'now()' AS n FROM r WHERE t < N"),
        ("SELECT a FROM r WHERE t < now /* ! */ ( )  -- now()", "SELECT a FROM r WHERE t < N  -- now()"),
        (
            "SELECT `current_date` FROM r q WHERE q.current_date < current_date",
            "SELECT `current_date` FROM r q WHERE q.current_date < D",
        ),
        ("SELECT a AS now FROM r WHERE day = current_date() - now", "SELECT a AS now FROM r WHERE day = D - now"),
        (
            "SELECT a FROM r WHERE day BETWEEN CURDATE() AND Current_Timestamp",
            "SELECT a FROM r WHERE day BETWEEN D AND N",
        ),
        ("SELECT a FROM r WHERE a = 1", "SELECT a FROM r WHERE a = 1"),
    ],
)
def test_a_text_at_a_reading(text: str, read: str) -> None:
    assert at_reading(text, {NOW: exp.Var(this="N"), TODAY: exp.Var(this="D")}) == read

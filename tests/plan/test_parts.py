"""Which inner groups are met as a whole by what changes beside them: it decides whether they are stored."""

from __future__ import annotations

import pytest
from tests.pure_typer import PureTyper
from tests.rules.tables import by_name, table

from rollview.algebra.relation import Aggregate
from rollview.plan.compile import compile_view

TABLES = by_name(table("r", "a, b, x", "a b"), table("t", "a, y", "a"))
SUMS = "(SELECT a, SUM(x) AS s FROM r GROUP BY a) q"


@pytest.mark.parametrize(
    ("sql", "whole"),
    [
        (f"SELECT s, COUNT(*) AS n FROM {SUMS} GROUP BY s", False),
        (f"SELECT t.a, s FROM t JOIN {SUMS} ON t.a = q.a", False),
        (f"SELECT t.a, s FROM t JOIN {SUMS} ON t.a = q.a JOIN r ON r.x > s", False),
        (f"SELECT t.a, s FROM t LEFT JOIN {SUMS} ON t.a = q.a", False),
        (f"SELECT a FROM t WHERE EXISTS (SELECT 1 FROM {SUMS} WHERE q.a = t.a AND s > y)", False),
        (f"SELECT q.a, s FROM {SUMS}, t WHERE s > t.y", True),
        (f"SELECT q.a, s FROM {SUMS} JOIN t ON s = t.y", True),
        (f"SELECT q.a, s FROM {SUMS} LEFT JOIN t ON s > y", True),
        (f"SELECT q.a, s FROM {SUMS} WHERE EXISTS (SELECT 1 FROM t WHERE y > s)", True),
        (f"SELECT q.a, s FROM {SUMS} WHERE s > (SELECT MAX(y) FROM t)", True),
        (f"SELECT t.a, s FROM t JOIN {SUMS} ON t.a + 1 = q.a + 1", True),
    ],
)
def test_groups_are_met_as_a_whole_unless_an_equality_names_some(sql: str, whole: bool) -> None:
    asked: dict[str, bool] = {}

    def kept(text: str, groups: Aggregate, loose: bool) -> str | None:
        asked[text] = asked.get(text, False) or loose
        return None

    compile_view(sql, TABLES, PureTyper(TABLES), kept)
    assert [loose for text, loose in asked.items() if "SUM" in text] == [whole]

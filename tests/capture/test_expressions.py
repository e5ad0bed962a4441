"""Conditions and values in transactions are read as the SQL of a view is."""

from __future__ import annotations

import pytest

from rollview.capture.managed import expression
from rollview.errors import RollviewError
from rollview.plan.emit import sql


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("x - INTERVAL 1 DAY 2 HOURS", "x - INTERVAL '1 DAY 2 HOURS'"),
        ("to_char(x, '99')", "TO_CHAR(x, '99')"),
        ("unix_date(d) + 1", "UNIX_DATE(d) + 1"),
    ],
)
def test_means_what_it_says(said: str, meant: str) -> None:
    assert sql(expression(said)) == meant


@pytest.mark.parametrize("said", ["FROM t |> LIMIT 1", "SELECT 1", "a >", "a IN (SELECT 1)"])
def test_a_query_is_no_expression(said: str) -> None:
    with pytest.raises(RollviewError):
        expression(said)

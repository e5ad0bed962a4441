"""Δ(π_A R) = π_{A, __count}(ΔR), on bags: duplicates stay."""

from __future__ import annotations

import pytest
from tests.law import check_delta, check_history
from tests.rules.tables import BAGS, SHOP, R, scalar, scan
from tests.steps import Step, rows

from rollview.algebra.relation import Project

BEFORE = rows(r=[(1, 1), (2, 1), (2, 1), (None, None)], s=[])
AFTER = rows(r=[(3, 1), (2, 1), (None, None), (None, 4)], s=[])


def test_rows_that_become_equal_are_counted() -> None:
    node = Project(scan(R), (("x", scalar("r_b")),))
    check_delta(node, Step(BAGS, BEFORE, AFTER))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT b FROM r",
        "SELECT a + b AS x, a - b AS y, COALESCE(a, b) AS z FROM r",
        "SELECT a AS x, a AS y, a AS z FROM r",
        "SELECT a AS x, x + 1 AS y, y * y AS z FROM r",
        "SELECT 1 AS one FROM r",
        "SELECT CAST(NULL AS INT) AS nothing, b FROM r",
        "SELECT CASE WHEN a > 1 THEN 'big' WHEN a IS NULL THEN 'none' ELSE 'small' END AS size FROM r",
    ],
)
def test_expressions(sql: str) -> None:
    check_history(sql, BAGS, [BEFORE, AFTER, BEFORE])


def test_changes_outside_the_columns_cancel() -> None:
    """The delta is net on the columns of the view, so an update that the view does not show is no change."""
    subject = check_history("SELECT a FROM r", BAGS, [rows(r=[(1, 1)], s=[]), rows(r=[(1, 2)], s=[])])
    step = Step(BAGS, rows(r=[(1, 1)], s=[]), rows(r=[(1, 2)], s=[]))
    stored = subject.stored(Step(BAGS, step.before, step.before))
    assert subject.advance(step, stored, foreign_keys=True) == stored


def test_a_key_that_is_shown_makes_the_extent_keyed() -> None:
    states = [
        rows(stores=[(1, "a", 1), (2, "a", 1)], items=[], sales=[]),
        rows(stores=[(1, "b", 1), (3, "a", None)], items=[], sales=[]),
    ]
    subject = check_history("SELECT id AS store, city FROM stores", SHOP, states)
    assert subject.view.extent.kind.value == "keyed"
    assert subject.view.extent.key == ("store",)

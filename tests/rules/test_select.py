"""Δ(σ_p R) = σ_p(ΔR)."""

from __future__ import annotations

from tests.law import check_delta, check_history
from tests.rules.tables import BAGS, R, scalar, scan
from tests.steps import Step, rows

from rollview.algebra.relation import Filter

BEFORE = rows(r=[(1, 1), (1, 1), (2, None), (None, 3)], s=[])
AFTER = rows(r=[(1, 1), (2, 5), (None, 3), (3, 3), (3, 3)], s=[])


def test_rows_pass_or_do_not() -> None:
    node = Filter(scan(R), scalar("r_a > 1"))
    check_delta(node, Step(BAGS, BEFORE, AFTER))


def test_unknown_is_not_true() -> None:
    """A NULL in the predicate drops the row before and after; NOT does not bring it back."""
    for predicate in ("r_b > 2", "NOT r_b > 2", "r_b = r_b", "r_b IS NULL", "r_b > 2 OR r_a = 2"):
        check_delta(Filter(scan(R), scalar(predicate)), Step(BAGS, BEFORE, AFTER))


def test_an_update_moves_a_row_in_and_another_out() -> None:
    before, after = rows(r=[(1, 1), (2, 9)], s=[]), rows(r=[(1, 9), (2, 1)], s=[])
    change = check_delta(Filter(scan(R), scalar("r_b > 5")), Step(BAGS, before, after))
    assert not change.is_empty


def test_one_copy_of_a_duplicate_is_deleted() -> None:
    subject = check_history(
        "SELECT a, b FROM r WHERE b = 1",
        BAGS,
        [rows(r=[(1, 1)] * 3, s=[]), rows(r=[(1, 1)] * 2, s=[]), rows(r=[], s=[])],
    )
    assert subject.view.extent.kind.value == "bag"


def test_a_predicate_without_columns() -> None:
    for predicate in ("TRUE", "FALSE", "1 = 0", "NULL"):
        check_history(f"SELECT a FROM r WHERE {predicate}", BAGS, [BEFORE, AFTER])

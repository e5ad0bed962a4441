"""Δ(L ▷ R) = (ΔL ▷ R') ⊎ turned(L, R), and the same with the other sign for ⋉."""

from __future__ import annotations

import pytest
from tests.law import check_delta
from tests.rules.tables import BAGS, R, S, by_name, scalar, scan, table
from tests.steps import Rows, Step, rows

from rollview.algebra.relation import AntiJoin, Filter, SemiJoin, State
from rollview.algebra.walking import scans

PREDICATES = [
    "r_b = s_b",
    "r_b <=> s_b",
    "r_b < s_b",
    "r_b + 1 = s_b",
    "r_b = s_b AND r_a > s_c",
    "r_b = s_b AND s_c > 6",
    "r_b = s_b AND r_a > 1",
    "r_b = s_b OR r_a = 1",
    "(r_b = s_b) IS NOT FALSE",
    "s_c > 7",
    "r_a = 1",
    "TRUE",
    "FALSE",
    "NULL",
]
STATES = {
    "both": rows(r=[(1, 1), (2, 1), (2, 1), (3, None), (4, 2)], s=[(1, 7), (1, 7), (None, 8), (3, 9)]),
    "other": rows(r=[(1, 1), (2, 1), (3, None), (5, 3)], s=[(1, 7), (2, 6), (None, 8), (3, None)]),
    "no_partners": rows(r=[(1, 1), (1, 1), (2, None), (3, 3)], s=[]),
    "nobody": rows(r=[], s=[(1, 7), (2, 6), (None, None)]),
    "nothing": rows(r=[], s=[]),
}
STEPS = [pytest.param(a, b, id=f"{n}-{m}") for n, a in STATES.items() for m, b in STATES.items() if n != m]


@pytest.mark.parametrize("naive", [True, False], ids=["naive", "optimised"])
@pytest.mark.parametrize("kind", [SemiJoin, AntiJoin])
@pytest.mark.parametrize(("before", "after"), STEPS)
def test_any_predicate(kind: type[SemiJoin | AntiJoin], naive: bool, before: Rows, after: Rows) -> None:
    for predicate in PREDICATES:
        for step in (Step(BAGS, before, after), Step(BAGS, before, {**before, "s": after["s"]})):
            check_delta(kind(scan(R), scan(S), scalar(predicate)), step, naive=naive)


@pytest.mark.parametrize("kind", [SemiJoin, AntiJoin])
def test_one_partner_of_two_goes(kind: type[SemiJoin | AntiJoin]) -> None:
    before, after = rows(r=[(1, 1)], s=[(1, 7), (1, 8)]), rows(r=[(1, 1)], s=[(1, 8)])
    check_delta(kind(scan(R), scan(S), scalar("r_b = s_b")), Step(BAGS, before, after))


def test_partners_are_read_once() -> None:
    """Partners before follow from those after and from the delta."""
    change = check_delta(AntiJoin(scan(R), scan(S), scalar("r_b = s_b")), Step(BAGS, STATES["both"], STATES["other"]))
    assert {(s.table, s.at) for s in scans(change.relation)} == {
        ("r", State.DELTA),
        ("r", State.BEFORE),
        ("s", State.DELTA),
        ("s", State.AFTER),
    }


def test_a_key_says_how_many_partners_there_can_be() -> None:
    """The changed rows alone tell which rows turn; an update of the partner turns nothing."""
    tables = by_name(R, table("s", "b, c", "b"))
    before = rows(r=[(1, 1), (1, 1), (2, 2), (3, 3)], s=[(1, 7), (2, 8)])
    after = rows(r=before["r"], s=[(2, 9), (3, 9)])
    node = AntiJoin(scan(R), scan(tables["s"]), scalar("r_b = s_b"))
    change = check_delta(node, Step(tables, before, after))
    assert {(s.table, s.at) for s in scans(change.relation)} == {("s", State.DELTA), ("r", State.AFTER)}


def test_nested() -> None:
    inner = SemiJoin(scan(S), scan(R, "x"), scalar("s_c = x_a"))
    node = AntiJoin(Filter(scan(R), scalar("r_a > 0")), inner, scalar("r_b = s_b"))
    for naive in (True, False):
        check_delta(node, Step(BAGS, STATES["both"], STATES["other"]), naive=naive)

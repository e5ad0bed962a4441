"""Δ(L ⟗ R) = (ΔR ⟕ L) ⊎ pad(turned(L, R)) ⊎ (ΔL ⟕ R') ⊎ pad(turned(R', L))."""

from __future__ import annotations

import pytest
from tests.law import check_delta
from tests.rules.tables import BAGS, R, S, scalar, scan
from tests.rules.test_semijoin import PREDICATES, STATES, STEPS
from tests.steps import Rows, Step, rows

from rollview.algebra.relation import Aggregate, Filter, Function, Measure, OuterJoin, Project
from rollview.algebra.scalar import col

KINDS = {"left": (True, False), "right": (False, True), "full": (True, True)}


@pytest.mark.parametrize("naive", [True, False], ids=["naive", "optimised"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("before", "after"), STEPS)
def test_any_predicate(kind: str, naive: bool, before: Rows, after: Rows) -> None:
    for predicate in PREDICATES:
        node = OuterJoin(scan(R), scan(S), scalar(predicate), *KINDS[kind])
        for moved in ({"r"}, {"s"}, {"r", "s"}):
            step = Step(BAGS, before, {name: (after if name in moved else before)[name] for name in before})
            check_delta(node, step, naive=naive)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("naive", [True, False], ids=["naive", "optimised"])
def test_rows_of_nothing_but_nulls_are_not_padding(kind: str, naive: bool) -> None:
    before = rows(r=[(None, None), (1, 1)], s=[(None, None)])
    after = rows(r=[(None, None)], s=[(None, None), (None, None), (1, 1)])
    for predicate in ("r_b = s_b", "r_b <=> s_b"):
        node = OuterJoin(scan(R), scan(S), scalar(predicate), *KINDS[kind])
        check_delta(node, Step(BAGS, before, after), naive=naive)
        check_delta(node, Step(BAGS, after, before), naive=naive)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("naive", [True, False], ids=["naive", "optimised"])
def test_under_and_over_other_operators(kind: str, naive: bool) -> None:
    """Selections (also for padded rows), projections, aggregates and outer joins, of the same tables again."""
    one = OuterJoin(scan(R), scan(S), scalar("r_b = s_b"), *KINDS[kind])
    grouped = Aggregate(scan(R, "x"), (("k", col("x_b")),), (Measure("n", Function.COUNT),))
    nodes = [
        Filter(one, scalar("s_c IS NULL")),
        Filter(one, scalar("s_c > 6 OR r_a = 2")),
        Project(one, (("a", scalar("COALESCE(r_a, s_c)")),)),
        OuterJoin(one, grouped, scalar("s_b = k"), *KINDS[kind]),
        OuterJoin(grouped, one, scalar("n = r_a"), *KINDS[kind]),
        Aggregate(one, (("g", col("r_b")),), (Measure("m", Function.COUNT, col("s_c")),)),
    ]
    for node in nodes:
        for name in ("other", "no_partners", "nobody"):
            check_delta(node, Step(BAGS, STATES["both"], STATES[name]), naive=naive)
            check_delta(node, Step(BAGS, STATES[name], STATES["both"]), naive=naive)

"""What an aggregate stores: additive states, and outputs derived from them."""

from __future__ import annotations

import itertools
import math

import pytest
from tests.duck import check_on_duckdb
from tests.law import Subject
from tests.rules.tables import R, by_name, scalar, scan, table
from tests.steps import rows

from rollview.algebra.relation import Aggregate, Function, Measure
from rollview.deltas.states import average_is_exact, states_of

NAN, INF = math.nan, math.inf


def names(*measures: Measure, type_: str = "int") -> list[str]:
    node = Aggregate(scan(R), (("k", scalar("r_a")),), measures)
    types = {m.name: type_ for m in measures}
    return [s.name for s in states_of(node, types, {}).all]


def test_every_group_has_the_count_of_its_rows() -> None:
    assert names() == ["__count"]
    assert names(Measure("n", Function.COUNT)) == ["__count"]


def test_a_sum_has_the_count_of_its_values_beside_it() -> None:
    assert names(Measure("t", Function.SUM, scalar("r_b"))) == ["__count", "__n_t", "__sum_t"]


def test_measures_of_the_same_argument_share_their_states() -> None:
    b = scalar("r_b")
    found = names(Measure("t", Function.SUM, b), Measure("n", Function.COUNT, b), Measure("u", Function.SUM, b))
    assert found == ["__count", "__n_t", "__sum_t"]


def test_sum_and_average_of_decimals_share_their_sum() -> None:
    b = scalar("r_b")
    found = names(Measure("t", Function.SUM, b), Measure("v", Function.AVG, b), type_="decimal(10,2)")
    assert found == ["__count", "__n_t", "__sum_t"]


def test_the_average_of_integers_has_a_sum_that_cannot_overflow() -> None:
    found = names(Measure("t", Function.SUM, scalar("r_b")), Measure("v", Function.AVG, scalar("r_b")))
    assert found == ["__count", "__n_t", "__sum_t", "__sum_v"]


def test_floats_count_what_no_subtraction_undoes() -> None:
    found = names(Measure("t", Function.SUM, scalar("r_b")), type_="double")
    assert found == ["__count", "__n_t", "__nan_t", "__inf_t", "__neginf_t", "__sum_t"]


@pytest.mark.parametrize(
    ("type_", "exact"),
    [
        ("int", True),
        ("decimal(10,2)", True),
        ("decimal(24,0)", True),
        ("decimal(24,20)", True),
        ("decimal(25,0)", False),
        ("decimal(38,18)", False),
    ],
)
def test_which_averages_are_exact(type_: str, exact: bool) -> None:
    assert average_is_exact(type_) is exact


def test_an_average_that_cannot_be_derived_exactly_is_re_derived() -> None:
    assert names(Measure("v", Function.AVG, scalar("r_b")), type_="decimal(38,10)")[-1] == "__value_v"


GROUPS: dict[str, list[float | None]] = {
    "finite": [1.5, 2.25, None],
    "nan": [1.5, NAN],
    "infinite": [1.5, INF, INF],
    "minus_infinite": [-INF, 3.0],
    "both_infinities": [INF, -INF],
    "all": [NAN, INF, -INF, 1.0, None],
    "only_null": [None],
    "empty": [],
}


def test_nan_and_infinities_come_and_go() -> None:
    """What is deleted is gone: 1.5 + NaN - NaN is 1.5 again. From each state to each other."""
    tables = by_name(table("m", "k int, x double"))
    states = [rows(m=[(1, x) for x in group] + [(2, 1.0)]) for group in GROUPS.values()]
    grouped = Subject.of("SELECT k, SUM(x) AS t, AVG(x) AS v, COUNT(x) AS n FROM m GROUP BY k", tables)
    check_on_duckdb(grouped, states, list(itertools.permutations(range(len(states)), 2)))
    alone = Subject.of("SELECT SUM(x) FILTER (WHERE k = 1) AS t FROM m", tables)
    check_on_duckdb(alone, states, list(itertools.pairwise(range(len(states)))))


def test_views_with_float_sums_say_so() -> None:
    tables = by_name(table("m", "k int, x double"))
    assert "RV-FLOAT-SUM" in Subject.of("SELECT SUM(x) AS t FROM m", tables).view.notes
    assert "RV-FLOAT-SUM" not in Subject.of("SELECT COUNT(x) AS n FROM m", tables).view.notes

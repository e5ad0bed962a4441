"""□(L ⟗ R) = ΔL ⟕ R, and the padded rows of what it meets go if they are there."""

from __future__ import annotations

import pytest
from tests.law import Subject, check_history
from tests.rules.tables import by_name, table
from tests.steps import Step, rows

from rollview.algebra.relation import State

TABLES = by_name(
    table("sales", "id, store, price", "id"),
    table("stores", "id, city string, state", "id"),
    table("states", "id, area", "id"),
    table("bag", "store, price"),
)
FULL = "SELECT sales.id, price, stores.id AS sid, city FROM sales FULL JOIN stores ON sales.store = stores.id"
NESTED = (
    "SELECT q.id, q.price, q.sid, q.city, states.area FROM (SELECT sales.id, price, stores.id AS sid, city, state "
    "FROM sales FULL JOIN stores ON sales.store = stores.id) q FULL JOIN states ON q.state = states.id"
)
FEW = rows(
    sales=[(1, 1, 5), (2, 9, None), (3, None, 7)],
    stores=[(1, "Oslo", 1), (2, "Rome", 2), (3, "Bari", None), (4, None, 2)],
    states=[(1, 10), (2, 20), (3, 30)],
    bag=[(1, 1), (1, 1)],
)
MORE = {**FEW, "sales": FEW["sales"] + rows(s=[(4, 1, 1), (5, 2, 2), (6, 2, 3), (7, 8, 4), (8, None, None)])["s"]}
VIEWS = {
    "full": FULL,
    "right": FULL.replace("FULL", "RIGHT"),
    "the_other_way_round": "SELECT sales.id, stores.id AS sid FROM stores LEFT JOIN sales ON sales.store = stores.id",
    "nested": NESTED,
    "nested_by_right_joins": NESTED.replace("FULL", "RIGHT"),
    "below_a_selection_of_padded_rows": FULL + " WHERE sales.id IS NULL",
    "below_a_selection": FULL + " WHERE price > 1 OR city = 'Rome'",
    "below_a_join": (
        "SELECT q.id, q.sid, states.area FROM (SELECT sales.id, stores.id AS sid, state FROM sales FULL JOIN stores "
        "ON sales.store = stores.id) q JOIN states ON q.state = states.id"
    ),
    "with_a_residual": FULL + " AND price > 1 AND city <> 'Oslo'",
    "by_inequality": "SELECT sales.id, stores.id AS sid FROM sales FULL JOIN stores ON sales.store < stores.id",
}


@pytest.mark.parametrize("sql", VIEWS.values(), ids=VIEWS)
def test_insertions_read_only_what_did_not_change(sql: str) -> None:
    subject = check_history(sql, TABLES, [FEW, MORE])
    plan = subject.maintenance(Step(TABLES, FEW, MORE), foreign_keys=True)
    assert plan.may_miss
    assert {s.at for s in plan.scans if s.table == "sales"} == {State.DELTA}


def test_a_partner_that_was_there_already_leaves_nothing_to_delete() -> None:
    """Store 1 has a sale before: the deletion of its padded row finds nothing."""
    after = {**FEW, "sales": FEW["sales"] + rows(s=[(4, 1, 1)])["s"]}
    check_history(FULL, TABLES, [FEW, after])


def test_a_hidden_key_serves_as_well() -> None:
    sql = "SELECT sales.id, city FROM sales FULL JOIN stores ON sales.store = stores.id"
    subject = check_history(sql, TABLES, [FEW, MORE])
    assert subject.view.extent.hidden
    assert subject.maintenance(Step(TABLES, FEW, MORE), foreign_keys=True).may_miss


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT bag.price, stores.city FROM bag FULL JOIN stores ON bag.store = stores.id",
        "SELECT COUNT(*) AS n FROM sales FULL JOIN stores ON sales.store = stores.id",
        "SELECT a.id, b.id AS bid FROM sales a FULL JOIN sales b ON a.store = b.id",
        "SELECT q.id, q.sid, states.id AS tid FROM (SELECT sales.id, stores.id AS sid, price FROM sales "
        "FULL JOIN stores ON sales.store = stores.id) q FULL JOIN states ON q.price = states.id",
    ],
    ids=["no_key", "not_rows", "both_sides_gain", "a_join_on_what_does_not_last"],
)
def test_where_it_does_not_hold_the_delta_is_exact(sql: str) -> None:
    more = {**MORE, "bag": FEW["bag"] + rows(b=[(2, 2), (3, 3)])["b"]}
    subject = check_history(sql, TABLES, [FEW, more])
    assert not subject.maintenance(Step(TABLES, FEW, more), foreign_keys=True).may_miss


def test_deletions_are_exact() -> None:
    subject = check_history(FULL, TABLES, [MORE, FEW])
    assert not subject.maintenance(Step(TABLES, MORE, FEW), foreign_keys=True).may_miss
    assert Subject.of(FULL, TABLES).view.extent.key == ("id", "sid")

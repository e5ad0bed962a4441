"""Foreign keys: inserted parents come before their children, removed ones go after, so their terms are empty."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from tests.law import Subject, check_history
from tests.rules.tables import SHOP, by_name, refers, table
from tests.steps import Rows, Step, rows

from rollview.algebra.relation import State

STAR = (
    "SELECT s.id, s.price, t.city, i.category "
    "FROM sales s JOIN stores t ON s.store = t.id JOIN items i ON s.item = i.id"
)
BEFORE = rows(
    stores=[(1, "A", 1), (2, "B", 1), (3, "C", 2)],
    items=[(1, "x", 5), (2, "y", None)],
    sales=[(1, 1, 1, 10), (2, 1, 2, 20), (3, 2, 1, 30), (4, None, 2, 40), (5, 3, None, 50)],
)


def changed(**tables: Iterable[tuple[object, ...]]) -> Rows:
    return {**BEFORE, **rows(**tables)}


PARENT_INSERTED = changed(
    stores=[*BEFORE["stores"], (4, "D", 9)],
    sales=[*BEFORE["sales"], (6, 4, 1, 60)],
)
PARENT_DELETED = changed(
    stores=[(2, "B", 1), (3, "C", 2)],
    sales=[(3, 2, 1, 30), (4, None, 2, 40), (5, 3, None, 50)],
)
PARENT_DELETED_CHILDREN_MOVED = changed(
    stores=[(2, "B", 1), (3, "C", 2)],
    sales=[(1, 2, 1, 10), (2, None, 2, 20), (3, 2, 1, 30), (4, None, 2, 40), (5, 3, None, 50)],
)
PARENT_UPDATED = changed(stores=[(1, "A2", 1), (2, "B", 7), (3, "C", 2)])
PARENT_UPDATED_WITH_CHILDREN = changed(
    stores=[(1, "A2", 1), (2, "B", 1), (3, "C", 2)],
    sales=[(1, 1, 1, 11), (3, 1, 1, 30), (4, 1, 2, 40), (5, 3, None, 50), (7, 1, 1, 70)],
)
ALL_AT_ONCE = rows(
    stores=[(1, "A2", 1), (4, "D", None), (3, "C", 2)],
    items=[(1, "x2", 5), (3, "z", 1)],
    sales=[(1, 4, 3, 10), (2, 1, 1, 21), (6, 4, 1, 60), (4, None, 3, 40)],
)
STATES = {
    "before": BEFORE,
    "parent_inserted": PARENT_INSERTED,
    "parent_deleted": PARENT_DELETED,
    "parent_deleted_children_moved": PARENT_DELETED_CHILDREN_MOVED,
    "parent_updated": PARENT_UPDATED,
    "parent_updated_with_children": PARENT_UPDATED_WITH_CHILDREN,
    "all_at_once": ALL_AT_ONCE,
    "empty": rows(stores=[], items=[], sales=[]),
}


@pytest.mark.parametrize("foreign_keys", [False, True], ids=["naive", "optimised"])
@pytest.mark.parametrize(("since", "upto"), list(itertools.permutations(STATES, 2)))
def test_from_any_state_to_any_other(since: str, upto: str, foreign_keys: bool) -> None:
    check_history(STAR, SHOP, [STATES[since], STATES[upto]], foreign_keys=foreign_keys)


def reads(sql: str, after: Rows, before: Rows = BEFORE) -> set[tuple[str, State]]:
    step = Step(SHOP, before, after)
    return {(s.table, s.at) for s in Subject.of(sql, SHOP).maintenance(step, foreign_keys=True).scans}


def test_inserted_parents_are_not_a_term() -> None:
    """Nothing starts from ΔP, and sales is read through its delta only."""
    found = reads(STAR, PARENT_INSERTED)
    assert ("stores", State.DELTA) not in found
    assert {at for table, at in found if table == "sales"} == {State.DELTA}


def test_deleted_parents_are_not_a_term_but_are_still_looked_up() -> None:
    found = reads(STAR, PARENT_DELETED)
    assert {at for table, at in found if table == "sales"} == {State.DELTA}
    assert {at for table, at in found if table == "stores"} == {State.AFTER, State.REMOVED}


def test_updated_parents_are_a_term() -> None:
    found = reads(STAR, PARENT_UPDATED)
    assert {at for table, at in found if table == "stores"} == {State.UPDATES}
    assert {at for table, at in found if table == "sales"} == {State.AFTER}


def test_parents_alone_change_nothing() -> None:
    """A new store without a sale: no row of the view can change, and the plan says so without a query."""
    step = Step(SHOP, BEFORE, changed(stores=[*BEFORE["stores"], (9, "Z", 1)]))
    assert Subject.of(STAR, SHOP).maintenance(step, foreign_keys=True).change is None
    assert Subject.of(STAR, SHOP).maintenance(step, foreign_keys=False).change is not None


def test_inserted_parents_and_children_are_insertions_only() -> None:
    plan = Subject.of(STAR, SHOP).maintenance(Step(SHOP, BEFORE, PARENT_INSERTED), foreign_keys=True)
    assert plan.inserts_only


def test_no_equality_on_the_whole_key_no_pruning() -> None:
    """A θ join does not follow the foreign key, so new parents are a term of their own."""
    theta = "SELECT s.id, t.id AS other FROM sales s JOIN stores t ON s.store <> t.id"
    assert ("stores", State.DELTA) in reads(theta, PARENT_INSERTED)
    for after in STATES.values():
        check_history(theta, SHOP, [BEFORE, after])


def test_a_key_that_is_referenced_in_part_is_not_followed() -> None:
    """The declaration names another column than the parent's key: UPDATES by key would miss rows."""
    tables = by_name(
        table("p", "id, code", "id"),
        table("c", "x, code", "", refers("code", "p", "code")),
    )
    before = rows(p=[(1, 7)], c=[(1, 7)])
    after = rows(p=[(2, 7)], c=[(1, 7)])
    check_history("SELECT c.x, p.id FROM c JOIN p ON c.code = p.code", tables, [before, after])


CHAIN = by_name(
    table("region", "id, name string", "id"),
    table("nation", "id, region, name string", "id", refers("region", "region")),
    table("customer", "id, nation, v", "id", refers("nation", "nation"), refers("nation", "nation")),
)
SNOWFLAKE = (
    "SELECT c.id, c.v, n.name AS nation, r.name AS region "
    "FROM customer c JOIN nation n ON c.nation = n.id JOIN region r ON n.region = r.id"
)
WORLD = {
    "old": rows(
        region=[(1, "E"), (2, "W")], nation=[(1, 1, "a"), (2, 2, "b")], customer=[(1, 1, 5), (2, 2, 6), (3, 1, 7)]
    ),
    "nation_moves_to_a_new_region": rows(
        region=[(1, "E"), (2, "W"), (3, "N")],
        nation=[(1, 3, "a"), (2, 2, "b")],
        customer=[(1, 1, 5), (2, 2, 6), (3, 1, 7)],
    ),
    "region_goes_its_nations_move": rows(
        region=[(2, "W")], nation=[(1, 2, "a"), (2, 2, "b")], customer=[(1, 1, 5), (2, 2, 6), (3, 1, 7)]
    ),
    "everything_moves": rows(
        region=[(2, "W2"), (4, "S")], nation=[(2, 4, "b"), (5, 2, "e")], customer=[(1, 5, 5), (2, 2, 6), (4, 5, 8)]
    ),
    "none": rows(region=[], nation=[], customer=[]),
}


@pytest.mark.parametrize("foreign_keys", [False, True], ids=["naive", "optimised"])
@pytest.mark.parametrize(("since", "upto"), list(itertools.permutations(WORLD, 2)))
def test_parents_that_are_children_too(since: str, upto: str, foreign_keys: bool) -> None:
    """A nation is a parent of customers and a child of a region: regions change first, then nations."""
    check_history(SNOWFLAKE, CHAIN, [WORLD[since], WORLD[upto]], foreign_keys=foreign_keys)


@pytest.mark.parametrize("foreign_keys", [False, True], ids=["naive", "optimised"])
def test_a_table_that_refers_to_itself(foreign_keys: bool) -> None:
    tables = by_name(table("emp", "id, boss, pay", "id", refers("boss", "emp")))
    states = [
        rows(emp=[(1, None, 9), (2, 1, 5), (3, 1, 4)]),
        rows(emp=[(1, None, 10), (2, 4, 5), (4, 1, 7)]),
        rows(emp=[(4, 4, 7), (5, 4, 1)]),
        rows(emp=[]),
    ]
    sql = "SELECT e.id, e.pay, b.pay AS boss_pay FROM emp e JOIN emp b ON e.boss = b.id"
    check_history(sql, tables, states, foreign_keys=foreign_keys)


@pytest.mark.parametrize("foreign_keys", [False, True], ids=["naive", "optimised"])
def test_foreign_keys_in_a_circle_are_left_alone(foreign_keys: bool) -> None:
    tables = by_name(
        table("x", "id, y_id", "id", refers("y_id", "y")),
        table("y", "id, x_id", "id", refers("x_id", "x")),
    )
    states = [
        rows(x=[(1, 1), (2, None)], y=[(1, 2), (2, 1)]),
        rows(x=[(1, 3), (3, 3)], y=[(3, 1), (4, None)]),
        rows(x=[], y=[]),
    ]
    sql = "SELECT x.id AS a, y.id AS b FROM x JOIN y ON x.y_id = y.id AND y.x_id = x.id"
    check_history(sql, tables, states, foreign_keys=foreign_keys)


@pytest.mark.parametrize("foreign_keys", [False, True], ids=["naive", "optimised"])
def test_aggregates_over_pruned_joins(foreign_keys: bool) -> None:
    sql = "SELECT city, COUNT(*) AS n, SUM(price) AS total FROM sales s JOIN stores t ON s.store = t.id GROUP BY city"
    for after in STATES.values():
        check_history(sql, SHOP, [BEFORE, after, BEFORE], foreign_keys=foreign_keys)


def test_the_key_of_a_star_is_the_key_of_its_fact() -> None:
    """Parents are looked up by their whole keys, so a sale is in the view at most once."""
    assert Subject.of(STAR, SHOP).view.extent.key == ("id",)

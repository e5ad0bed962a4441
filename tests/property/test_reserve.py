"""The first rows of an order, with a reserve: kept from changes while it lasts, and derived anew when it is used up."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.kept import Kept
from tests.law import Subject
from tests.property.cases import check_states
from tests.property.random_tables import PARENTS_FIRST, history
from tests.rules.tables import by_name, table
from tests.steps import Rows

from rollview.algebra.relation import State
from rollview.algebra.scalar import literal
from rollview.plan.maintain import maintain
from rollview.plan.reserve import SPARE
from rollview.plan.timing import timing
from rollview.rules.dispatch import Shape

if TYPE_CHECKING:
    from rollview.algebra.schema import Tables

TABLES = {t.name: t for t in PARENTS_FIRST}
VIEWS = {
    "by_key": "SELECT id, a FROM r ORDER BY a DESC NULLS LAST, id LIMIT 2",
    "ascending": "SELECT id, a FROM r ORDER BY a, id LIMIT 1",
    "nulls_last": "SELECT id, a FROM r ORDER BY a NULLS LAST, b DESC NULLS FIRST, id LIMIT 2",
    "offset": "SELECT a FROM r ORDER BY b NULLS LAST, id LIMIT 2 OFFSET 1",
    "of_a_bag": "SELECT x, y FROM u ORDER BY x DESC LIMIT 2",
    "any_rows": "SELECT x FROM u LIMIT 2",
    "by_truth": "SELECT x, p FROM u ORDER BY p DESC, x LIMIT 2 OFFSET 1",
    "by_an_expression": "SELECT id, a + 1 AS c, 2 * b AS d FROM r WHERE id > 0 ORDER BY a - b DESC, c LIMIT 2",
    "named_as_the_place": "SELECT id AS place, a FROM r ORDER BY a, id LIMIT 2",
    "of_a_join": "SELECT s.id, r.a FROM s JOIN r ON s.r_id = r.id ORDER BY r.a DESC, s.c LIMIT 2",
    "of_an_outer_join": "SELECT s.id, r.a FROM s LEFT JOIN r ON s.r_id = r.id ORDER BY r.a DESC NULLS FIRST LIMIT 2",
    "of_a_union": "SELECT x FROM u UNION ALL SELECT a FROM r ORDER BY x NULLS LAST LIMIT 3",
    "of_a_subquery": "SELECT id FROM r WHERE a IN (SELECT x FROM u) ORDER BY b DESC LIMIT 2",
    "of_groups_below": "SELECT q.n, r.id FROM (SELECT x, COUNT(*) AS n FROM u GROUP BY x) q JOIN r ON r.a = q.x "
    "ORDER BY q.n DESC, r.id LIMIT 2",
    "selected_again": "SELECT id FROM (SELECT id, a FROM r ORDER BY b, id LIMIT 3) q WHERE a > 0",
    "with_ties": "SELECT id, a FROM r QUALIFY RANK() OVER (ORDER BY a DESC) <= 2",
    "with_ties_and_their_rank": "SELECT RANK() OVER (ORDER BY x) AS n, n + y AS m, x FROM u QUALIFY n < 4",
    "the_second": "SELECT id, b FROM r QUALIFY ROW_NUMBER() OVER (ORDER BY b DESC, id) = 2",
    "some_in_between": "SELECT id FROM r QUALIFY ROW_NUMBER() OVER (ORDER BY b, id) BETWEEN 2 AND 3 AND a > 0",
    "of_no_column": "SELECT 1 AS one FROM u LIMIT 2",
    "nothing": "SELECT id FROM r ORDER BY id LIMIT 0",
}


def kept_with(sql: str, spare: int, state: Rows, tables: Tables = TABLES) -> Kept:
    subject = Subject.of(sql, tables)
    extent = subject.view.extent
    assert extent.reserve is not None
    reserve = replace(extent.reserve, spare=spare)
    extent = replace(extent, reserve=reserve, rows=reserve.chosen(reserve.source))
    subject.view = replace(subject.view, extent=extent)
    return Kept.of(subject, state)


@pytest.mark.parametrize("sql", VIEWS.values(), ids=VIEWS)
def test_the_law_while_the_reserve_lasts_and_when_it_is_used_up(sql: str) -> None:
    rng = Random(sql)
    derived = bounded = 0
    for number in range(24):
        states = history(rng, 8)
        kept = kept_with(sql, 1 + number % 2, states[0])
        kept.check()
        for state in states[1:]:
            kept.advance(state)
            kept.check()
            bounded += kept.stock.bound is not None
        derived += kept.derived
    assert bounded
    assert derived or "LIMIT 0" in sql


SALES = by_name(table("sales", "id, shop, price, name string", "id"), table("shops", "id, city string", "id"))
DEAREST = "SELECT id, price, name FROM sales ORDER BY price DESC, name LIMIT 10"


def sales(ids: range) -> Rows:
    return {"sales": Counter((i, i % 4, i // 2, f"item {i % 3}") for i in ids), "shops": Counter()}


def test_deletions_of_shown_rows_rarely_derive_anew() -> None:
    """One hundred of them, one at a time, and each is the first row that is shown."""
    kept = kept_with(DEAREST, SPARE, sales(range(400)), SALES)
    for last in range(399, 299, -1):
        shown = kept.subject.read(kept.step, kept.rows)
        assert max(row[0] for row in shown) == last
        kept.advance(sales(range(last)))
        kept.check()
    assert (kept.derived, kept.cut) == (0, 0)
    for last in range(299, 199, -1):
        kept.advance(sales(range(last)))
    kept.check()
    assert (kept.derived, kept.cut) == (1, 0)


def test_what_comes_before_the_bound_is_cut_back_when_it_is_too_much() -> None:
    kept = kept_with(DEAREST, 2, sales(range(5)), SALES)
    assert kept.stock.bound is None
    kept.advance(sales(range(90)))
    kept.check()
    assert (kept.derived, kept.cut, kept.stock.bound is None) == (0, 0, True)
    kept.advance(sales(range(100)))
    kept.check()
    assert (kept.derived, kept.cut, kept.stock.rows) == (0, 1, 12)


def test_rows_that_all_tie_are_not_cut_back_again_and_again() -> None:
    sql = "SELECT id, shop FROM sales QUALIFY RANK() OVER (ORDER BY shop) <= 3"
    kept = kept_with(sql, 1, sales(range(400)), SALES)
    assert kept.stock.rows == 100
    for last in (398, 396, 404):
        kept.advance(sales(range(last)))
        kept.check()
    assert (kept.derived, kept.cut) == (0, 0)


@pytest.mark.parametrize(
    ("sql", "changed", "read"),
    [
        (DEAREST, "sales", set()),
        ("SELECT name FROM sales WHERE shop > 1 LIMIT 3", "sales", set()),
        ("SELECT s.id, city FROM sales s JOIN shops ON shop = shops.id ORDER BY price LIMIT 3", "sales", {"shops"}),
    ],
)
def test_while_the_reserve_lasts_only_changes_are_read(sql: str, changed: str, read: set[str]) -> None:
    view = Subject.of(sql, SALES).view
    reserve = view.extent.reserve
    assert reserve is not None
    bound = tuple(literal(1).tree for _ in reserve.order)
    plan = maintain(view, {changed: Shape()}, SALES, bound=bound)
    assert {s.table for s in plan.scans if s.at is not State.DELTA} == read
    assert "RV-WINDOW-WHOLE" not in view.notes
    assert timing(view).reason == "RV-NOT-PROPAGATED"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM sales ORDER BY id OFFSET 2",
        "SELECT id FROM sales QUALIFY DENSE_RANK() OVER (ORDER BY price) <= 2",
        "SELECT id FROM sales QUALIFY SUM(price) OVER (ORDER BY id) <= 2",
        "SELECT id FROM sales QUALIFY RANK() OVER (ORDER BY price) <= 2 OR shop = 1",
        "SELECT id FROM sales QUALIFY RANK() OVER (ORDER BY price) > 2",
        "SELECT id, LAG(id) OVER (ORDER BY price, id) AS l FROM sales QUALIFY RANK() OVER (ORDER BY price) <= 2",
        "SELECT COUNT(*) AS n FROM (SELECT id FROM sales ORDER BY id LIMIT 3) q",
        "SELECT q.id FROM (SELECT id FROM sales ORDER BY id LIMIT 3) q JOIN shops ON q.id = shops.id",
    ],
)
def test_other_windows_have_no_reserve(sql: str) -> None:
    assert Subject.of(sql, SALES).view.extent.reserve is None


def test_more_rows_than_are_stored() -> None:
    """Random views, too, are followed up to their bound."""
    subject = Subject.of("SELECT p.y FROM u p CROSS JOIN u q ORDER BY p.x, q.y LIMIT 4", TABLES)
    one = Counter({(i, i % 3, True): 1 for i in range(12)})
    other = Counter({(i, i % 2, None): 1 for i in range(4, 15)})
    none: Rows = {name: Counter() for name in TABLES}
    check_states(subject, [{**none, "u": one}, {**none, "u": other}, {**none, "u": one}])

"""The first rows of every group, with a reserve: kept from changes, and only groups that ran out are derived anew."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.apply_bags import rolled
from tests.duck import check_on_duckdb
from tests.law import Subject, check_steps, plain, rows_of
from tests.property.random_tables import PARENTS_FIRST, history
from tests.rules.tables import by_name, table
from tests.steps import Rows, Step

from rollview.algebra.relation import State
from rollview.algebra.walking import scans
from rollview.plan.extent import Kind
from rollview.plan.stages import CHANGED, EXTENT
from rollview.plan.timing import timing
from rollview.plan.visible import view_delta

if TYPE_CHECKING:
    from tests.apply_bags import Bound

    from rollview.algebra.interpreter import Bag
    from rollview.algebra.relation import Relation
    from rollview.algebra.schema import Tables
    from rollview.plan.group_reserve import GroupReserve

TABLES = {t.name: t for t in PARENTS_FIRST}
FIRST = "QUALIFY ROW_NUMBER() OVER (PARTITION BY"
VIEWS = {
    "by_key": f"SELECT id, a FROM r {FIRST} a ORDER BY b DESC, id) <= 1",
    "nulls_last": f"SELECT id, r_id FROM s {FIRST} r_id ORDER BY c NULLS LAST, id) <= 2",
    "nulls_first": f"SELECT id, e FROM v {FIRST} s_id ORDER BY e DESC NULLS FIRST, id) = 2",
    "of_a_bag": f"SELECT x, y FROM u {FIRST} x ORDER BY y) <= 2",
    "by_two": f"SELECT k, f FROM w {FIRST} k, l ORDER BY f DESC) <= 1",
    "by_an_expression": f"SELECT id, a + 1 AS c FROM r WHERE id > 0 {FIRST} a + b ORDER BY a - b DESC) <= 2",
    "by_its_key": f"SELECT k, l, d FROM t {FIRST} k ORDER BY l) <= 1",
    "with_ties": "SELECT x, p FROM u QUALIFY RANK() OVER (PARTITION BY p ORDER BY x) <= 2",
    "with_their_rank": "SELECT y, RANK() OVER (PARTITION BY y ORDER BY x) AS n, n + y AS m FROM u QUALIFY n < 3",
    "some_in_between": f"SELECT id FROM v {FIRST} r_id ORDER BY e, id) BETWEEN 2 AND 3 AND id > 0",
    "of_a_join": f"SELECT s.id, r.a FROM s JOIN r ON s.r_id = r.id {FIRST} r.a ORDER BY s.c DESC, s.id) <= 2",
    "of_an_outer_join": f"SELECT s.id, r.a FROM s LEFT JOIN r ON s.r_id = r.id {FIRST} r.a ORDER BY s.c) <= 2",
    "the_second_of_a_full_join": "SELECT u.x <> v.e AS c FROM v FULL JOIN u ON v.r_id <> u.y "
    "QUALIFY RANK() OVER (PARTITION BY v.id < 2, v.e = v.e ORDER BY v.id NULLS FIRST) = 2",
    "of_a_union": "SELECT x FROM (SELECT x, y FROM u UNION ALL SELECT a, b FROM r) q "
    "QUALIFY RANK() OVER (PARTITION BY x ORDER BY y NULLS LAST) <= 1",
    "of_groups_below": "SELECT q.n, r.id FROM (SELECT x, COUNT(*) AS n FROM u GROUP BY x) q JOIN r ON r.a = q.x "
    f"{FIRST} q.n ORDER BY r.b, r.id) <= 1",
    "as_a_subquery": "SELECT id, a FROM (SELECT id, a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b, id) AS n FROM r) "
    "q WHERE n <= 2 AND id > 1",
}


def subject_of(sql: str, tables: Tables = TABLES, spare: int = 1) -> Subject:
    """Few are in reserve, so that it is often used up, or full."""
    subject = Subject.of(sql, tables)
    kept = replace(reserve(subject), spare=spare)
    extent = replace(subject.view.extent, group_reserve=kept, rows=kept.chosen(kept.source))
    subject.view = replace(subject.view, extent=extent)
    return subject


def reserve(subject: Subject) -> GroupReserve:
    found = subject.view.extent.group_reserve
    assert found is not None
    return found


@pytest.mark.parametrize("sql", VIEWS.values(), ids=VIEWS)
def test_the_law_while_reserves_last_and_when_they_are_used_up(sql: str) -> None:
    rng = Random(sql)
    for number in range(16):
        subject, states = subject_of(sql, spare=1 + number % 2), history(rng, 6)
        for foreign_keys in (True, False):
            check_steps(subject, states, foreign_keys=foreign_keys)


@pytest.mark.parametrize("sql", VIEWS.values(), ids=VIEWS)
def test_the_same_on_duckdb(sql: str) -> None:
    rng = Random(sql)
    for number in range(3):
        check_on_duckdb(subject_of(sql), history(rng, 3), [(0, 1), (1, 2), (0, 2)], through_spark=number % 2 == 0)


@pytest.mark.parametrize("sql", VIEWS.values(), ids=VIEWS)
def test_views_above_are_told_what_readers_see(sql: str) -> None:
    rng = Random(sql)
    for _ in range(8):
        subject, (before, after) = subject_of(sql), history(rng, 2)
        Refreshed(subject, before).advance(after)


class Refreshed:
    """An extent through the stages of its refreshes; which tables they read, and how many groups were suspect."""

    def __init__(self, subject: Subject, state: Rows) -> None:
        self.subject = subject
        self.state = state
        self.rows = subject.stored(Step(subject.tables, state, state))
        self.read: set[str] = set()

    def advance(self, after: Rows) -> None:
        step = Step(self.subject.tables, self.state, after)
        plan = self.subject.maintenance(step, foreign_keys=True)
        self.state = after
        if plan.change is None:
            return
        last: list[tuple[Relation, Bag]] = []

        def run(node: Relation, bound: Bound) -> Bag:
            self.read |= {s.table for s in scans(node) if s.table in step.tables and s.at is not State.DELTA}
            last.append((node, rows_of(node, step, bound)))
            return last[-1][1]

        extent, before = self.subject.view.extent, self.rows
        self.rows = rolled(extent, plan, before, run)
        self.subject.check(step, self.rows)
        node, change = last[-1]
        told = Counter(self.subject.read(step, before))
        bound: Bound = {CHANGED: (node.names, change), EXTENT: (extent.columns, before)}
        for (*row, count), n in rows_of(view_delta(extent).relation, step, bound).items():
            told[tuple(row)] += count * n
        assert plain(told) == self.subject.read(step, self.rows)


SALES = by_name(table("sales", "id, shop, price", "id"), table("shops", "id, city string", "id"))
DEAREST = "SELECT id, shop, price FROM sales QUALIFY ROW_NUMBER() OVER (PARTITION BY shop ORDER BY price DESC, id) <= 2"


def sales(ids: range) -> Rows:
    return {"sales": Counter((i, i % 4, i // 2) for i in ids), "shops": Counter()}


def test_deletions_of_shown_rows_rarely_derive_anew() -> None:
    """Each deletes the first row of every shop; three are in reserve."""
    kept = Refreshed(subject_of(DEAREST, SALES, spare=3), sales(range(400)))
    for last in (396, 392, 388):
        kept.advance(sales(range(last)))
    assert not kept.read and kept.rows.total() == 4 * 2
    kept.advance(sales(range(384)))
    assert kept.read == {"sales"} and kept.rows.total() == 4 * 5


def test_the_newest_rows_of_a_group_do_not_pile_up() -> None:
    """They always come first; the stored ones are cut back without a look at the table."""
    kept = Refreshed(subject_of(DEAREST, SALES, spare=1), sales(range(40)))
    most = 0
    for last in range(44, 160, 4):
        kept.advance(sales(range(last)))
        most = max(most, kept.rows.total())
    assert not kept.read and 4 * 9 < most <= 4 * 12


def test_rows_behind_the_stored_ones_are_no_change() -> None:
    kept = Refreshed(subject_of(DEAREST, SALES), sales(range(40, 80)))
    before = kept.rows
    kept.advance(sales(range(20, 80)))
    assert kept.rows == before and not kept.read


def test_what_is_known_of_it() -> None:
    view = subject_of(DEAREST, SALES).view
    assert view.extent.kind is Kind.KEYED and view.extent.key == ("shop", "id")
    assert view.extent.visible_key == ("id",)
    assert timing(view).reason == "RV-NOT-PROPAGATED"
    assert "RV-WINDOW-WHOLE" not in view.notes


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM sales QUALIFY DENSE_RANK() OVER (PARTITION BY shop ORDER BY price) <= 2",
        "SELECT id FROM sales QUALIFY RANK() OVER (PARTITION BY shop ORDER BY price) > 2",
        "SELECT id FROM sales QUALIFY RANK() OVER (PARTITION BY shop ORDER BY price) <= 2 OR shop = 1",
        "SELECT id FROM sales QUALIFY RANK() OVER (PARTITION BY shop ORDER BY price) <= 0",
        "SELECT COUNT(*) AS n FROM (SELECT id FROM sales QUALIFY RANK() OVER (PARTITION BY shop ORDER BY id) <= 2) q",
    ],
)
def test_other_windows_have_no_reserve(sql: str) -> None:
    assert Subject.of(sql, SALES).view.extent.group_reserve is None

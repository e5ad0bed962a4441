"""Gupta and Mumick, Incremental Maintenance of Aggregate and Outerjoin Expressions: Examples 1 to 4.

Figures 1(b) and 2(b), which print the instance, are lost in our text. The instance below is ours, made so that every
number that the text mentions comes out: CategorySales is <C1, 690, 4>, <C2, 210, 2>; the change is <C1, 170, 3>,
<C2, 120, 2>.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.duck import check_on_duckdb
from tests.law import Subject, check_history, rows_of
from tests.rules.tables import by_name, table
from tests.steps import Rows, Step, rows

from rollview.algebra.relation import State
from rollview.names import COUNT

TABLES = by_name(
    table("stores", "storeID, city string, state string", "storeID"),
    table("items", "itemID, category string"),  # an item can belong to several categories
    table("sales", "storeID, itemID, date date, price"),
)
SI_SALES = (
    "SELECT storeID, itemID, sum(price) AS SumSISales, count(*) AS NumSISales "
    "FROM sales WHERE date > DATE'1995-01-01' GROUP BY storeID, itemID"
)
CITY_SALES = (
    f"WITH SISales AS ({SI_SALES}) SELECT city, sum(SumSISales) AS SumCiSales, sum(NumSISales) AS NumCiSales "
    "FROM SISales, stores WHERE SISales.storeID = stores.storeID GROUP BY city"
)
CATEGORY_SALES = (
    f"WITH SISales AS ({SI_SALES}) SELECT category, sum(SumSISales) AS SumCaSales, sum(NumSISales) AS NumCaSales "
    "FROM SISales, items WHERE SISales.itemID = items.itemID GROUP BY category"
)
VIEWS = (SI_SALES, CITY_SALES, CATEGORY_SALES)

OLD_SALES = [
    (1, 1, "1995-02-01", 200),
    (1, 1, "1995-02-02", 150),
    (2, 1, "1995-03-01", 140),
    (3, 2, "1995-03-05", 200),
    (2, 3, "1995-04-01", 110),
    (3, 3, "1995-04-02", 100),
    (1, 1, "1994-12-31", 999),  # before 1/1/95: no view counts it
]
NEW_SALES = [
    (1, 1, "1995-05-01", 60),
    (2, 2, "1995-05-01", 70),
    (4, 1, "1995-05-02", 40),
    (3, 3, "1995-05-02", 50),
    (1, 3, "1995-05-03", 70),
    (1, 2, "1995-01-01", 888),  # on the day itself: not after it
]


def instance(sales: Sequence[tuple[object, ...]]) -> Rows:
    return rows(
        stores=[(1, "SF", "CA"), (2, "LA", "CA"), (3, "LA", "CA"), (4, "NY", "NY")],
        items=[(1, "C1"), (2, "C1"), (3, "C2")],
        sales=sales,
    )


BEFORE = instance(OLD_SALES)
INSERTED = instance(OLD_SALES + NEW_SALES)
C2_DELETED = instance([s for s in OLD_SALES if s[1] != 3])


def view_at(sql: str, state: Rows) -> dict[tuple[object, ...], int]:
    return dict(Subject.of(sql, TABLES).meant(Step(TABLES, state, state)))


def change_table(sql: str, after: Rows) -> dict[object, tuple[int, int]]:
    """□V: by key, the change of the sum and of the count."""
    subject = Subject.of(sql, TABLES)
    step = Step(TABLES, BEFORE, after)
    plan = subject.maintenance(step, foreign_keys=True)
    assert plan.change is not None
    names = plan.change.names
    total, count = next(i for i, n in enumerate(names) if n.startswith("__sum")), names.index(COUNT)
    return {row[0]: (row[total], row[count]) for row in rows_of(plan.change, step)}


def refreshed(sql: str, after: Rows) -> dict[tuple[object, ...], int]:
    subject = Subject.of(sql, TABLES)
    step = Step(TABLES, BEFORE, after)
    stored = subject.stored(Step(TABLES, BEFORE, BEFORE))
    return dict(subject.read(step, subject.advance(step, stored, foreign_keys=True)))


def test_example_1_the_views_before() -> None:
    assert view_at(CATEGORY_SALES, BEFORE) == {("C1", 690, 4): 1, ("C2", 210, 2): 1}
    assert view_at(CITY_SALES, BEFORE) == {("SF", 350, 2): 1, ("LA", 550, 4): 1}


def test_example_1_the_change_table_of_category_sales() -> None:
    assert change_table(CATEGORY_SALES, INSERTED) == {"C1": (170, 3), "C2": (120, 2)}


def test_example_1_refresh_adds_the_change_to_the_view() -> None:
    assert refreshed(CATEGORY_SALES, INSERTED) == {("C1", 860, 7): 1, ("C2", 330, 4): 1}
    assert refreshed(CITY_SALES, INSERTED) == {("SF", 480, 4): 1, ("LA", 670, 6): 1, ("NY", 40, 1): 1}


def test_example_3_deletion_at_zero_removes_the_group() -> None:
    """θ = (same category and the counts' sum is not 0: update; same category and it is 0: delete)."""
    assert change_table(CATEGORY_SALES, C2_DELETED) == {"C2": (-210, -2)}
    assert refreshed(CATEGORY_SALES, C2_DELETED) == {("C1", 690, 4): 1}


@pytest.mark.parametrize(("sql", "looked_up"), [(CITY_SALES, "stores"), (CATEGORY_SALES, "items")])
@pytest.mark.parametrize("after", [INSERTED, C2_DELETED], ids=["insertions", "deletions"])
def test_example_4_sales_is_read_through_its_delta_only(sql: str, looked_up: str, after: Rows) -> None:
    """□V₂ = π(□V₁ ⋈ stores) and □V₃ = π(□V₁ ⋈ items), although SISales is not stored anywhere."""
    plan = Subject.of(sql, TABLES).maintenance(Step(TABLES, BEFORE, after), foreign_keys=True)
    assert {(s.table, s.at) for s in plan.scans} == {("sales", State.DELTA), (looked_up, State.AFTER)}


def test_example_4_the_change_tables_compose() -> None:
    """□CitySales, derived in one go, is the sum of □SISales looked up in stores."""
    step = Step(TABLES, BEFORE, INSERTED)
    subject = Subject.of(SI_SALES, TABLES)
    plan = subject.maintenance(step, foreign_keys=True)
    assert plan.change is not None
    assert plan.change.names[:2] == ("storeID_2", "itemID_2")
    total, count = plan.change.names.index("__sum_sum_price"), plan.change.names.index(COUNT)
    cities = {row[0]: row[1] for row in INSERTED["stores"]}
    by_city: dict[object, tuple[int, int]] = {}
    for row in rows_of(plan.change, step):
        old = by_city.get(cities[row[0]], (0, 0))
        by_city[cities[row[0]]] = (old[0] + row[total], old[1] + row[count])
    assert by_city == change_table(CITY_SALES, INSERTED)


@pytest.mark.parametrize("sql", VIEWS, ids=["SISales", "CitySales", "CategorySales"])
def test_every_view_keeps_the_law(sql: str) -> None:
    states = [BEFORE, INSERTED, C2_DELETED, instance([]), BEFORE]
    check_history(sql, TABLES, states)
    check_on_duckdb(Subject.of(sql, TABLES), states, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 2)])

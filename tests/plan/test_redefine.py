"""Which part of what is stored stays when the query of a view is replaced."""

from __future__ import annotations

import pytest
from tests.pure_typer import PureTyper
from tests.rules.tables import SHOP, by_name
from tests.rules.tables import table as given

from rollview.plan.compile import CompiledView, compile_view
from rollview.plan.emit import emit, sql, table
from rollview.plan.redefine import Stays, redefined, stored_alike

SALES = "SELECT city, SUM(price) AS total, COUNT(*) AS n FROM sales JOIN stores ON store = stores.id GROUP BY city"
ROWS = "SELECT sales.id, city, price FROM sales JOIN stores ON store = stores.id WHERE price > 10 AND region = 2"
OUTER = "SELECT stores.id, city, price FROM stores LEFT JOIN sales ON store = stores.id"
FIRST = "SELECT id, store, ROW_NUMBER() OVER (PARTITION BY store ORDER BY price, id) AS place FROM sales"
TOP = "SELECT id, price FROM sales ORDER BY price DESC LIMIT 5"

MEANS_THE_SAME = {
    "spaces, comments and case": (
        SALES,
        "select city, -- !\n sum(price) total, COUNT(*) n from SALES join STORES on store = stores.id group by city",
    ),
    "other aliases of tables": (
        SALES,
        "SELECT t.city, SUM(s.price) AS total, COUNT(*) AS n FROM sales s JOIN stores t ON s.store = t.id GROUP BY 1",
    ),
    "a CTE for a table": (SALES, f"WITH sales AS (SELECT * FROM sales) {SALES}"),
    "the order of the tables": (
        SALES,
        "SELECT city, SUM(price) AS total, COUNT(*) AS n FROM stores JOIN sales ON store = stores.id GROUP BY city",
    ),
    "the order of conditions": (
        ROWS,
        "SELECT sales.id, city, price FROM sales, stores WHERE region = 2 AND store = stores.id AND price > 10",
    ),
    "a window": (FIRST, FIRST.replace("FROM sales", "FROM (SELECT id, store, price, item FROM sales) x")),
}
READERS_SEE_SOMETHING_ELSE = {
    "a column renamed": (SALES, SALES.replace("AS total", "AS sum")),
    "columns in another order": (SALES, SALES.replace("city, SUM(price) AS total", "SUM(price) AS total, city")),
    "a sum that is gone": (SALES, SALES.replace("SUM(price) AS total, ", "")),
    "an average from the sum that is there": (SALES, SALES.replace("COUNT(*) AS n", "SUM(price) / COUNT(*) AS mean")),
    "HAVING": (SALES, f"{SALES} HAVING COUNT(*) > 3"),
    "HAVING gone": (f"{SALES} HAVING COUNT(*) > 3", SALES),
    "the best groups": (SALES, f"{SALES} ORDER BY total DESC, city LIMIT 3"),
    "rows: a column renamed": (ROWS, ROWS.replace("price FROM", "price AS amount FROM")),
    "rows: columns in another order": (ROWS, ROWS.replace("sales.id, city", "city, sales.id")),
    "rows: a column less": (ROWS, ROWS.replace("city, ", "")),
    "rows: without the key": (ROWS, ROWS.replace("sales.id, ", "")),
    "outer join: a column less": (OUTER, OUTER.replace(", city", "")),
    "window: a column less": (FIRST, FIRST.replace("store, ROW", "ROW")),
}
IS_BUILT_ANEW = {
    "a column more": (SALES, SALES.replace("COUNT(*) AS n", "COUNT(*) AS n, MAX(price) AS most")),
    "another condition": (ROWS, ROWS.replace("> 10", "> 11")),
    "a condition less": (ROWS, ROWS.replace(" AND region = 2", "")),
    "another group": (SALES, SALES.replace("city", "region")),
    "a group more": (SALES, SALES.replace("GROUP BY city", "GROUP BY city, region")),
    "another table": (ROWS, "SELECT items.id, category, price FROM sales JOIN items ON item = items.id"),
    "an outer join for an inner one": (
        "SELECT stores.id, city, price FROM stores JOIN sales ON store = stores.id",
        OUTER,
    ),
    "the other outer join": (OUTER, OUTER.replace("LEFT", "RIGHT")),
    "padded before and after": (
        "SELECT s.id, p FROM stores s LEFT JOIN (SELECT store, COALESCE(price, 0) AS p FROM sales) x ON store = s.id",
        "SELECT s.id, COALESCE(price, 0) AS p FROM stores s LEFT JOIN sales ON store = s.id",
    ),
    "the other side of a self-join": (
        "SELECT a.id, a.price FROM sales a JOIN sales b ON a.id = b.item",
        "SELECT a.id, b.price FROM sales a JOIN sales b ON a.id = b.item",
    ),
    "a filter below a window": (FIRST, f"{FIRST} WHERE price > 10"),
    "fewer first rows": (TOP, TOP.replace("LIMIT 5", "LIMIT 3")),
    "first rows of another order": (TOP, TOP.replace("DESC", "ASC")),
    "all rows for the first": (TOP, TOP.replace(" ORDER BY price DESC LIMIT 5", "")),
    "distinct rows": ("SELECT store FROM sales", "SELECT DISTINCT store FROM sales"),
    "a union without duplicates": (
        "SELECT store FROM sales UNION ALL SELECT id FROM stores",
        "SELECT store FROM sales UNION SELECT id FROM stores",
    ),
    "a union with the sides of a column exchanged": (
        "SELECT store AS x, item AS y FROM sales UNION ALL SELECT id, region FROM stores",
        "SELECT store AS x, item AS y FROM sales UNION ALL SELECT region, id FROM stores",
    ),
    "NOT EXISTS for EXISTS": (
        "SELECT id FROM stores WHERE EXISTS (SELECT 1 FROM sales WHERE store = stores.id)",
        "SELECT id FROM stores WHERE NOT EXISTS (SELECT 1 FROM sales WHERE store = stores.id)",
    ),
    "a constant": ("SELECT id, 1 AS one FROM stores", "SELECT id, 2 AS one FROM stores"),
    "other rows of VALUES": ("SELECT * FROM VALUES (1), (2) AS v(x)", "SELECT * FROM VALUES (1), (3) AS v(x)"),
}


def compiled(text: str) -> CompiledView:
    return compile_view(text, SHOP, PureTyper(SHOP))


@pytest.mark.parametrize("case", MEANS_THE_SAME)
def test_a_query_that_means_the_same(case: str) -> None:
    old, new = map(compiled, MEANS_THE_SAME[case])
    assert redefined(old, new).stays is Stays.ALL


@pytest.mark.parametrize("case", READERS_SEE_SOMETHING_ELSE)
def test_a_query_over_the_same_rows(case: str) -> None:
    old, new = map(compiled, READERS_SEE_SOMETHING_ELSE[case])
    found = redefined(old, new)
    assert found.stays is Stays.ROWS
    assert found.view.extent.rows == old.extent.rows and found.view.output == new.output


@pytest.mark.parametrize("case", IS_BUILT_ANEW)
def test_a_query_over_other_rows(case: str) -> None:
    old, new = map(compiled, IS_BUILT_ANEW[case])
    assert redefined(old, new).stays is Stays.NOTHING


def test_what_is_stored_stays_through_several_redefinitions() -> None:
    """Each new query is compared with what is stored, not with the query before it."""
    first = compiled(SALES)
    second = redefined(first, compiled(SALES.replace("SUM(price) AS total, ", ""))).view
    third = redefined(second, compiled(SALES))
    assert third.stays is Stays.ROWS and third.view.extent.reader == first.extent.reader


def test_a_view_over_a_view_that_got_other_columns() -> None:
    """Their order does not matter to who reads two of them; one that takes a name for itself does."""

    query = "SELECT stores.id, SUM(v.b) AS s FROM v JOIN stores ON v.a = stores.id GROUP BY stores.id"

    def over(columns: str) -> CompiledView:
        tables = by_name(*SHOP.values(), given("v", columns))
        return compile_view(query, tables, PureTyper(tables))

    assert stored_alike(over("a, b"), over("b, c, a"))
    assert not stored_alike(over("a, b"), over("a, b, id"))
    assert not stored_alike(over("a, b"), over("a, b decimal(10,2)"))


def test_the_reader_computes_the_new_columns_of_what_is_stored() -> None:
    new = redefined(compiled(ROWS), compiled(ROWS.replace("sales.id, city, price", "price AS amount, sales.id AS no")))
    assert sql(emit(new.view.extent.reader, lambda _: table("extent"))) == (
        "SELECT `__extent`.`price` AS `amount`, `__extent`.`id` AS `no` FROM `extent` AS `__extent`"
    )
    assert new.view.extent.visible_key == ("no",)

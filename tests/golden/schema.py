"""The tables of the golden views, and rows for them that have exactly the changes a view's file names."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.rules.tables import by_name, refers, table

from rollview.algebra.clock import CLOCK_TABLE
from rollview.names import CLOCK
from rollview.rules.dispatch import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.steps import Rows

TABLES = by_name(
    table("r", "a, b"),
    table("s", "b, c bigint"),
    table("stores", "id, city string, region string", "id"),
    table("items", "id, category string, cost decimal(10,2)", "id"),
    table(
        "sales",
        "id, store, item, day date, price decimal(10,2), weight double",
        "id",
        refers("store", "stores"),
        refers("item", "items"),
    ),
    CLOCK_TABLE,
)

Tuples = list[tuple[Any, ...]]


def sale(number: int, store: int | None, item: int | None, price: str | None, weight: float | None) -> tuple[Any, ...]:
    return number, store, item, f"2024-01-{number % 27 + 1:02}", None if price is None else Decimal(price), weight


STANDING: dict[str, Tuples] = {
    "r": [(1, 1), (1, 1), (2, 1), (None, 2), (3, None), (7, 7)],
    "s": [(1, 10), (1, 10), (2, None), (None, 5), (7, 1)],
    "stores": [(1, "Oslo", "N"), (2, "Oslo", "N"), (3, "Rome", "S")],
    "items": [(1, "tea", Decimal("1.10")), (2, "salt", None), (3, "tea", Decimal("2.25"))],
    "sales": [
        sale(1, 1, 1, "9.99", 1.5),
        sale(2, 1, 2, None, None),
        sale(3, 2, 3, "0.01", float("inf")),
        sale(4, 3, 1, "5.50", 0.25),
        sale(5, None, 2, "7.00", 2.0),
    ],
    CLOCK: [],
}
LEAVING: dict[str, Tuples] = {
    "r": [(2, 2), (1, 1)],
    "s": [(1, 10), (5, 5)],
    "stores": [(9, "Nice", "S")],
    "items": [(9, "oil", Decimal("3.00"))],
    "sales": [sale(80, 2, 1, "4.00", float("nan")), sale(81, 3, 3, "6.00", 1.0)],
    CLOCK: [("2024-01-03 10:00:00", "2024-01-03")],
}
ARRIVING: dict[str, Tuples] = {
    "r": [(2, 2), (5, None), (5, None), (8, 5)],
    "s": [(2, 20), (2, 20), (5, None)],
    "stores": [(10, "Rome", "S"), (11, "Bari", "S")],
    "items": [(10, "tea", Decimal("0.99"))],
    "sales": [sale(101, 1, 2, "1.25", 3.0), sale(102, 2, None, "2.50", float("-inf"))],
    CLOCK: [("2024-01-05 11:00:00", "2024-01-05")],
}
UPDATED: dict[str, tuple[Tuples, Tuples]] = {
    "stores": ([(4, "Bonn", "N")], [(4, "Rome", "S")]),
    "items": ([(4, "oil", Decimal("1.00"))], [(4, "tea", None)]),
    "sales": ([sale(50, 1, 1, "1.00", 1.0)], [sale(50, 3, 2, "2.00", None)]),
}


def states(shapes: Mapping[str, Shape]) -> tuple[Rows, Rows]:
    """The tables before and after; children follow parents that come and go if they themselves may change so."""
    before: Rows = {}
    after: Rows = {}
    for name in TABLES:
        shape = shapes.get(name, Shape(inserts=False, deletes=False, updates=False))
        old, new = UPDATED.get(name, ([], []))
        before[name] = Counter([*STANDING[name], *old, *(LEAVING[name] if shape.deletes else [])])
        after[name] = Counter(
            [*STANDING[name], *(new if shape.updates else old), *(ARRIVING[name] if shape.inserts else [])]
        )
    sales, stores = shapes.get("sales"), shapes.get("stores")
    if sales and stores and sales.deletes and stores.deletes:
        before["sales"][sale(90, 9, 1, "3.33", 1.0)] += 1
    if sales and stores and sales.inserts and stores.inserts:
        after["sales"][sale(110, 10, 1, "4.44", 1.0)] += 1
    return before, after

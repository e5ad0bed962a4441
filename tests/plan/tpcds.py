"""The 99 TPC-DS queries and their tables, as DuckDB's extension gives them, and tiny random histories.

Rows are made of the constants that a query compares a column with, so that it finds some of them.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Any

import duckdb
from sqlglot import exp, parse_one

from rollview.algebra.schema import BaseTable, Column

if TYPE_CHECKING:
    from random import Random

    from tests.steps import Rows

    from rollview.algebra.evaluate import Row
    from rollview.algebra.schema import Tables

FACTS = {
    "store_sales": "ss_item_sk ss_ticket_number",
    "store_returns": "sr_item_sk sr_ticket_number",
    "catalog_sales": "cs_item_sk cs_order_number",
    "catalog_returns": "cr_item_sk cr_order_number",
    "web_sales": "ws_item_sk ws_order_number",
    "web_returns": "wr_item_sk wr_order_number",
    "inventory": "inv_date_sk inv_item_sk inv_warehouse_sk",
}
"""their keys; that of any other table is its first column"""


@cache
def generator() -> duckdb.DuckDBPyConnection:
    """A database with the empty tables."""
    folder = files("duckdb_extension_tpcds") / "extensions" / f"v{duckdb.__version__}"
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute(f"LOAD '{folder / 'tpcds.duckdb_extension'}'; CALL dsdgen(sf=0)")
    return connection


def tables() -> Tables:
    found: dict[str, list[Column]] = {}
    columns = generator().execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal "
        "ORDER BY table_name, column_index"
    )
    for name, column, type_ in columns.fetchall():
        found.setdefault(name, []).append(Column(column, spark_type(type_)))
    return {n: BaseTable(n, tuple(cs), tuple(FACTS.get(n, cs[0].name).split())) for n, cs in found.items()}


def spark_type(type_: str) -> str:
    return {"VARCHAR": "string", "INTEGER": "int"}.get(type_, type_.lower())


def texts() -> dict[int, str]:
    """By number, as DuckDB reads them."""
    return dict(generator().execute("SELECT query_nr, query FROM tpcds_queries()").fetchall())


TABLES = tables()
TYPES = {c.name: c.type for t in TABLES.values() for c in t.columns}
TEXTS = texts()
QUERIES = {number: parse_one(text, read="duckdb").sql("spark") for number, text in TEXTS.items()}


def small(number: int) -> exp.Expr:
    """The query with low bounds for what it counts, which few rows can reach."""
    tree = parse_one(TEXTS[number], read="duckdb")
    counts = {a.alias for a in tree.find_all(exp.Alias) if isinstance(a.this, exp.Count)}
    for test in tree.find_all(exp.GT, exp.GTE, exp.Between):
        bound = test.args.get("low") or test.expression
        if (isinstance(test.this, exp.Count) or test.this.name in counts) and isinstance(bound, exp.Literal):
            bound.replace(exp.Literal.number(1))
    return tree


def rolls_up(tree: exp.Expr) -> bool:
    return any(g.args.get("rollup") or g.find(exp.Rollup) for g in tree.find_all(exp.Group))


COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Like)


def constants(number: int) -> dict[str, list[Any]]:
    """What the query compares each column with, and what is just within its bounds."""
    tree = parse_one(TEXTS[number], read="duckdb")
    meant = {a.alias: a.this.name for a in tree.find_all(exp.Alias) if isinstance(a.this, exp.Column)}
    found: dict[str, list[Any]] = {}
    for test in tree.find_all(*COMPARISONS):
        column = next((n for c in test.this.find_all(exp.Column) if (n := meant.get(c.name, c.name)) in TYPES), None)
        bounds = [v for name, v in test.args.items() if name in ("expression", "low", "high")]
        some = test.expressions[:: len(test.expressions) // 3 or 1]
        for value in [*bounds, *some] if column is not None else ():
            if not value.find(exp.Column, exp.Query) and (known := folded(value, TYPES[column])) is not None:
                found.setdefault(column, []).append(within(test, known))
    for test in tree.find_all(exp.EQ):
        pair = [next((c.name for c in side.find_all(exp.Column)), "") for side in (test.this, test.expression)]
        for a, b in (pair, pair[::-1]):
            if a in found and TYPES.get(b) == TYPES[a] == "string":
                found.setdefault(b, found[a])
    return found


def folded(tree: exp.Expr, type_: str) -> Any:
    if type_ == "string":
        return tree.name.strip("%") if isinstance(tree, exp.Literal) else None
    try:
        return generator().execute(f"SELECT CAST({tree.sql('duckdb')} AS {type_})").fetchall()[0][0]
    except duckdb.Error:
        return None


def within(test: exp.Expr, value: Any) -> Any:
    step = timedelta(days=1) if isinstance(value, date) else 1
    if isinstance(test, exp.GT | exp.LT) and not isinstance(value, str):
        return value + step if isinstance(test, exp.GT) else value - step
    return value


class Shop:
    """Makes rows of a query's tables."""

    def __init__(self, rng: Random, number: int) -> None:
        self.rng = rng
        self.constants = constants(number)
        near = self.days()
        far = [d + timedelta(n) for d in near for n in (1, 2, 3, 7, 30, 31, 59, 364, 366, 371, -1, -7)]
        self.calendar = list(dict.fromkeys([*rng.sample(near, min(len(near), 7)), *rng.sample(far, len(far))]))[
            : 2 * DAYS
        ]
        rng.shuffle(self.calendar)

    def days(self) -> list[date]:
        """Days that the query looks for."""
        known = self.constants.get
        months = [(m // 12 + 1900, m % 12 + 1) for m in known("d_month_seq", [])]
        months += [(int(q[:4]), 3 * int(q[5]) - 2) for q in known("d_quarter_name", [])]
        parts = [*known("d_moy", []), *(3 * q - 2 for q in known("d_qoy", []))]
        months += product(known("d_year", [] if months or known("d_date") else [2000]), parts or [1, 2])
        found = {date(y, m, d) for (y, m), d in product(months, known("d_dom", [1, 2, 9]))}
        return sorted({*found, *known("d_date", [])})

    def row(self, name: str, key: Row) -> Row:
        given = dict(zip(TABLES[name].key or (), key, strict=True))
        if name == "date_dim":
            given |= calendar_of(self.calendar[key[0] - 1 + self.rng.choice((0, DAYS))])
        return tuple(given[c.name] if c.name in given else self.value(c) for c in TABLES[name].columns)

    def value(self, column: Column) -> Any:
        known = self.constants.get(column.name)
        if known and self.rng.random() < 0.95:
            return self.rng.choice(known)
        if self.rng.random() < 0.04:
            return None
        if column.type in ("bigint", "int"):
            if column.name.endswith("_date_sk"):
                return self.rng.randint(1, DAYS)
            return self.rng.choice((1, 2, 3) if column.name.endswith("_sk") else (1, 2, 60))
        if column.type == "date":
            return date(2000, 1, self.rng.choice((1, 2)))
        if column.type == "string":
            return self.rng.choice(("x", "x", "x", "y"))
        return Decimal(self.rng.choice(("1.00", "1.00", "1.10", "7.50", "40.25")))


def calendar_of(day: date) -> dict[str, Any]:
    quarter = (day.month + 2) // 3
    return {
        "d_date": day,
        "d_month_seq": (day.year - 1900) * 12 + day.month - 1,
        "d_week_seq": (day - date(1899, 12, 31)).days // 7 + 1,
        "d_quarter_seq": (day.year - 1900) * 4 + quarter,
        "d_year": day.year,
        "d_dow": day.isoweekday() % 7,
        "d_moy": day.month,
        "d_dom": day.day,
        "d_qoy": quarter,
        "d_day_name": f"{day:%A}",
        "d_quarter_name": f"{day.year}Q{quarter}",
    }


DAYS = 6


def keys(name: str) -> list[Row]:
    """Those that a row may have."""
    if name == "inventory":
        return list(product(range(1, DAYS + 1), (1, 2), (1,)))
    if name in FACTS:
        return list(product((1, 2, 3), (1, 2, 3)))
    return [(i + 1,) for i in range(DAYS if name == "date_dim" else 3)]


SEEDS = {29: 20, 47: 21, 58: 35, 85: 14}
"""where to look first for a history in which a query finds something"""


def history(rng: Random, number: int, reads: frozenset[str], length: int) -> list[Rows]:
    """States of the tables that the query reads; the others are empty."""
    states: list[Rows] = [{name: Counter() for name in TABLES}]
    shop = Shop(rng, number)
    for _ in range(length):
        states.append({n: following(shop, n, states[-1][n]) if n in reads else Counter() for n in TABLES})
    return states[1:]


def following(shop: Shop, name: str, old: Counter[Row]) -> Counter[Row]:
    """Most rows stay; some go, some change, some come."""
    places = [[c.name for c in TABLES[name].columns].index(k) for k in TABLES[name].key or ()]
    before = {tuple(row[p] for p in places): row for row in old}
    rows = []
    for key in keys(name):
        chance, row = shop.rng.random(), before.get(key)
        if row is not None and chance < 0.8:
            rows.append(row)
        elif chance < (0.5 if row is None and name.endswith("_returns") else 0.92):
            rows.append(shop.row(name, key))
    return Counter(rows)

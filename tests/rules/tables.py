"""Small relations for the laws: R(a, b) and S(b, c) without keys, and a shop with keys and foreign keys."""

from __future__ import annotations

from sqlglot import parse_one

from rollview.algebra.relation import Relation, Scan
from rollview.algebra.scalar import Scalar
from rollview.algebra.schema import BaseTable, Column, ForeignKey, Tables


def table(name: str, columns: str, key: str = "", *foreign_keys: ForeignKey) -> BaseTable:
    """`columns` as ``name type, …``; the type is int where none is given."""
    parts = [c.split() for c in columns.split(", ")]
    given = tuple(Column(p[0], p[1] if len(p) > 1 else "int") for p in parts)
    return BaseTable(name, given, tuple(key.split()) or None, foreign_keys)


def by_name(*tables: BaseTable) -> Tables:
    return {t.name: t for t in tables}


def refers(columns: str, parent: str, referenced: str = "id") -> ForeignKey:
    return ForeignKey(tuple(columns.split()), parent, tuple(referenced.split()))


def scalar(text: str) -> Scalar:
    return Scalar(parse_one(text, read="spark"))


def scan(given: BaseTable, alias: str = "") -> Relation:
    """The table; its columns are called ``alias.column`` with an underscore."""
    stem = alias or given.name
    return Scan(given.name, tuple((c.name, f"{stem}_{c.name}") for c in given.columns))


R = table("r", "a, b")
S = table("s", "b, c")
BAGS = by_name(R, S)

STORES = table("stores", "id, city string, region", "id")
ITEMS = table("items", "id, category string, cost", "id")
SALES = table("sales", "id, store, item, price", "id", refers("store", "stores"), refers("item", "items"))
SHOP = by_name(STORES, ITEMS, SALES)

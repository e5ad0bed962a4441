"""The tables that the frontend's tests know."""

from __future__ import annotations

from tests.rules.tables import by_name, table

from rollview.algebra.schema import BaseTable, Column

STRUCT = Column("st", "struct<x:int,y:string>")
T = table("t", "a, b, s string, d date, f double")
TABLES = by_name(
    BaseTable("t", (*T.columns, STRUCT)),
    table("u", "a, c"),
    table("keyed", "id, v", "id"),
)

"""What is in scope while a query is being made: columns, the items of FROM, and the kinds of values."""

from __future__ import annotations

from dataclasses import dataclass, field

INT, BOOL = "int", "bool"
REAL, LIST = "real", "list"
"""averages, and arrays or texts of a group: carried, compared with NULL, counted and grouped, not computed with"""
DRIFT = "drift"
"""variances, which every engine rounds in its own way: carried and compared with NULL, not grouped"""
SIMPLE = (INT, BOOL)
COMPARABLE = (INT, BOOL, REAL, LIST)


@dataclass(frozen=True)
class Named:
    """A column in scope."""

    alias: str
    name: str
    kind: str


@dataclass
class Query:
    sql: str
    columns: list[tuple[str, str]]
    """name, kind"""

    def item(self, alias: str) -> Item:
        return Item(f"({self.sql}) AS {alias}", alias, [Named(alias, n, k) for n, k in self.columns])


@dataclass
class Item:
    """Something in FROM."""

    sql: str
    alias: str
    columns: list[Named]
    table: str | None = None


@dataclass
class Scope:
    items: list[Item]
    merged: set[str] = field(default_factory=set)
    """names that USING or NATURAL made one"""

    @property
    def columns(self) -> list[Named]:
        return [c for i in self.items for c in i.columns]

    def of(self, *kinds: str) -> list[Named]:
        return [c for c in self.columns if c.kind in kinds]

    def unique(self, column: Named) -> bool:
        return sum(c.name == column.name for c in self.columns) == 1

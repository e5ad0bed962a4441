"""Columns and base tables: what the compiler knows of the outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A typed column; `type` is Spark's own spelling, such as ``decimal(10,2)``."""

    name: str
    type: str
    nullable: bool = True


Schema = tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`columns` of the table that has it refer to the key `referenced` of `table`; the user vouches."""

    columns: tuple[str, ...]
    table: str
    referenced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BaseTable:
    """A relation that views read: a managed or attached table, or another view."""

    name: str
    columns: Schema
    key: tuple[str, ...] | None = None
    foreign_keys: tuple[ForeignKey, ...] = ()
    nulls_in_key: bool = False
    """True for a view: a group of NULLs is a group"""
    seen: tuple[tuple[str | None, str], ...] | None = None
    """for a view that was made over other columns: what those are now, None if they are gone, and what they were called
    then; None: it sees all columns as they are"""

    def __post_init__(self) -> None:
        known = {c.name.lower() for c in self.columns}
        if len(known) != len(self.columns):
            raise ValueError(f"duplicate column in {self.name}")
        for name in self.key or ():
            if name.lower() not in known:
                raise ValueError(f"key column {name} is not a column of {self.name}")

    @property
    def shown(self) -> tuple[tuple[str | None, str], ...]:
        """The columns that a query sees, each with its name there; None for one that is gone, whose name is taken."""
        return self.seen if self.seen is not None else tuple((c.name, c.name) for c in self.columns)

    def column(self, name: str) -> Column | None:
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)


Tables = Mapping[str, BaseTable]
"""Base tables by lower-case name."""

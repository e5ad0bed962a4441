"""Other columns of a table: added ones, others renamed, dropped or widened; and what a view over it is then.

A view means afterwards what it meant before. Where its text would mean something else (`*`, a renamed column, a name
that has become ambiguous), it goes on to see the columns that there were, by the names that they had.

Law: a view that sees the columns that there were has the algebra that it had, but for the names that its scans read. So
what is stored for it stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rollview.algebra.schema import BaseTable, Column, Schema, Tables
from rollview.errors import BadInput

WIDER = {("int", "bigint"), ("float", "double")}
DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


@dataclass(frozen=True, slots=True)
class Alter:
    """What carries the columns of a table to others. A name takes part once, so that a step can be repeated."""

    drop: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    widen: Mapping[str, str] = field(default_factory=dict)
    add: Schema = ()

    def fitted(self, table: BaseTable) -> Alter:
        """The same in the table's own spelling, if it can be done there."""
        spelled = {c.name.lower(): c.name for c in table.columns}
        asked = [*self.drop, *self.rename, *self.widen]
        made = [*self.rename.values(), *(c.name for c in self.add)]
        for name in asked:
            if name.lower() not in spelled:
                raise BadInput(f"{table.name} has no column {name!r}", code="RV-UNKNOWN-COLUMN")
        for name in made:
            if name.lower() in spelled:
                raise BadInput(f"{table.name} has a column {name!r} already", code="RV-DUPLICATE-COLUMN")
        every = [n.lower() for n in (*asked, *made)]
        for name in every:
            if every.count(name) > 1:
                raise BadInput(f"the column {name!r} is changed twice", code="RV-DUPLICATE-COLUMN")
        own = {c: spelled[c.lower()] for c in asked}
        fitted = Alter(
            tuple(own[c] for c in self.drop),
            {own[c]: to for c, to in self.rename.items()},
            {own[c]: to for c, to in self.widen.items()},
            self.add,
        )
        fitted.refuse_unfit(table)
        return fitted

    def refuse_unfit(self, table: BaseTable) -> None:
        needed = {*(table.key or ()), *(c for f in table.foreign_keys for c in f.columns)}
        types = {c.name: c.type for c in table.columns}
        for name in self.drop:
            if name in needed:
                raise BadInput(
                    f"{name!r} is part of a key of {table.name}", code="RV-ALTER", hint="columns of keys cannot go"
                )
        if len(self.drop) == len(types) and not self.add:
            raise BadInput(f"nothing would be left of {table.name}", code="RV-ALTER", hint="drop the table")
        for name, to in self.widen.items():
            if not is_wider(types[name], to):
                raise BadInput(
                    f"{name!r} is {types[name]} and cannot become {to}: not every value fits",
                    code="RV-ALTER",
                    hint="INT to BIGINT, FLOAT to DOUBLE, DECIMAL to one with more digits before the point",
                )
        for column in self.add:
            if not column.nullable:
                raise BadInput(
                    f"{column.name!r} cannot be NOT NULL: the rows that are there have no value for it",
                    code="RV-ALTER",
                    hint="add it without NOT NULL",
                )

    def now(self, column: str) -> str | None:
        """What a column is called now; None: it is gone."""
        return None if column in self.drop else self.rename.get(column, column)

    def bases(self, tables: Tables, name: str) -> dict[str, BaseTable]:
        """The tables when the one of that name has its new columns."""

        def renamed(columns: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(self.rename.get(c, c) for c in columns)

        found = dict(tables)
        for other, base in tables.items():
            keys = [replace(f, referenced=renamed(f.referenced)) if f.table == name else f for f in base.foreign_keys]
            if other == name:
                keys = [replace(f, columns=renamed(f.columns)) for f in keys]
                key = None if base.key is None else renamed(base.key)
                base = replace(base, columns=self.applied(base.columns), key=key)
            found[other] = replace(base, foreign_keys=tuple(keys))
        return found

    def applied(self, columns: Schema) -> Schema:
        kept = [
            Column(self.rename.get(c.name, c.name), self.widen.get(c.name, c.type), c.nullable)
            for c in columns
            if c.name not in self.drop
        ]
        return (*kept, *self.add)

    def plain(self) -> dict[str, Any]:
        """As a definition holds it."""
        return {
            "drop": list(self.drop),
            "rename": dict(self.rename),
            "widen": dict(self.widen),
            "add": [[c.name, c.type] for c in self.add],
        }

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Alter:
        added = tuple(Column(name, type_) for name, type_ in plain["add"])
        return Alter(tuple(plain["drop"]), plain["rename"], plain["widen"], added)


def is_wider(old: str, new: str) -> bool:
    """Does every value of one type have a place in the other, and Iceberg a way there?"""
    here, there = DECIMAL.fullmatch(old), DECIMAL.fullmatch(new)
    if here and there:
        return here[2] == there[2] and int(here[1]) < int(there[1])
    return (old, new) in WIDER

"""A relation of the warehouse, as the compiler and the runtime see it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rollview.algebra.schema import BaseTable, Column, ForeignKey, Schema
from rollview.catalog.relations import Relation
from rollview.catalog.store import ControlStore
from rollview.frontend.references import through
from rollview.lake.lake import Lake
from rollview.lake.refs import TableRef, engine_table, user_table
from rollview.names import extent_table, log_table


@dataclass(frozen=True, slots=True)
class Stored:
    """A relation of the warehouse, as the compiler and the runtime see it."""

    base: BaseTable
    relation: Relation

    @property
    def name(self) -> str:
        return self.relation.name

    @property
    def place(self) -> str:
        """What its tables are named after: its own name, or the one under which it was built beside another view."""
        return str(self.definition.get("place", self.name))

    @property
    def log(self) -> TableRef:
        return engine_table(log_table(self.place))

    @property
    def extent(self) -> TableRef:
        """Where its rows are kept; an attached table has none of ours."""
        return engine_table(extent_table(self.place)) if self.relation.kind == "view" else user_table(self.name)

    @property
    def text(self) -> str:
        """A view's query, as Spark can run it: with its columns as they are called now."""
        return through(self.definition["sql"], self.definition.get("sees", {}))

    @property
    def definition(self) -> Mapping[str, Any]:
        return self.relation.definition


def stored(relation: Relation) -> Stored:
    columns: Schema = tuple(Column(c.name, c.type, c.nullable) for c in relation.columns)
    references = tuple(
        ForeignKey(tuple(fk["columns"]), fk["table"], tuple(fk["referenced"]))
        for fk in relation.definition.get("foreign_keys", ())
    )
    of_view = relation.kind == "view"
    return Stored(BaseTable(relation.name.lower(), columns, relation.key, references, of_view), relation)


def bytes_of(lake: Lake, relation: Stored) -> int:
    """The size of a relation's files; of a table of others as it was last captured."""
    if relation.relation.kind == "attached":
        return int(relation.definition.get("bytes", 0))
    return lake.bytes(relation.extent)


def all_stored(control: ControlStore) -> dict[str, Stored]:
    """Every ready relation by lower-case name."""
    return {r.name.lower(): stored(r) for r in control.relations.list(state="ready")}


def fingerprint(sql: str, columns: tuple[str, ...]) -> str:
    """Which text and columns a view's stored rows were made from."""
    return hashlib.sha256("\x00".join([sql, *columns]).encode()).hexdigest()[:16]

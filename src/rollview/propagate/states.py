"""The state of a relation at a tick, as something that FROM can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlglot
from sqlglot import exp

from rollview.catalog import ControlStore
from rollview.catalog.stored import Stored
from rollview.errors import SourceError
from rollview.lake.arrow import arrow_schema
from rollview.lake.lake import Lake, to_table
from rollview.names import delta_view


class States:
    """Reads relations as of a tick. Temporary views that it makes are dropped by `close`."""

    def __init__(self, lake: Lake, control: ControlStore, relations: Mapping[str, Stored]) -> None:
        self.lake = lake
        self.control = control
        self.relations = relations
        self.bound: set[str] = set()

    def snapshot(self, name: str, tick: int) -> int | None:
        """The Iceberg snapshot that holds the relation at a tick; None if it was still empty."""
        relation = self.relations[name].relation
        if relation.kind == "attached":
            return self.control.ticks.snapshot_of(relation.name, tick)
        found = self.control.marks.extent_snapshot(relation.name, tick)
        if found is None and tick >= relation.created_tick:
            return None
        if found is None:
            raise SourceError(
                f"{relation.name} has no state at tick {tick}",
                code="RV-NO-STATE",
                hint=f"it exists since tick {relation.created_tick}",
            )
        return found.snapshot_id

    def at(self, name: str, tick: int) -> exp.Table:
        """The relation's rows at a tick, as something that FROM can read."""
        target = self.relations[name]
        snapshot = self.snapshot(name, tick)
        if snapshot is None:
            return self.keep(delta_view(name, f"at{tick}"), arrow_schema(target.base.columns).empty_table())
        if target.relation.kind == "attached":
            return versioned(to_table(target.definition["table"]), snapshot)
        if target.relation.kind == "table":
            return versioned(target.extent.tree(), snapshot)
        reader = reader_at(target, snapshot)
        return self.keep(delta_view(name, f"at{tick}"), reader)

    def keep(self, name: str, rows: Any) -> exp.Table:
        self.bound.add(name)
        return self.lake.bind(name, rows)

    def close(self) -> None:
        self.lake.unbind(self.bound)
        self.bound.clear()


def versioned(tree: exp.Table, snapshot: int) -> exp.Table:
    copy = tree.copy()
    copy.set("version", exp.Version(this="VERSION", expression=exp.Literal.number(snapshot), kind="AS OF"))
    return copy


def reader_at(view: Stored, snapshot: int) -> exp.Expr:
    """The reader's query over an earlier state of the extent."""
    query = sqlglot.parse_one(view.definition["reader"], read="spark")
    for found in list(query.find_all(exp.Table)):
        found.replace(versioned(found, snapshot))
    return query

"""How relations come and go: names checked, storage made and dropped, half-made ones cleaned up.

A relation is registered before anything is stored for it and becomes ready when all is there. Whoever makes, drops or
refreshes it holds its lease, so what is neither ready nor held was left behind by a dead process and may be dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from rollview.algebra.schema import BaseTable, Column, ForeignKey, Schema
from rollview.capture.attached import attach
from rollview.capture.iceberg import IcebergCapture
from rollview.catalog import ColumnInfo, ControlStore, Lease, Relation
from rollview.catalog.stored import stored
from rollview.errors import BadInput, SourceError
from rollview.lake.arrow import check_types, parse_schema
from rollview.lake.lake import Lake
from rollview.lake.refs import user_table
from rollview.names import is_reserved
from rollview.plan.compile import refuse_ungroupable
from rollview.status import ready
from rollview.steps import reached

NAME = re.compile(r"[^\W\d]\w{0,127}")
PATIENCE = 120.0
ACCESS = ("versioned", "present", "none")
"""how a table's rows can be read: as of a version, or only as they are"""


class Registry:
    """Makes and drops what is stored for relations."""

    def __init__(self, lake: Lake, control: ControlStore) -> None:
        self.lake = lake
        self.control = control

    @contextmanager
    def lease(self, name: str, wait: float = PATIENCE) -> Iterator[Lease]:
        """Only one process at a time makes, drops or refreshes a relation."""
        with self.control.leases.hold(f"relation:{name.lower()}", wait=wait) as lease:
            yield lease

    @contextmanager
    def making(self, name: str, *, part: bool = False) -> Iterator[None]:
        """The name is free while the body makes the relation; if it fails, nothing is left of it."""
        if not part and (not NAME.fullmatch(name) or is_reserved(name)):
            raise BadInput(
                f"{name[:80]!r} cannot be the name of a table or view",
                code="RV-NAME",
                hint="letters, digits and underscores, not starting with a digit or two underscores",
            )
        with self.lease(name):
            self.drop_unfinished(name)
            if self.control.relations.find(name) is not None:
                raise BadInput(
                    f"{name!r} exists already", code="RV-RELATION-EXISTS", hint="drop it first, or take another name"
                )
            try:
                yield
            except Exception:
                with suppress(Exception):  # what was wrong in the first place is what the user must hear
                    self.drop_unfinished(name)
                raise

    # --- base tables ----------------------------------------------------------------------------------

    def create_table(
        self,
        name: str,
        columns: str,
        key: Sequence[str] | None,
        foreign_keys: Mapping[str, str],
        cluster: Sequence[str],
        access: str,
    ) -> None:
        if access not in ACCESS:
            raise BadInput(f"there is no access {access!r}", code="RV-ACCESS", hint=", ".join(ACCESS))
        with self.making(name):
            schema = parse_schema(columns)
            refuse_unfit(schema)
            base = self.base(name, schema, key, foreign_keys)
            refuse_unknown(name, schema, cluster)
            if base.key is None:
                refuse_ungroupable(schema)
            target = stored(self.register("table", base, {"cluster": list(cluster), "access": access}))
            reached("create_table.registered")
            self.lake.create_log(target.log, schema)
            reached("create_table.logged")
            self.lake.create_extent(target.extent, schema)
            reached("create_table.created")
            self.control.relations.set_state(name, "ready")

    def attach(self, name: str, table: str, key: Sequence[str] | None, foreign_keys: Mapping[str, str]) -> None:
        with self.making(name):
            reader = IcebergCapture(self.lake.spark, table)
            schema: Schema = tuple(Column(c.name, c.type, c.nullable) for c in reader.columns())
            refuse_unfit(schema)
            base = self.base(name, schema, key, foreign_keys)
            definition = {"source": "iceberg", "table": table, "bytes": reader.size()}
            fields = {c.name: c.field_id for c in reader.columns()}
            shown = {c.name: c.name for c in schema}
            target = stored(self.register("attached", base, {**definition, "fields": fields, "shown": shown}))
            reached("attach.registered")
            self.lake.create_log(target.log, schema)
            self.lake.create_reader(name, table, [c.name for c in schema])
            reached("attach.shown")
            attach(self.control, target.name, reader.position())
            reached("attach.captured")
            self.control.relations.set_state(name, "ready")

    def base(self, name: str, schema: Schema, key: Sequence[str] | None, foreign_keys: Mapping[str, str]) -> BaseTable:
        lower = [c.name.lower() for c in schema]
        for column in lower:
            if lower.count(column) > 1:
                raise BadInput(f"{name} has two columns named {column!r}", code="RV-DUPLICATE-COLUMN")
        if key is not None and (not key or isinstance(key, str)):
            raise BadInput("a key is a list of one or more columns", code="RV-KEY", hint="key=['id']")
        refuse_unknown(name, schema, [*(key or ()), *foreign_keys])
        names = {c.name.lower(): c.name for c in schema}
        references = tuple(self.foreign_key(name, names, c, t) for c, t in foreign_keys.items())
        return BaseTable(name, schema, tuple(names[k.lower()] for k in key) if key else None, references)

    def foreign_key(self, name: str, names: Mapping[str, str], column: str, table: str) -> ForeignKey:
        parent = self.control.relations.find(table)
        if parent is None or parent.key is None or len(parent.key) != 1:
            raise BadInput(
                f"{name}.{column} cannot refer to {table!r}",
                code="RV-FOREIGN-KEY",
                hint="a foreign key refers to a table with a key of one column",
            )
        return ForeignKey((names[column.lower()],), parent.name.lower(), parent.key)

    def register(self, kind: Any, base: BaseTable, definition: dict[str, Any]) -> Relation:
        return self.control.relations.create(
            base.name,
            kind,
            [ColumnInfo(c.name, c.type, c.nullable) for c in base.columns],
            key=base.key,
            definition={**definition, "foreign_keys": plain(base.foreign_keys)},
            created_tick=self.control.ticks.last_tick(),
        )

    # --- the end --------------------------------------------------------------------------------------

    def drop(self, name: str, *kinds: str) -> None:
        """A ready relation of one of the kinds, which no view reads."""
        name = ready(self.control, name, *kinds).name
        with self.lease(name):
            self.control.relations.set_state(name, "dropping")
            reached("drop.marked")
            self.drop_unfinished(name)

    def drop_retired(self, *, of: str | None = None, before: datetime | None = None) -> None:
        """What views were before they were replaced: of one view, or of all that were replaced before a time."""
        for relation in self.control.replacements.retired(of=of, before=before):
            with self.lease(relation.name):
                self.drop_unfinished(relation.name)

    def drop_unfinished(self, name: str) -> None:
        """Everything that is stored for a relation that is not ready, then its name; can be repeated after a crash."""
        relation = self.control.relations.find(name)
        if relation is not None and relation.state == "ready":
            return
        self.drop_retired(of=name.lower())
        if relation is not None:
            self.drop_stored(relation)
        for part in reversed(self.parts_of(name)):
            with self.lease(part.name):
                self.control.relations.set_state(part.name, "dropping")
                self.drop_stored(part)

    def parts_of(self, view: str) -> list[Relation]:
        """The parts of a view, each after what it reads."""
        return [r for r in self.control.relations.list() if r.definition.get("part_of") == view.lower()]

    def drop_stored(self, relation: Relation) -> None:
        target = stored(relation)
        purge = "retired" in relation.definition
        if relation.kind != "table":
            self.lake.drop(user_table(target.name), view=True)
        if relation.kind != "attached":
            self.lake.drop(target.extent, purge=purge)
        reached("drop.dropped")
        self.lake.drop(target.log, purge=purge)
        reached("drop.emptied")
        self.control.relations.delete(target.name)

    def recover(self) -> None:
        """Drop what a dead process left half-made; views go before what they read."""
        for relation in reversed(self.control.relations.list()):
            owner = relation.definition.get("part_of") or relation.name
            alone = self.control.relations.find(owner) is None
            if alone or (relation.state != "ready" and "retired" not in relation.definition):
                with suppress(SourceError), self.lease(owner, wait=0.0):  # held: somebody is at it
                    self.drop_unfinished(owner)


def plain(references: Iterable[ForeignKey]) -> list[dict[str, Any]]:
    """Foreign keys as a definition holds them."""
    return [{"columns": list(f.columns), "table": f.table, "referenced": list(f.referenced)} for f in references]


def refuse_unfit(schema: Schema) -> None:
    """Names that are ours, and types that cannot be stored."""
    check_types(schema)
    for column in schema:
        if is_reserved(column.name):
            raise BadInput(
                f"names that start with two underscores are reserved: {column.name!r}", code="RV-RESERVED-NAME"
            )


def refuse_unknown(table: str, schema: Schema, wanted: Sequence[str]) -> None:
    known = {c.name.lower() for c in schema}
    for name in wanted:
        if name.lower() not in known:
            raise BadInput(f"{table} has no column {name!r}", code="RV-UNKNOWN-COLUMN")

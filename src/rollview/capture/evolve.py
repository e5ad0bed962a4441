"""Schema evolution of attached tables. A column is its field id, as Iceberg has it, so

- a column that is added is not seen until the table is attached again;
- one that is renamed keeps the name under which it was attached;
- one that is dropped, or gets another type, goes or changes here as well; views that read it stay as they are until a
  refresh builds them anew, or until they are replaced (redefinition.py);
- one of a key, or a nested one that a view reads, stops the capture before anything is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from rollview.capture.iceberg.types import Column
from rollview.catalog import ColumnInfo, ControlStore, Relation
from rollview.catalog.stored import Stored, stored
from rollview.errors import SourceError
from rollview.lake.lake import Lake
from rollview.lake.refs import to_table
from rollview.plan.emit import ident, sql
from rollview.steps import reached

Columns = Mapping[str, Column | None]
"""a relation's columns by the names they have here, and what they are in the source; None: gone"""


def followed(table: Stored, columns: Sequence[Column]) -> Columns:
    found = {c.field_id: c for c in columns}
    return {c.name: found.get(table.definition["fields"][c.name]) for c in table.base.columns}


def evolve(lake: Lake, control: ControlStore, table: Stored, columns: Sequence[Column]) -> Stored:
    """The relation, brought up to the source's columns; each step may be repeated."""
    now = followed(table, columns)
    shown = {name: c.name for name, c in now.items() if c is not None}
    types = {c.name: c.type for c in table.base.columns}
    changed = {name: c for name, c in now.items() if c is None or c.type != types[name]}
    if not changed and shown == table.definition["shown"]:
        return table
    refuse_read(control, table, changed)
    kept = {name: c for name, c in now.items() if c is not None and (name not in changed or "<" not in c.type)}
    for name in changed:  # a nested column that nobody reads cannot follow, so it is dropped
        change = ["ALTER COLUMN", sql(ident(name)), "TYPE", kept[name].type] if name in kept else None
        change = change or ["DROP COLUMN IF EXISTS", sql(ident(name))]
        lake.run(" ".join(["ALTER TABLE", table.log.quoted(), *change]))
        reached("evolve.logged")
    source = to_table(table.definition["table"])
    lake.create_view(table.name, selected(source, kept, {name: c.type for name, c in kept.items()}))
    reached("evolve.shown")
    columns_now = [ColumnInfo(name, c.type, c.nullable) for name, c in kept.items()]
    definition = {**table.definition, "shown": {name: c.name for name, c in kept.items()}}
    return stored(control.relations.set_columns(table.name, columns_now, definition))


def refuse_read(control: ControlStore, table: Stored, changed: Columns) -> None:
    keys = {k.lower() for k in table.base.key or ()} | {c.lower() for f in table.base.foreign_keys for c in f.columns}
    for name, column in changed.items():
        views = control.relations.dependents_of(table.name)
        nested = column is not None and "<" in column.type
        readers = [v.name for v in views if name.lower() in keys or (nested and reads(v, table, name))]
        if readers or name.lower() in keys:
            problem = "is gone" if column is None else f"has another type: {column.type}"
            raise SourceError(
                f"the column {name!r} of {table.name} {problem}; it is read by {', '.join(readers) or 'its key'}",
                code="RV-SCHEMA-CHANGED",
                hint="drop those views, and create them again over the columns that there are now"
                if readers
                else "drop the table and attach it again",
            )


def reads(view: Relation, table: Stored, column: str) -> bool:
    return column.lower() in {c.lower() for c in view.definition["uses"].get(table.name.lower(), {})}


def selected(source: exp.Table, columns: Columns, types: Mapping[str, str]) -> exp.Select:
    """A state of the source under the names and types that the relation has here; NULL for a column that it lacks."""
    shown = []
    for name, column in columns.items():
        value: exp.Expr = exp.Null() if column is None else exp.Column(this=ident(column.name))
        if column is None or column.type != types[name]:
            value = exp.cast(value, types[name], dialect="spark")
        shown.append(exp.alias_(value, name, quoted=True))
    return exp.select(*shown).from_(source)

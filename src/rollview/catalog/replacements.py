"""Replacements: the moment at which a view is another, in one transaction.

Either the view gets another definition over the tables that it has, or another relation, built beside it, takes its
name and its readers; the one that it replaces waits under a name of its own until nobody reads its tables any more. If
views read it, the moment is a tick: at that tick the view changed, by no rows that anybody knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, select, update

from rollview.catalog.leases import Lease
from rollview.catalog.relations import ColumnInfo, Relation, changing, fold, relation_of, relations_by_name
from rollview.catalog.schema import dependency as dependency_table
from rollview.catalog.schema import relation as relation_table
from rollview.catalog.ticks import TableChange, TickCommit
from rollview.errors import SourceError
from rollview.names import retired_view

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rollview.catalog.database import Database
    from rollview.catalog.ticks import Ticks


@dataclass(frozen=True, slots=True)
class Moment:
    """The tick of a replacement, opened under the writer's lease."""

    lease: Lease
    tick: int


class Replacements:
    """Commits replacements, and remembers what was replaced."""

    def __init__(self, database: Database, ticks: Ticks) -> None:
        self._database = database
        self._ticks = ticks

    def redefine(
        self,
        view: Relation,
        columns: Sequence[ColumnInfo],
        key: Sequence[str] | None,
        definition: Mapping[str, Any],
        readers: Iterable[Relation] = (),
        moment: Moment | None = None,
    ) -> Relation:
        """Another definition over the same tables."""
        with changing(self._database) as connection:
            _require_unmoved(connection, view, readers)
            values = {
                "columns": [list(column) for column in columns],
                "key": None if key is None else list(key),
                "definition": dict(definition),
            }
            found = _update(connection, view, **values)
            self._commit(connection, found, moment)
            return found

    def swap(
        self,
        old: Relation,
        new: Relation,
        definition: Mapping[str, Any],
        readers: Iterable[Relation] = (),
        moment: Moment | None = None,
    ) -> Relation:
        """The relation `new` is the view from now on; what `old` was goes by another name."""
        edge = dependency_table.c
        with changing(self._database) as connection:
            _require_unmoved(connection, old, readers)
            retired = retired_view(old.name, old.id)
            for part in _parts(connection, old.name):
                _retire(connection, part, part.name, {"part_of": retired})
            for part in _parts(connection, new.name):
                _update(connection, part, definition={**part.definition, "part_of": fold(old.name)})
            place = {"place": old.definition.get("place", old.name), "was": fold(old.name)}
            _retire(connection, old, retired, place)
            connection.execute(update(dependency_table).where(edge.reads_id == old.id).values(reads_id=new.id))
            found = _update(
                connection, new, name=old.name, folded=fold(old.name), definition=dict(definition), state="ready"
            )
            self._commit(connection, found, moment)
            return found

    def retired(self, *, of: str | None = None, before: datetime | None = None) -> tuple[Relation, ...]:
        """Replaced relations that still have their tables: those of one view, or of those replaced before a time."""
        with self._database.read() as connection:
            rows = connection.execute(select(relation_table).where(relation_table.c.state == "dropping"))
            found = [relation_of(row) for row in rows]
        return tuple(
            r
            for r in found
            if "was" in r.definition
            and of in (None, r.definition["was"])
            and (before is None or datetime.fromisoformat(r.definition["retired"]) <= before)
        )

    def _commit(self, connection: Connection, view: Relation, moment: Moment | None) -> None:
        if moment is not None:
            changes = {view.name: TableChange(0, 0)}
            commit = TickCommit(moment.tick, None, self._database.clock(connection), changes)
            self._ticks.commit_in(connection, moment.lease, [commit])


def _require_unmoved(connection: Connection, view: Relation, readers: Iterable[Relation]) -> None:
    """Nobody has replaced the view, or begun to read it, since it was looked at."""
    edge = dependency_table.c
    now = relations_by_name(connection, [view.name], lock=True)[fold(view.name)]
    reading = set(connection.scalars(select(edge.view_id).where(edge.reads_id == view.id)))
    if now.id != view.id or now.state != "ready" or reading != {r.id for r in readers}:
        raise SourceError(
            f"{view.name} was replaced, or got another reader, in the meantime",
            code="RV-CONFLICT",
            hint="Nothing was changed; try again.",
            retryable=True,
        )


def _parts(connection: Connection, view: str) -> list[Relation]:
    found = [relation_of(row) for row in connection.execute(select(relation_table))]
    return [r for r in found if r.definition.get("part_of") == fold(view)]


def _retire(connection: Connection, relation: Relation, name: str, known: Mapping[str, Any]) -> None:
    """It reads nothing any more, so that what it read may go."""
    connection.execute(delete(dependency_table).where(dependency_table.c.view_id == relation.id))
    definition = {**relation.definition, **known, "retired": datetime.now(UTC).isoformat()}
    _update(connection, relation, name=name, folded=fold(name), definition=definition, state="dropping")


def _update(connection: Connection, relation: Relation, **values: Any) -> Relation:
    change = update(relation_table).where(relation_table.c.id == relation.id).values(values)
    return relation_of(connection.execute(change.returning(relation_table)).one())

"""The JDBC catalog as Python sees it: while the pointer to a table's metadata stays, what was read or committed before
is still the table."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import Identifier

from rollview.lake.pointer import metadata_pointer


class RememberingCatalog(SqlCatalog):
    """Reads metadata only where others have committed."""

    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **properties)
        self._known: dict[Sequence[str], Table] = {}

    def load_table(self, identifier: str | Identifier) -> Table:
        place = self.identifier_to_tuple(identifier)
        known = self._known.get(place)
        if known is None or known.metadata_location != self.location(place):
            known = self._known[place] = super().load_table(place)
        return copy(known)  # a commit through it must not show before it is one

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        done = super().commit_table(table, requirements, updates)
        self._known[table.name()] = Table(table.name(), done.metadata, done.metadata_location, table.io, self)
        return done

    def location(self, place: Identifier) -> str | None:
        """Where the table's metadata is now; None if there is no such table."""
        namespace = self.namespace_to_string(self.namespace_from(place))
        return metadata_pointer(self.engine, self.name, namespace, self.table_name_from(place))

"""The control tables of one warehouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rollview.catalog.database import Database
from rollview.catalog.history import History
from rollview.catalog.leases import Leases
from rollview.catalog.marks import Marks
from rollview.catalog.migrate import migrate
from rollview.catalog.relations import Relations
from rollview.catalog.replacements import Replacements
from rollview.catalog.steps import Steps
from rollview.catalog.ticks import Ticks

if TYPE_CHECKING:
    from os import PathLike
    from types import TracebackType


class ControlStore:
    """Opened from a file path or URL, usually that of the Iceberg catalog; makes its tables on first use.

    Safe to share between threads; other processes open their own.
    """

    def __init__(self, location: str | PathLike[str]) -> None:
        self._database = Database(location)
        try:
            migrate(self._database)
        except BaseException:
            self._database.close()
            raise
        self.relations = Relations(self._database)
        self.ticks = Ticks(self._database)
        self.replacements = Replacements(self._database, self.ticks)
        self.marks = Marks(self._database)
        self.steps = Steps(self._database)
        self.leases = Leases(self._database)
        self.history = History(self._database)

    @property
    def url(self) -> str:
        """Where the tables are, without passwords."""
        return self._database.safe_url

    def __repr__(self) -> str:
        return f"ControlStore({self.url!r})"

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

"""The warehouse that a command works on: found, checked, opened."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rollview.cli.options import CATALOG_VARIABLE, MEMORY_VARIABLE, WAREHOUSE_VARIABLE
from rollview.cli.output import progress
from rollview.errors import BadInput

if TYPE_CHECKING:
    from rollview.catalog import ControlStore
    from rollview.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Place:
    """A folder, and the catalog's URL where it is not the one in the folder."""

    path: Path
    catalog: str | None

    @classmethod
    def given(cls, warehouse: str | None, catalog: str | None) -> Place:
        if not warehouse:
            raise BadInput(
                "no warehouse is given",
                code="RV-NO-WAREHOUSE",
                hint=f"-w PATH, or set {WAREHOUSE_VARIABLE}; `rollview init PATH` makes one",
            )
        return cls(Path(warehouse).expanduser(), catalog or None)

    @property
    def url(self) -> str:
        return self.catalog or f"sqlite:///{(self.path / 'catalog.db').absolute()}"

    def exists(self) -> bool:
        """Are there control tables? Looks without making any."""
        from rollview.catalog.database import Database
        from rollview.catalog.migrate import version_of

        database = Database(self.url)
        try:
            if not database.is_postgres and not Path(database.url.database or "").is_file():
                return False
            with database.read() as connection:
                return version_of(connection) is not None
        finally:
            database.close()

    def control(self) -> ControlStore:
        """The control tables alone: no Spark, answers at once."""
        from rollview.catalog import ControlStore

        self.check()
        return ControlStore(self.url)

    def open(self) -> Warehouse:
        """The warehouse with its Spark."""
        self.check()
        return self.make()

    def make(self) -> Warehouse:
        """The warehouse, made if it is not there."""
        with progress("Starting Spark"):
            import rollview

            memory = os.environ.get(MEMORY_VARIABLE)
            options = {"driver_memory": memory} if memory else {}
            wh = rollview.open(self.path, catalog=self.catalog, **options)
        if threading.current_thread() is threading.main_thread():
            # Spark's own handler calls Java from inside the interrupted call to Java, which then fails instead.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return wh

    def check(self) -> None:
        if not self.exists():
            raise BadInput(
                f"there is no warehouse in {self.path}",
                code="RV-NO-WAREHOUSE",
                hint=f"make it with `rollview init {self.path}`"
                + ("" if self.catalog else f"; if its catalog is elsewhere, give --catalog or {CATALOG_VARIABLE}"),
            )

"""The checks of `rollview doctor`. Each stands on those before it; one that cannot run is skipped."""

from __future__ import annotations

import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rollview.cli.place import Place
from rollview.errors import BadInput, RollviewError

NEEDED_BYTES = 2 * 1024**3
PACKAGES = ("rollview", "pyspark", "pyiceberg", "sqlglot", "pyarrow", "sqlalchemy")


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: `ok` is None if it could not run."""

    check: str
    ok: bool | None
    detail: str
    hint: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Examination:
    """A scratch warehouse, made step by step, and the user's own, which is only looked at."""

    def __init__(self, place: Place | None, catalog: str | None, folder: Path) -> None:
        self.place = place
        self.catalog = catalog
        self.folder = folder
        self.warehouse: Any = None

    def versions(self) -> str:
        return f"Python {platform.python_version()}, " + ", ".join(f"{p} {version(p)}" for p in PACKAGES)

    def space(self) -> str:
        where = self.place.path if self.place else self.folder
        while not where.exists():
            where = where.parent
        free = shutil.disk_usage(where).free
        if free < NEEDED_BYTES:
            raise BadInput(
                f"{free / 1024**3:.1f} GiB free in {where}",
                code="RV-SPACE",
                hint=f"free at least {NEEDED_BYTES / 1024**3:.0f} GiB, or take another folder",
            )
        return f"{free / 1024**3:.0f} GiB free in {where}"

    def java(self) -> str:
        from rollview.lake.java import java

        path, release = java()
        return f"Java {release} in {path}"

    def jars(self) -> str:
        from rollview.lake.jars import jars

        found = jars()
        return f"{len(found)} in {found[0].parent}"

    def spark(self) -> str:
        import rollview

        clock = time.perf_counter()
        self.warehouse = rollview.open(self.folder)
        return f"Spark {self.warehouse.spark.version}, started in {time.perf_counter() - clock:.1f} s"

    def writing(self) -> str:
        """A table, a transaction, a view and a refresh, verified."""
        wh = self.warehouse
        wh.create_table("doctor", "id BIGINT, price DECIMAL(10,2)", key=["id"])
        with wh.transaction() as tx:
            tx.insert("doctor", [(1, "1.50"), (2, "2.50")])
        wh.create_view("doctor_total", "SELECT SUM(price) AS total FROM doctor")
        with wh.transaction() as tx:
            tx.delete("doctor", where="id = 1")
        report = wh.refresh("doctor_total")
        if not wh.verify("doctor_total").ok:
            raise BadInput("a small view differs from its recompute", code="RV-DOCTOR", hint="please report it")
        return f"a view refreshed ({report.strategy}) and verified, in {self.folder}"

    def pyiceberg(self) -> str:
        """Spark wrote; Python reads the same catalog."""
        from pyiceberg.catalog.sql import SqlCatalog

        uri = f"sqlite:///{(self.folder / 'catalog.db').absolute()}"
        rows = SqlCatalog("rollview", uri=uri).load_table("default.doctor").scan().to_arrow().num_rows
        if rows != 1:
            raise BadInput(f"pyiceberg sees {rows} rows, Spark 1", code="RV-DOCTOR", hint="please report it")
        return f"pyiceberg {version('pyiceberg')} reads what Spark wrote"

    def catalog_of_user(self) -> str:
        """The catalog that was given, or that of the given warehouse; nothing is made there."""
        from rollview.catalog import ControlStore
        from rollview.catalog.database import Database

        place = self.place
        if place is not None and place.exists():
            with ControlStore(place.url) as control:
                return f"{control.url}: tick {control.ticks.last_tick()}, {len(control.relations.list())} relations"
        if self.catalog is None:
            return "embedded; no warehouse was given" if place is None else f"no warehouse in {place.path} yet"
        database = Database(self.catalog)
        try:
            with database.read():
                return f"{database.safe_url} answers; no warehouse in it yet"
        finally:
            database.close()


def examine(place: Place | None, catalog: str | None) -> Iterator[tuple[str, Callable[[], Finding]]]:
    """The checks in order; each is run by the caller, who may show which one is running."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rollview-doctor-")))
        on = Examination(place, catalog, folder)
        stack.callback(lambda: on.warehouse.close() if on.warehouse is not None else None)
        failed: set[str] = set()
        checks: tuple[tuple[str, Callable[[], str], tuple[str, ...]], ...] = (
            ("versions", on.versions, ()),
            ("disk space", on.space, ()),
            ("Java", on.java, ()),
            ("jars", on.jars, ("Java",)),
            ("catalog", on.catalog_of_user, ()),
            ("Spark", on.spark, ("Java", "jars")),
            ("write and read", on.writing, ("Spark",)),
            ("pyiceberg", on.pyiceberg, ("write and read",)),
        )
        for check, method, needs in checks:
            missing = [n for n in needs if n in failed]
            yield check, partial(found, check, method, missing, failed)


def found(check: str, method: Callable[[], str], missing: list[str], failed: set[str]) -> Finding:
    if missing:
        failed.add(check)
        return Finding(check, None, f"needs {' and '.join(missing)}")
    try:
        return Finding(check, True, method())
    except RollviewError as error:
        failed.add(check)
        return Finding(check, False, error.message, error.hint)
    except Exception as error:
        from rollview.cli.problems import write_log

        failed.add(check)
        return Finding(
            check, False, f"{type(error).__name__}: {error}"[:200], f"the full report is in {write_log(error)}"
        )

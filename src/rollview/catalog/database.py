"""One database, SQLite or PostgreSQL: how to connect, begin, tell the time, and say what went wrong."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, func, make_url, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, OperationalError

from rollview.errors import BadInput, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_BUSY_MS = 30_000
_WRITES = "rollview_writes"


class Guards(threading.local):
    """What must hold, by thread, for a transaction that writes."""

    def __init__(self) -> None:
        self.checks: list[Callable[[Connection], None]] = []


class Database:
    """A pool of connections and the two kinds of transaction that the control tables need."""

    def __init__(self, location: str | PathLike[str]) -> None:
        self.url = parse_location(location)
        self.safe_url = _without_secrets(self.url)
        self.is_postgres = self.url.get_backend_name() == "postgresql"
        self.engine = _connect_lazily(self.url, self.is_postgres)
        self.guards = Guards()

    def __repr__(self) -> str:
        return f"Database({self.safe_url!r})"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with self._errors_translated(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, *, guarded: bool = True) -> Iterator[Connection]:
        """A transaction that commits unless its body raises; on SQLite the only writer from its start."""
        with self._errors_translated(), self.engine.connect() as connection:
            connection.execution_options(**{_WRITES: True})
            with connection.begin():
                for check in self.guards.checks if guarded else ():
                    check(connection)
                yield connection

    def clock(self, connection: Connection) -> datetime:
        """Now, by the clock that every process sharing this database agrees on."""
        if self.is_postgres:
            now: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
            return now.astimezone(UTC)
        return datetime.now(UTC)

    def put(self, connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows, or overwrite the other columns of those whose primary key is already there."""
        key = [column.name for column in table.primary_key]
        insert = postgresql.insert(table) if self.is_postgres else sqlite.insert(table)
        replaced = {name: insert.excluded[name] for name in rows[0] if name not in key}
        if replaced:
            statement = insert.on_conflict_do_update(index_elements=key, set_=replaced)
        else:
            statement = insert.on_conflict_do_nothing(index_elements=key)
        connection.execute(statement, rows)

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _errors_translated(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise self._explain(error) from None

    def _explain(self, error: DBAPIError) -> SourceError:
        reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
        for secret in _secrets(self.url):
            reason = reason.replace(secret, "***")
        if not self.is_postgres and "locked" in reason:
            return SourceError(
                f"the control database {self.safe_url} stayed locked for {_BUSY_MS // 1000} s",
                code="RV-CATALOG-BUSY",
                hint="Another process holds a long transaction on this file. Try again when it is done.",
                retryable=True,
            )
        hint = (
            "Is the server running, and do host, port, database, user and password fit?"
            if self.is_postgres
            else "Does the folder exist, may it be written, and is the file an SQLite database?"
        )
        return SourceError(
            f"the control database {self.safe_url} does not answer: {reason}",
            code="RV-CATALOG-OPEN",
            hint=hint,
            retryable=self.is_postgres and isinstance(error, OperationalError),
        )


def parse_location(location: str | PathLike[str]) -> URL:
    """A URL of SQLite or PostgreSQL; anything without `://` is the path of an SQLite file."""
    text = fspath(location)
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise _bad_location("the catalog's URL cannot be read") from None
    match url.get_backend_name():
        case "sqlite" if url.database and url.database != ":memory:":
            return url
        case "sqlite":
            raise _bad_location("the control tables need a file: a database in memory cannot be shared")
        case "postgresql" | "postgres":
            driver = url.drivername.partition("+")[2] or "psycopg2"
            if find_spec(driver) is None:
                raise BadInput(
                    f"the PostgreSQL driver {driver} is not installed",
                    code="RV-CATALOG-DRIVER",
                    hint="pip install psycopg2-binary",
                )
            return url.set(drivername=f"postgresql+{driver}")
        case other:
            raise _bad_location(f"a catalog in {other} is not supported")


def _bad_location(message: str) -> BadInput:
    hint = "Give a file path, sqlite:///path or postgresql://user:password@host/database."
    return BadInput(message, code="RV-CATALOG-URL", hint=hint)


def _without_secrets(url: URL) -> str:
    query = {name: "***" if "password" in name.lower() else value for name, value in url.query.items()}
    return url.set(query=query).render_as_string(hide_password=True)


def _secrets(url: URL) -> list[str]:
    given = [
        str(url.password or ""),
        *(str(url.query[name]) for name in url.query if "password" in name.lower()),
    ]
    return [secret for secret in given if secret]


def _connect_lazily(url: URL, is_postgres: bool) -> Engine:
    if is_postgres:
        return create_engine(url, pool_pre_ping=True, hide_parameters=True)
    engine = create_engine(url, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where _begin_sqlite says, not at the first INSERT
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    cursor.execute("PRAGMA foreign_keys = ON")
    if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        _switch_to_wal(cursor)
    cursor.close()


def _switch_to_wal(cursor: Any) -> None:
    """SQLite does not wait for others when it changes the journal mode, so we do."""
    deadline = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except Exception as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

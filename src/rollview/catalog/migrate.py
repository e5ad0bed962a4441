"""Bring the control tables to this code's version in one transaction, or refuse what a newer one wrote."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, column, func, inspect, select, table

from rollview.catalog.schema import VERSION_TABLE, VERSIONS
from rollview.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rollview.catalog.database import Database

_MIGRATION_LOCK = 0x726F6C6C  # "roll": the key of PostgreSQL's advisory lock while tables are made


def migrate(database: Database) -> None:
    """Alembic is slow to load, so it is not even imported when the version is already right."""
    with database.read() as connection:
        version = version_of(connection)
    if version == VERSIONS[-1]:
        return
    if version is not None and version not in VERSIONS:
        raise BadInput(
            f"the control tables in {database.safe_url} have version {version}, ours is {VERSIONS[-1]}",
            code="RV-CATALOG-NEWER",
            hint="A newer rollview has opened this warehouse. Upgrade this one.",
        )
    with database.write() as connection:
        if database.is_postgres:
            connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        _upgrade(connection)


def version_of(connection: Connection) -> str | None:
    """The version of the control tables, or None where there are none yet."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: str | None = connection.scalar(select(column("version_num")).select_from(table(VERSION_TABLE)))
    return version


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    folder = str(Path(__file__).parent / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    with _quiet("alembic"):
        command.upgrade(config, "head")


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)

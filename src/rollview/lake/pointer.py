"""Where a JDBC catalog says that a table's metadata is: one row, whose change is the only sign of a commit."""

from __future__ import annotations

from sqlalchemy import Engine, column, select
from sqlalchemy import table as sql_table

_TABLES = sql_table(
    "iceberg_tables", *(column(n) for n in ("catalog_name", "table_namespace", "table_name", "metadata_location"))
)


def metadata_pointer(engine: Engine, catalog: str, namespace: str, name: str) -> str | None:
    """The location of the table's current metadata; None if there is no such table."""
    rows = _TABLES.c
    query = select(rows.metadata_location).where(
        rows.catalog_name == catalog, rows.table_namespace == namespace, rows.table_name == name
    )
    with engine.connect() as connection:
        found: str | None = connection.execute(query).scalar()
        return found

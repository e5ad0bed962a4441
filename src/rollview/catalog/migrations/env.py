"""Alembic loads this file: it migrates on the connection, and inside the transaction, that it is handed."""

from alembic import context
from sqlalchemy import Connection

from rollview.catalog.schema import VERSION_TABLE, metadata

connection: Connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, version_table=VERSION_TABLE, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()

"""Alembic's view of the control tables: run by `rollview.catalog.migrate`, never by hand."""

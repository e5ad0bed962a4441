"""Capture of Iceberg tables that others write: the difference of the files of their snapshots, as signed rows."""

from rollview.capture.iceberg.commits import IcebergCapture, SourceCommit
from rollview.capture.iceberg.history import EMPTY
from rollview.capture.iceberg.types import Column, SchemaChange, schema_change

__all__ = ["EMPTY", "Column", "IcebergCapture", "SchemaChange", "SourceCommit", "schema_change"]

"""Where attached base tables live."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IcebergTable:
    """An Iceberg table that others write, named as the Spark session names it: ``catalog.namespace.table``."""

    table: str


__all__ = ["IcebergTable"]

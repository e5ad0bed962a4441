"""rollview keeps materialized views fresh on Apache Spark: it computes only what changes change."""

from rollview import sources
from rollview.errors import (
    BadInput,
    BrokenInvariant,
    NotYetSupported,
    Position,
    RollviewError,
    SourceError,
    UnsupportedView,
)
from rollview.report import Report, Verification
from rollview.warehouse import Warehouse
from rollview.warehouse import open_warehouse as open  # noqa: A004

__all__ = [
    "BadInput",
    "BrokenInvariant",
    "NotYetSupported",
    "Position",
    "Report",
    "RollviewError",
    "SourceError",
    "UnsupportedView",
    "Verification",
    "Warehouse",
    "open",
    "sources",
]

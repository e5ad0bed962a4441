"""rollview keeps materialized views fresh on Apache Spark: it computes only what changes change."""

from typing import TYPE_CHECKING, Any

from rollview import sources
from rollview.errors import (
    BadInput,
    BrokenInvariant,
    NotYetSupported,
    Position,
    RecomputeRefused,
    RollviewError,
    SourceError,
    UnsupportedView,
)
from rollview.limits import Limits
from rollview.report import Report, Verification

if TYPE_CHECKING:
    from rollview.warehouse import Warehouse
    from rollview.warehouse import open_warehouse as open  # noqa: A004

__all__ = [
    "BadInput",
    "BrokenInvariant",
    "Limits",
    "NotYetSupported",
    "Position",
    "RecomputeRefused",
    "Report",
    "RollviewError",
    "SourceError",
    "UnsupportedView",
    "Verification",
    "Warehouse",
    "open",
    "sources",
]


def __getattr__(name: str) -> Any:
    """The warehouse brings pyspark with it, which takes seconds to load; the command line's --help does without."""
    if name in ("Warehouse", "open"):
        from rollview import warehouse

        return warehouse.Warehouse if name == "Warehouse" else warehouse.open_warehouse
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

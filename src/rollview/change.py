"""A computed change of an extent, as propagate hands it to apply; and what applying it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from sqlglot import exp


@dataclass(frozen=True)
class Change:
    """A computed change; `rows` are there only if it is small and on the driver."""

    named: Callable[[], exp.Table]
    """gives it a name in SQL"""
    rows: pa.Table | None

    @cached_property
    def name(self) -> exp.Table:
        """What SQL reads. Where the driver applies the change nobody asks, and Spark never sees the rows."""
        return self.named()


@dataclass(frozen=True, slots=True)
class Applied:
    """What one apply did to the extent."""

    inserted: int
    updated: int
    deleted: int

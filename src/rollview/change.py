"""A computed change of an extent, as propagate hands it to apply; and what applying it did."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Change:
    """A computed change: `name` is what SQL reads; `rows` are there only if it is small and on the driver."""

    name: exp.Table
    rows: pa.Table | None


@dataclass(frozen=True, slots=True)
class Applied:
    """What one apply did to the extent."""

    inserted: int
    updated: int
    deleted: int

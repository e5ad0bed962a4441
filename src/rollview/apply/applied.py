"""What one apply did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Applied:
    """What one apply did to the extent."""

    inserted: int
    updated: int
    deleted: int

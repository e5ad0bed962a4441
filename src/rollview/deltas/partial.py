"""The partial delta: keyed rows of which only some values are known (Jörg and Dessloch).

Completeness only decreases on the way through operators: pair → partial update → upsert, insertion → upsert,
deletion → partial deletion. Sources of this build deliver complete deltas; the type is here so that admission
can name what a source leaves out.
"""

from __future__ import annotations

from enum import Flag, auto


class Completeness(Flag):
    """Which of the six delta sets a source delivers."""

    INSERTIONS = auto()
    DELETIONS = auto()
    PAIRS = auto()
    PARTIAL_UPDATES = auto()
    UPSERTS = auto()
    PARTIAL_DELETIONS = auto()

    @property
    def complete(self) -> bool:
        """Only kinds that carry both the old and the new values."""
        return not self & (Completeness.PARTIAL_UPDATES | Completeness.UPSERTS | Completeness.PARTIAL_DELETIONS)


COMPLETE = Completeness.INSERTIONS | Completeness.DELETIONS | Completeness.PAIRS

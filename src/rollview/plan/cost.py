"""A first cost model: seconds predicted from rows and bytes, calibrated by what earlier refreshes took.

    incremental = start + rows of the deltas + bytes of base tables looked up + bytes of the extent merged
    recompute   = start + bytes of all base tables + bytes of the extent written

The rates are guesses; each view's own history scales them, per strategy. Only the comparison of the two matters. A
look-up reads few columns and skips what no changed key can be in, so it is guessed cheap: where that is wrong, the
first refreshes show it, and where it is right, nobody would ever know had they not been tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

START = 0.4
PER_DELTA_ROW = 6e-6
PER_BYTE_READ = 1.2e-8
PER_BYTE_LOOKED_UP = 0.3e-8
PER_BYTE_MERGED = 1.5e-8
PER_BYTE_WRITTEN = 3e-8
HISTORY = 5
ENOUGH = 2
MARGIN = 0.5


@dataclass(frozen=True, slots=True)
class Work:
    """What a refresh is going to touch."""

    delta_rows: int
    base_bytes: int
    looked_up_bytes: int
    extent_bytes: int
    merged_bytes: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds predicted for both ways."""

    incremental: float
    recompute: float

    @property
    def recompute_is_cheaper(self) -> bool:
        """By a margin: a difference that nobody notices is no reason to give up the delta."""
        return self.recompute + MARGIN < self.incremental


def estimate(work: Work, incremental_scale: float = 1.0, recompute_scale: float = 1.0) -> Estimate:
    incremental = (
        START
        + work.delta_rows * PER_DELTA_ROW
        + work.looked_up_bytes * PER_BYTE_LOOKED_UP
        + work.merged_bytes * PER_BYTE_MERGED
    )
    recompute = START + work.base_bytes * PER_BYTE_READ + work.extent_bytes * PER_BYTE_WRITTEN
    return Estimate(incremental * incremental_scale, recompute * recompute_scale)


def scales(
    incremental: Sequence[tuple[float | None, float | None]], recompute: Sequence[tuple[float | None, float | None]]
) -> tuple[float, float]:
    """actual / predicted of each strategy, from (predicted, actual) pairs, the newest first.

    The best of the last few, because the first refreshes of a session are slow for reasons of their own; and only if
    both strategies have been seen, an incremental refresh twice, because otherwise one of them would be judged by its
    cold start alone. The creation of the view was a recompute.
    """
    ratios = [[a / p for p, a in pairs[:HISTORY] if p and a] for pairs in (incremental, recompute)]
    if len(ratios[0]) < ENOUGH or not ratios[1]:
        return 1.0, 1.0
    return min(ratios[0]), min(ratios[1])

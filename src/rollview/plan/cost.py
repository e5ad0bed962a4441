"""A first cost model: seconds predicted from rows and bytes, calibrated by what earlier refreshes took.

    incremental = start + rows of the deltas + bytes of base tables looked up + bytes of the extent merged
    recompute   = start + bytes of all base tables + bytes of the extent written

The rates are guesses; each view's own history scales them, per strategy. Only the comparison of the two matters. A
look-up reads few columns and skips what no changed key can be in, so it is guessed cheap: where that is wrong, the
first refreshes show it, and where it is right, nobody would ever know had they not been tried. For the same reason a
view is recomputed once, if its refreshes take long, or have taken so long altogether that it matters little: its
creation, with Spark still cold, tells only what that takes at most.
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
AGAIN = 20
"""recomputes after which a refresh from changes is tried again: the changes may be others by then"""
TRIAL = 0.05
"""of the time that recomputes take, what may go to such trials: one that took much longer is not made so often"""
GUESSED, SEEN = 0.5, 0.1
"""seconds that a recompute must save, before and after one was seen: a little is no reason to give up the delta"""
COLD, FIRST = 2.0, 1.5
"""so many times as long as a later recompute takes the creation of a view, and perhaps the first one"""
LONG, NEAR = 1.0, 0.4
"""refreshes of so many seconds, and of such a share of the creation, make it worth to try a recompute"""


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
    """Seconds predicted for both ways; `known` if both have been seen in the past."""

    incremental: float
    recompute: float
    known: bool = False
    model: tuple[float, float] = (0.0, 0.0)
    """the same without what past refreshes say: what they are compared with"""
    rows: int = 0
    """of the change, as they are logged, where that is all that is known of it"""

    def of(self, strategy: str) -> tuple[float, float]:
        """One of them, with and without what past refreshes say."""
        if strategy == "recompute":
            return self.recompute, self.model[1]
        return self.incremental, self.model[0]

    @property
    def recompute_is_cheaper(self) -> bool:
        return self.recompute + (SEEN if self.known else GUESSED) < self.incremental


Seen = Sequence[tuple[float | None, float | None]]
"""(what the model says, actual) seconds, the newest first"""


@dataclass(frozen=True, slots=True)
class Learned:
    """What the history of a view says: actual / predicted of each strategy."""

    incremental: float = 1.0
    recompute: float = 1.0
    known: bool = False
    tries: bool = False
    """should a recompute be tried, to know what it takes?"""
    again: bool = False
    """was it recomputed so often that the other way should be tried again?"""


def estimate(work: Work, learned: Learned = Learned()) -> Estimate:  # noqa: B008
    incremental = (
        START
        + work.delta_rows * PER_DELTA_ROW
        + work.looked_up_bytes * PER_BYTE_LOOKED_UP
        + work.merged_bytes * PER_BYTE_MERGED
    )
    recompute = START + work.base_bytes * PER_BYTE_READ + work.extent_bytes * PER_BYTE_WRITTEN
    return Estimate(
        incremental * learned.incremental, recompute * learned.recompute, learned.known, (incremental, recompute)
    )


def learn(incremental: Seen, recompute: Seen, created: Seen, *, again: bool = False, spent: float = 0.0) -> Learned:
    """The best of the last few counts, because the first refreshes of a session are slow for reasons of their own; and
    only if both strategies have been seen, an incremental refresh twice: otherwise one of them would be judged by its
    cold start alone, and so may the first recompute be, which has a second chance. Refreshes from changes are what
    changes make them, so only the last two count. Until there was a recompute, the creation of the view tells of it,
    and what refreshes from changes have `spent` since, of which a trial may take its share."""
    kept, whole, made = (ratios(seen) for seen in (incremental[:ENOUGH], recompute, created))
    if len(kept) < ENOUGH or not (whole or made):
        return Learned()
    if len(whole) >= ENOUGH:
        return Learned(min(kept), min(whole), known=True, again=again)
    if whole:
        return Learned(min(kept), min(whole) / FIRST, known=True, again=again)
    shortest = min(actual for _, actual in incremental[:ENOUGH] if actual)
    creation = min(actual for _, actual in created if actual)
    long = shortest > LONG and shortest > NEAR * creation
    tries = long or (shortest > SEEN and spent * TRIAL >= creation - shortest)
    return Learned(min(kept), min(made) / COLD, tries=tries)


def repaid(trial: float, recompute: float) -> float:
    """The seconds of recomputing of which a trial like the last one, longer than a recompute, is the share to spend."""
    return max(0.0, trial - recompute) / TRIAL


def ratios(seen: Seen) -> list[float]:
    return [actual / predicted for predicted, actual in seen[:HISTORY] if predicted and actual]

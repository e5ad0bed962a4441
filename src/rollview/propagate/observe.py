"""When did a query run? Its execution time, in ticks, is learned from what it saw, never guessed (Salem et al., §5).

A query against tables that go on changing saw each of them at some commit. Each of those states holds from its own tick
to the one before the table's next change; a tick that all of them hold at is the query's execution time. If there is
none, a transaction was half visible, and the query has to run again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from rollview.catalog import ControlStore
from rollview.catalog.held import newest
from rollview.catalog.stored import Stored
from rollview.errors import SourceError
from rollview.lake.lake import Lake

TRIES = 40
PAUSE = 0.05


class Observer(Protocol):
    """Plans a query against tables as they are, and learns the tick whose state it sees."""

    def planned(self, tables: Iterable[str], plan: Callable[[], Any], upto: int) -> tuple[Any, int]:
        """The planned query and its execution time, which is not before `upto`."""
        ...


class LakeObserver:
    """Lake tables: a plan is bound to the snapshots that were current when it was made."""

    def __init__(self, lake: Lake, control: ControlStore, relations: Mapping[str, Stored]) -> None:
        self.lake = lake
        self.control = control
        self.relations = relations

    def planned(self, tables: Iterable[str], plan: Callable[[], Any], upto: int) -> tuple[Any, int]:
        wanted = sorted(set(tables))
        for _ in range(TRIES):
            before = self.seen(wanted)
            frame = self.lake.planned(plan())
            if self.seen(wanted) == before:
                tick = self.common({name: tick for name, (_, tick) in before.items()})
                if tick is not None and tick >= upto:
                    return frame, tick
            time.sleep(PAUSE)
        raise SourceError(
            f"{', '.join(wanted)} were not seen at one tick in {TRIES} tries",
            code="RV-UNSETTLED",
            hint="too many commits at once, or a writer died between them; try again",
            retryable=True,
        )

    def seen(self, tables: Iterable[str]) -> dict[str, tuple[int | None, int]]:
        """The current snapshot of each table and the tick that its writer gave it."""
        return {name: self.current(self.relations[name]) for name in tables}

    def current(self, stored: Stored) -> tuple[int | None, int]:
        found = newest(self.lake, stored.extent, self.control.marks.mark(stored.name))
        return (None, stored.relation.created_tick) if found is None else (found.snapshot_id, found.tick)

    def common(self, ticks: Mapping[str, int]) -> int | None:
        """The last tick at which every table still was as it was at its own."""
        last = self.control.ticks.last_tick()
        for name, tick in ticks.items():
            later = self.control.ticks.waiting(tick, last, [name])
            if later:
                last = min(last, later[0].tick - 1)
        return last if last >= max(ticks.values(), default=0) else None

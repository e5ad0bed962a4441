"""The clock as a source: its position is the time.

A move of the clock is a tick of its own, whose unit-of-work row holds the new reading; nothing else is stored. A view
that reads the clock has it moved before a refresh, if that can matter: where only the day is read, once a day.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

import pyarrow as pa
from sqlglot import exp

from rollview.algebra.clock import CLOCK_TABLE, NOW, TODAY
from rollview.catalog import ColumnInfo, ControlStore, TableChange
from rollview.errors import SourceError
from rollview.lake.arrow import arrow_schema, literal
from rollview.names import CLOCK
from rollview.steps import reached

SOURCE = "clock"


@dataclass(frozen=True, slots=True)
class Reading:
    """What the clock says: the time, and the day that it falls on in the session's time zone."""

    now: datetime
    today: date

    @property
    def position(self) -> str:
        return f"{self.now.isoformat()} {self.today.isoformat()}"

    @classmethod
    def of(cls, position: str) -> Reading:
        now, today = position.split()
        return cls(datetime.fromisoformat(now), date.fromisoformat(today))

    @property
    def literals(self) -> Mapping[str, exp.Expr]:
        return {NOW: literal(self.now), TODAY: literal(self.today)}

    @property
    def row(self) -> pa.Table:
        return pa.table({NOW: [self.now], TODAY: [self.today]}, schema=arrow_schema(CLOCK_TABLE.columns))


def last_reading(control: ControlStore, upto: int | None = None) -> Reading | None:
    """The last reading, at a tick if one is given."""
    position = control.ticks.last_position(SOURCE, upto)
    return None if position is None else Reading.of(position)


def reading_at(control: ControlStore, tick: int) -> Reading:
    found = last_reading(control, tick)
    if found is None:
        raise SourceError(
            f"the clock was not read at tick {tick}",
            code="RV-NO-STATE",
            hint="it is read from the first view with a time filter on",
        )
    return found


class Clock:
    """Moves the clock. `time` tells the time, `day` the day of a time in the session's time zone."""

    def __init__(
        self,
        control: ControlStore,
        time: Callable[[], datetime],
        day: Callable[[datetime], date],
    ) -> None:
        self.control = control
        self.time = time
        self.day = day

    def make(self) -> None:
        """The relation, if it is not there yet."""
        with self.control.leases.hold(f"relation:{CLOCK}", wait=120.0):
            if self.control.relations.find(CLOCK) is None:
                columns = [ColumnInfo(c.name, c.type, c.nullable) for c in CLOCK_TABLE.columns]
                tick = self.control.ticks.last_tick()
                self.control.relations.create(
                    CLOCK, "attached", columns, definition={"source": SOURCE}, created_tick=tick
                )
                reached("clock.registered")
            self.control.relations.set_state(CLOCK, "ready")

    def move(self, columns: Collection[str], patience: float = 0.0) -> None:
        """Read the time anew for views that read these columns, unless it is the same to them, or the last reading is
        not older than `patience`, in seconds. The clock never goes back."""
        if self.due(columns, patience) is None:
            return
        with self.control.leases.hold("writer", wait=120.0) as lease:
            reading = self.due(columns, patience)  # somebody else may have moved it meanwhile
            if reading is None:
                return
            tick = self.control.ticks.open_tick(lease, SOURCE)
            reached("clock.opened")
            changes = {CLOCK: TableChange(1, 1)}
            self.control.ticks.commit_tick(
                lease, tick, position=reading.position, committed_at=datetime.now(UTC), tables=changes
            )
            reached("clock.moved")

    def due(self, columns: Collection[str], patience: float) -> Reading | None:
        """The new reading; None if the last one will do."""
        time, last = self.time(), last_reading(self.control)
        now = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        if last is not None and now <= last.now:
            return None
        reading = Reading(now, self.day(now))
        if last is None or (NOW in columns and (now - last.now).total_seconds() > patience):
            return reading
        return reading if TODAY in columns and reading.today != last.today else None

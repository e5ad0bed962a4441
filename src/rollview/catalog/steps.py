"""Steps: which spans a stored view delta covers, and where a propagation of several queries stands.

A step (since, upto] is exact if its rows carry the ticks at which they happened; otherwise they all carry `upto`, and
nothing is known of the ticks in between. Steps that meet form a reach, within which a view can be rolled.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, update

from rollview.catalog.relations import relation_ids
from rollview.catalog.schema import mark as mark_rows
from rollview.catalog.schema import propagation as propagation_rows
from rollview.catalog.schema import step as step_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rollview.catalog.database import Database


@dataclass(frozen=True, slots=True)
class Step:
    """One covered span: how many rows it stored, how long it took and when it ended."""

    since: int
    upto: int
    exact: bool
    rows: int = 0
    seconds: float = 0.0
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """The state of a propagation between two queries; `asked` counts the queries that were answered."""

    asked: int
    state: Mapping[str, Any]


class Steps:
    """The steps of every view."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, view: str, step: Step) -> None:
        """The view delta now covers the step; the high-water mark moves in the same transaction."""
        self._write(view, step, None)

    def advance(self, view: str, pending: Pending, step: Step | None = None) -> None:
        """A query was answered; and if with it the mark moved, the step that this completes."""
        self._write(view, step, pending)

    def _write(self, view: str, step: Step | None, pending: Pending | None) -> None:
        with self._database.write() as connection:
            relation_id = relation_ids(connection, [view])[view]
            if pending is not None:
                row = {"relation_id": relation_id, "asked": pending.asked, "state": dict(pending.state)}
                self._database.put(connection, propagation_rows, [row])
            if step is not None:
                values = {
                    "relation_id": relation_id,
                    "upto": step.upto,
                    "since": step.since,
                    "exact": step.exact,
                    "rows": step.rows,
                    "seconds": step.seconds,
                    "ended_at": step.ended or datetime.now(UTC),
                }
                self._database.put(connection, step_rows, [values])
                mark = {"relation_id": relation_id, "high_water_mark": step.upto}
                self._database.put(connection, mark_rows, [mark])

    def pending(self, view: str) -> Pending | None:
        with self._database.read() as connection:
            mine = propagation_rows.c.relation_id == relation_ids(connection, [view])[view]
            row = connection.execute(select(propagation_rows).where(mine)).one_or_none()
        return None if row is None else Pending(row.asked, row.state)

    def of(self, view: str) -> tuple[Step, ...]:
        """Every step, in tick order."""
        rows = step_rows.c
        with self._database.read() as connection:
            mine = rows.relation_id == relation_ids(connection, [view])[view]
            found = connection.execute(select(step_rows).where(mine).order_by(rows.upto)).all()
        return tuple(Step(r.since, r.upto, r.exact, r.rows, r.seconds, r.ended_at) for r in found)

    def forget(self, view: str, *, above: int | None = None, below: int | None = None) -> None:
        """Forget the steps that end above, or at or below, a tick. With `above` the propagation starts anew; an exact
        step that goes on from `below` begins there."""
        with self._database.write() as connection:
            relation_id = relation_ids(connection, [view])[view]
            mine = step_rows.c.relation_id == relation_id
            if below is not None:
                connection.execute(delete(step_rows).where(mine, step_rows.c.upto <= below))
                cut = mine & step_rows.c.exact & (step_rows.c.since < below)
                connection.execute(update(step_rows).where(cut).values(since=below))
            if above is not None:
                connection.execute(delete(step_rows).where(mine, step_rows.c.upto > above))
                connection.execute(delete(propagation_rows).where(propagation_rows.c.relation_id == relation_id))
                mark = {"relation_id": relation_id, "high_water_mark": above}
                self._database.put(connection, mark_rows, [mark])


@dataclass(frozen=True, slots=True)
class Reach:
    """The ticks that steps without a gap connect: low ≤ tick ≤ high; `loose` are the steps that are not exact."""

    low: int
    high: int
    loose: tuple[Step, ...] = ()

    def __contains__(self, tick: int) -> bool:
        """Can a view be rolled to this tick?"""
        return self.low <= tick <= self.high and not any(s.since < tick < s.upto for s in self.loose)

    def nearest(self, tick: int) -> tuple[int, ...]:
        """The possible ticks next to one that is not: at most one below and one above."""
        if tick <= self.low:
            return (self.low,)
        if tick >= self.high:
            return (self.high,)
        around = next(s for s in self.loose if s.since < tick < s.upto)
        return (around.since, around.upto)


def reach(steps: Sequence[Step], tick: int) -> Reach:
    """How far steps lead from a tick, back and forward."""
    low = high = tick
    inside: list[Step] = []
    for step in steps:  # forward, in tick order; a tick inside an exact step is a fine place to start
        if step.since <= high < step.upto and (step.exact or step.since == high):
            high = step.upto
            inside.append(step)
    for step in reversed(steps):
        if step.since < low <= step.upto and (step.exact or step.upto == low):
            low = step.since
            inside.append(step)
    return Reach(low, high, tuple(s for s in dict.fromkeys(inside) if not s.exact))

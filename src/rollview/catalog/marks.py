"""Marks: how far each relation is. Advisory: the extent's own commit is believed before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, select

from rollview.catalog.relations import relation_ids
from rollview.catalog.schema import extent as extent_rows
from rollview.catalog.schema import mark as mark_rows

if TYPE_CHECKING:
    from rollview.catalog.database import Database


@dataclass(frozen=True, slots=True)
class Mark:
    """The tick and snapshot of the extent, and the tick up to which the view delta is complete."""

    applied_tick: int | None = None
    extent_snapshot: int | None = None
    high_water_mark: int | None = None


class Extent(NamedTuple):
    """The extent's snapshot that holds the state of a tick."""

    tick: int
    snapshot_id: int


class Marks:
    """The marks of every relation, and which snapshot of its extent holds which tick."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def mark(self, relation: str) -> Mark:
        with self._database.read() as connection:
            mine = mark_rows.c.relation_id == relation_ids(connection, [relation])[relation]
            row = connection.execute(select(mark_rows).where(mine)).one_or_none()
        return Mark() if row is None else Mark(row.applied_tick, row.extent_snapshot, row.high_water_mark)

    def set_high_water_mark(self, relation: str, tick: int) -> None:
        self._put_mark(relation, high_water_mark=tick)

    def record_extent(self, relation: str, tick: int, snapshot_id: int) -> None:
        """The extent is at `tick`, in this snapshot. What was recorded above the tick is no longer true."""
        with self._database.write() as connection:
            relation_id = relation_ids(connection, [relation])[relation]
            above = (extent_rows.c.relation_id == relation_id) & (extent_rows.c.tick > tick)
            connection.execute(delete(extent_rows).where(above))
            state = {"relation_id": relation_id, "tick": tick, "snapshot_id": snapshot_id}
            self._database.put(connection, extent_rows, [state])
            mark = {"relation_id": relation_id, "applied_tick": tick, "extent_snapshot": snapshot_id}
            self._database.put(connection, mark_rows, [mark])

    def extent_snapshot(self, relation: str, tick: int) -> Extent | None:
        """The snapshot of the greatest recorded tick at or below `tick`."""
        rows = extent_rows.c
        with self._database.read() as connection:
            mine = rows.relation_id == relation_ids(connection, [relation])[relation]
            query = select(rows.tick, rows.snapshot_id).where(mine, rows.tick <= tick)
            row = connection.execute(query.order_by(rows.tick.desc()).limit(1)).one_or_none()
        return None if row is None else Extent(row.tick, row.snapshot_id)

    def extents(self, relation: str) -> tuple[Extent, ...]:
        """Every recorded snapshot of the extent, in tick order."""
        rows = extent_rows.c
        with self._database.read() as connection:
            mine = rows.relation_id == relation_ids(connection, [relation])[relation]
            found = connection.execute(select(rows.tick, rows.snapshot_id).where(mine).order_by(rows.tick))
            return tuple(Extent(row.tick, row.snapshot_id) for row in found)

    def forget_extents(self, relation: str, *, below: int) -> None:
        """Forget the snapshots of ticks below `below`, before they expire."""
        with self._database.write() as connection:
            mine = extent_rows.c.relation_id == relation_ids(connection, [relation])[relation]
            connection.execute(delete(extent_rows).where(mine, extent_rows.c.tick < below))

    def _put_mark(self, relation: str, **values: Any) -> None:
        with self._database.write() as connection:
            row = {"relation_id": relation_ids(connection, [relation])[relation], **values}
            self._database.put(connection, mark_rows, [row])

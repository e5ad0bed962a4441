"""What every refresh did, why it did it that way, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from rollview.catalog.relations import fold
from rollview.catalog.schema import refresh as refresh_rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from rollview.catalog.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """One refresh, finished or failed. None means unknown."""

    view: str
    started: datetime
    strategy: str
    reason: str | None = None
    since: int | None = None
    upto: int | None = None
    delta_rows: int | None = None
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    seconds: float
    phases: Mapping[str, float] = field(default_factory=dict, hash=False)
    jobs: int | None = None
    predicted_cost: float | None = None
    actual_cost: float | None = None
    model_cost: float | None = None
    """what was predicted before the view's own history corrected it"""
    plan_fingerprint: str | None = None
    error: str | None = None


class History:
    """The refresh history. It outlives the views that it speaks of."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record_refresh(self, row: HistoryRow) -> None:
        values = {each.name: getattr(row, each.name) for each in fields(row)}
        values |= {"phases": dict(row.phases), "folded": fold(row.view)}
        with self._database.write() as connection:
            connection.execute(insert(refresh_rows).values(values))

    def refreshes(self, view: str | None = None, *, limit: int = 100) -> tuple[HistoryRow, ...]:
        """The latest refreshes, newest first."""
        shown = [column for column in refresh_rows.c if column.name not in ("id", "folded")]
        query = select(*shown).order_by(refresh_rows.c.id.desc()).limit(limit)
        if view is not None:
            query = query.where(refresh_rows.c.folded == fold(view))
        with self._database.read() as connection:
            return tuple(HistoryRow(**row._mapping) for row in connection.execute(query))

"""What every refresh did, why it did it that way, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select

from rollview.catalog.relations import fold
from rollview.catalog.schema import refresh as refresh_rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import ColumnElement

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
    id: int | None = field(default=None, compare=False)
    """its number, once it is stored; later ones are larger"""


@dataclass(frozen=True, slots=True)
class Run:
    """Refreshes of one strategy: how many, and how long they took together."""

    count: int
    seconds: float


_SHOWN = [column for column in refresh_rows.c if column.name != "folded"]
LOOKED = 100
"""rows that are looked at for those that were weighed"""


class History:
    """The refresh history. It outlives the views that it speaks of."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record_refresh(self, row: HistoryRow) -> None:
        values = {each.name: getattr(row, each.name) for each in fields(row) if each.name != "id"}
        values |= {"phases": dict(row.phases), "folded": fold(row.view)}
        with self._database.write() as connection:
            connection.execute(insert(refresh_rows).values(values))

    def refreshes(self, view: str | None = None, *, limit: int = 100) -> tuple[HistoryRow, ...]:
        """The latest refreshes, newest first."""
        query = select(*_SHOWN).order_by(refresh_rows.c.id.desc()).limit(limit)
        if view is not None:
            query = query.where(refresh_rows.c.folded == fold(view))
        with self._database.read() as connection:
            return tuple(HistoryRow(**row._mapping) for row in connection.execute(query))

    def latest(
        self, view: str, strategy: str, *, limit: int, after: int = 0, weighed: bool = False
    ) -> tuple[HistoryRow, ...]:
        """The latest refreshes of one strategy, newest first, however many of others came since; none up to a row.

        Where the change turned out not to concern the view nothing was `weighed`: no cost was predicted."""
        number, mine = refresh_rows.c.id, _of(view, strategy, after)
        found = select(*_SHOWN).where(*mine).order_by(number.desc()).limit(limit)
        if weighed:
            far = select(number).where(*mine).order_by(number.desc()).offset(LOOKED).limit(1).scalar_subquery()
            found = found.where(refresh_rows.c.model_cost.is_not(None), number > func.coalesce(far, 0))
        with self._database.read() as connection:
            return tuple(HistoryRow(**row._mapping) for row in connection.execute(found))

    def last(self, view: str, *strategies: str) -> int:
        """The number of the last refresh by any of some strategies; 0 where there is none."""
        numbers = (select(func.max(refresh_rows.c.id)).where(*_of(view, s)).scalar_subquery() for s in strategies)
        with self._database.read() as connection:
            return max(n or 0 for n in connection.execute(select(*numbers)).one())

    def run(self, view: str, strategy: str, *, limit: int, after: int = 0) -> Run:
        """The latest refreshes of one strategy after a row, counted and added up; not more than the limit."""
        seconds = select(refresh_rows.c.seconds).where(*_of(view, strategy, after))
        run = seconds.order_by(refresh_rows.c.id.desc()).limit(limit).subquery()
        with self._database.read() as connection:
            count, total = connection.execute(select(func.count(), func.sum(run.c.seconds)).select_from(run)).one()
        return Run(count, total or 0.0)


def _of(view: str, strategy: str, after: int = 0) -> tuple[ColumnElement[bool], ...]:
    """The rows of one strategy, as the index has them."""
    rows = refresh_rows.c
    return rows.folded == fold(view), rows.strategy == strategy, rows.id > after

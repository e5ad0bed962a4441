"""The unit of work: which ticks exist, what each changed, and when it was committed.

A tick is `open` from its allocation to its commit. Ticks are committed in increasing order, so a committed
state never changes afterwards: an open tick below a committed one will never commit and is an orphan.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import ColumnElement, Connection, func, insert, select, text, update

from rollview.catalog.leases import Lease, require_held
from rollview.catalog.relations import relation_ids
from rollview.catalog.schema import as_utc
from rollview.catalog.schema import tick as tick_rows
from rollview.catalog.schema import tick_table as change_rows
from rollview.errors import BadInput, BrokenInvariant, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rollview.catalog.database import Database


@dataclass(frozen=True, slots=True)
class TableChange:
    """What one tick did to one relation: rows in and out, and the snapshots of the result and the log."""

    inserted: int
    deleted: int
    snapshot_id: int | None = None
    log_snapshot_id: int | None = None


@dataclass(frozen=True, slots=True)
class TickCommit:
    """One source transaction, ready to be committed."""

    tick: int
    position: str | None
    committed_at: datetime
    tables: Mapping[str, TableChange] = field(hash=False)


@dataclass(frozen=True, slots=True)
class ChangeTotals:
    """How much changed in a span."""

    ticks: int
    inserted: int
    deleted: int

    @property
    def rows(self) -> int:
        return self.inserted + self.deleted


class Waiting(NamedTuple):
    """A committed tick that a view has not taken yet: how many rows it changed below the view, and when."""

    tick: int
    rows: int
    committed: datetime


class Ticks:
    """Allocate, commit and look up ticks. Tick 0 is the empty beginning; spans are (since, upto]."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def open_tick(self, lease: Lease, source: str) -> int:
        """A new tick, greater than every one before it, whatever becomes of it."""
        return self.open_tick_range(lease, source, 1)[0]

    def open_tick_range(self, lease: Lease, source: str, count: int) -> range:
        """`count` new ticks in a row, for as many transactions of one source."""
        if count < 1:
            raise BadInput(f"cannot open {count} ticks", code="RV-TICK-COUNT")
        with self._database.write() as connection:
            self._lock(connection)
            require_held(connection, lease, lock=True)
            first = (connection.scalar(select(func.max(tick_rows.c.tick))) or 0) + 1
            opened = {
                "source": source,
                "state": "open",
                "token": lease.token,
                "opened_at": self._database.clock(connection),
            }
            ticks = range(first, first + count)
            connection.execute(insert(tick_rows), [{"tick": tick, **opened} for tick in ticks])
        return ticks

    def commit_tick(
        self,
        lease: Lease,
        tick: int,
        *,
        position: str | None,
        committed_at: datetime,
        tables: Mapping[str, TableChange],
    ) -> None:
        """The commit point of one transaction."""
        self.commit_ticks(lease, [TickCommit(tick, position, committed_at, tables)])

    def commit_ticks(self, lease: Lease, commits: Sequence[TickCommit]) -> None:
        """Commit all of them or none. Commit times never decrease over ticks: a late clock is pulled up."""
        if not commits:
            return
        with self._database.write() as connection:
            self.commit_in(connection, lease, commits)

    def commit_in(self, connection: Connection, lease: Lease, commits: Sequence[TickCommit]) -> None:
        """The same inside a transaction that does more."""
        ordered = sorted(commits, key=lambda commit: commit.tick)
        self._lock(connection)
        require_held(connection, lease, lock=True)
        _require_open(connection, lease, [commit.tick for commit in ordered])
        latest = _latest_commit_time(connection)
        ids = relation_ids(connection, {name for commit in ordered for name in commit.tables})
        changes = []
        for commit in ordered:
            given = as_utc(commit.committed_at)
            latest = given if latest is None else max(given, latest)
            connection.execute(
                update(tick_rows)
                .where(tick_rows.c.tick == commit.tick)
                .values(state="committed", position=commit.position, committed_at=latest)
            )
            changes += [_change_row(ids[name], commit.tick, each) for name, each in commit.tables.items()]
        if changes:
            connection.execute(insert(change_rows), changes)

    def is_committed(self, tick: int) -> bool:
        with self._database.read() as connection:
            found = connection.execute(select(tick_rows.c.tick).where(tick_rows.c.tick == tick, _COMMITTED))
            return found.one_or_none() is not None

    def last_tick(self) -> int:
        """The last committed tick; 0 where there is none."""
        with self._database.read() as connection:
            return _last_committed(connection)

    def open_ticks(self, since: int, upto: int) -> tuple[int, ...]:
        """Ticks of the span whose change-log rows must not be seen."""
        query = select(tick_rows.c.tick).where(_in_span(tick_rows.c.tick, since, upto), tick_rows.c.state == "open")
        with self._database.read() as connection:
            return tuple(connection.scalars(query.order_by(tick_rows.c.tick)))

    def ticks_between(self, since: int, upto: int, tables: Iterable[str] | None = None) -> tuple[int, ...]:
        """The committed ticks of the span; with `tables`, only those that changed one of them."""
        query = select(tick_rows.c.tick).where(_in_span(tick_rows.c.tick, since, upto), _COMMITTED)
        with self._database.read() as connection:
            if tables is not None:
                ids = relation_ids(connection, tables).values()
                touched = select(change_rows.c.tick).where(change_rows.c.relation_id.in_(list(ids)))
                query = query.where(tick_rows.c.tick.in_(touched))
            return tuple(connection.scalars(query.order_by(tick_rows.c.tick)))

    def waiting(self, since: int, upto: int, tables: Iterable[str]) -> tuple[Waiting, ...]:
        """The committed ticks of the span that changed one of the tables, in order."""
        rows = func.sum(change_rows.c.inserted + change_rows.c.deleted)
        with self._database.read() as connection:
            ids = list(relation_ids(connection, tables).values())
            query = (
                select(tick_rows.c.tick, rows, tick_rows.c.committed_at)
                .join(change_rows, change_rows.c.tick == tick_rows.c.tick)
                .where(_in_span(tick_rows.c.tick, since, upto), _COMMITTED, change_rows.c.relation_id.in_(ids))
                .group_by(tick_rows.c.tick, tick_rows.c.committed_at)
                .order_by(tick_rows.c.tick)
            )
            return tuple(Waiting(tick, int(n), at) for tick, n, at in connection.execute(query))

    def changes_of(self, table: str, since: int, upto: int) -> dict[int, TableChange]:
        """What each committed tick of the span did to the relation, in tick order."""
        query = select(change_rows).where(_in_span(change_rows.c.tick, since, upto)).order_by(change_rows.c.tick)
        with self._database.read() as connection:
            relation_id = relation_ids(connection, [table])[table]
            rows = connection.execute(query.where(change_rows.c.relation_id == relation_id))
            return {
                row.tick: TableChange(row.inserted, row.deleted, row.snapshot_id, row.log_snapshot_id) for row in rows
            }

    def totals_of(self, table: str, since: int, upto: int) -> ChangeTotals:
        """The sums of `changes_of`, computed by the database."""
        return self.totals([table], since, upto)[table]

    def totals(self, tables: Collection[str], since: int, upto: int) -> dict[str, ChangeTotals]:
        """The same of several tables, by the names as given."""
        rows = change_rows.c
        query = select(rows.relation_id, func.count(), func.sum(rows.inserted), func.sum(rows.deleted))
        with self._database.read() as connection:
            ids = relation_ids(connection, tables)
            spanned = query.where(_in_span(rows.tick, since, upto), rows.relation_id.in_(ids.values()))
            found = {i: ChangeTotals(*map(int, n)) for i, *n in connection.execute(spanned.group_by(rows.relation_id))}
        return {name: found.get(number, ChangeTotals(0, 0, 0)) for name, number in ids.items()}

    def tick_at(self, moment: datetime) -> int:
        """The last tick committed at or before the moment; 0 where there is none."""
        query = select(func.max(tick_rows.c.tick)).where(_COMMITTED, tick_rows.c.committed_at <= as_utc(moment))
        with self._database.read() as connection:
            return connection.scalar(query) or 0

    def commit_time(self, tick: int) -> datetime | None:
        """When the tick was committed; None where it was not."""
        with self._database.read() as connection:
            moment: datetime | None = connection.scalar(
                select(tick_rows.c.committed_at).where(tick_rows.c.tick == tick)
            )
            return moment

    def snapshot_of(self, table: str, tick: int) -> int | None:
        """The relation's snapshot as of the tick: the last one recorded at or before it."""
        rows = change_rows.c
        with self._database.read() as connection:
            mine = rows.relation_id == relation_ids(connection, [table])[table]
            query = select(rows.snapshot_id).where(mine, rows.tick <= tick, rows.snapshot_id.is_not(None))
            snapshot: int | None = connection.scalar(query.order_by(rows.tick.desc()).limit(1))
            return snapshot

    def last_position(self, source: str, upto: int | None = None) -> str | None:
        """Where capture of the source goes on, or where it stood at a tick."""
        rows = tick_rows.c
        query = select(rows.position).where(rows.source == source, _COMMITTED, rows.position.is_not(None))
        if upto is not None:
            query = query.where(rows.tick <= upto)
        with self._database.read() as connection:
            position: str | None = connection.scalar(query.order_by(rows.tick.desc()).limit(1))
            return position

    def _lock(self, connection: Connection) -> None:
        """One allocation or commit at a time, across all leases. SQLite's write transactions already are."""
        if self._database.is_postgres:
            connection.execute(text("LOCK TABLE rollview_tick IN SHARE ROW EXCLUSIVE MODE"))


_COMMITTED: ColumnElement[bool] = tick_rows.c.state == "committed"


def _in_span(column: ColumnElement[int], since: int, upto: int) -> ColumnElement[bool]:
    return (column > since) & (column <= upto)


def _last_committed(connection: Connection) -> int:
    return connection.scalar(select(func.max(tick_rows.c.tick)).where(_COMMITTED)) or 0


def _latest_commit_time(connection: Connection) -> datetime | None:
    query = select(tick_rows.c.committed_at).where(tick_rows.c.tick == _last_committed(connection))
    latest: datetime | None = connection.scalar(query)
    return latest


def _require_open(connection: Connection, lease: Lease, ticks: Sequence[int]) -> None:
    """Only the holder that opened a tick commits it, once, and never behind a committed tick."""
    first, last = ticks[0], ticks[-1]
    mine = select(tick_rows.c.tick).where(
        tick_rows.c.tick.between(first, last), tick_rows.c.state == "open", tick_rows.c.token == lease.token
    )
    strangers = sorted(set(ticks) - set(connection.scalars(mine)))
    if strangers or len(set(ticks)) < len(ticks):
        raise BrokenInvariant(
            f"ticks {strangers or list(ticks)} are not open under this lease", code="RV-TICK-NOT-OPEN"
        )
    overtaken_by = _last_committed(connection)
    if first < overtaken_by:
        raise SourceError(
            f"tick {first} cannot be committed: tick {overtaken_by} already is",
            code="RV-TICK-OVERTAKEN",
            hint="Two writers under different leases. Nothing was committed; capture again under a new tick.",
            retryable=True,
        )


def _change_row(relation_id: int, tick: int, change: TableChange) -> dict[str, int | None]:
    return {
        "relation_id": relation_id,
        "tick": tick,
        "inserted": change.inserted,
        "deleted": change.deleted,
        "snapshot_id": change.snapshot_id,
        "log_snapshot_id": change.log_snapshot_id,
    }

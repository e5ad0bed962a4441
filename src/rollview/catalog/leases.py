"""Leases: at most one process does a named thing at a time, and none waits for a process that is dead.

A lease is fenced by its token. Expiry only permits another process to take it over; whoever still finds its
own token in the row, in the transaction that commits its work, has held the lease all along. So while a thread holds
leases, whatever it writes to the control database is refused once one of them is lost.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from rollview.catalog.process import Process, is_certainly_dead, this_process
from rollview.catalog.schema import lease as lease_table
from rollview.errors import RollviewError, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rollview.catalog.database import Database

_log = logging.getLogger(__name__)
_FIRST_POLL, _LONGEST_POLL = 0.01, 0.2


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lease, since when and until when, by the database's clock; `age` is in seconds."""

    process: Process
    token: str
    acquired_at: datetime
    expires_at: datetime
    age: float


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that this process took. Pass it to whatever must not happen without it."""

    name: str
    token: str
    owner: str
    _database: Database = field(repr=False, compare=False)

    def check(self) -> None:
        """Raise RV-LEASE-LOST unless the lease is still ours."""
        with self._database.read() as connection:
            require_held(connection, self)


class Leases:
    """Take, renew, take over and give back leases."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def hold(self, name: str, *, ttl: float = 30.0, wait: float = 10.0, fenced: bool = True) -> Iterator[Lease]:
        """Hold the lease while the body runs, renewing it in the background. Not reentrant."""
        lease = self._acquire(name, timedelta(seconds=ttl), wait)
        released = threading.Event()
        renewal = threading.Thread(
            target=self._renew, args=(lease, ttl, released), name=f"rollview-lease-{name}", daemon=True
        )
        renewal.start()
        guards = self._database.guards.checks

        def guard(connection: Connection) -> None:
            require_held(connection, lease)

        if fenced:
            guards.append(guard)
        try:
            yield lease
        finally:
            if fenced:
                guards.remove(guard)
            released.set()
            renewal.join()
            self._release(lease)

    def holder(self, name: str) -> Holder | None:
        """Who holds the lease, if anyone does; a dead or late holder counts until it is taken over."""
        with self._database.read() as connection:
            return self._holder(connection, name, lock=False)

    def holders(self, prefix: str) -> dict[str, Holder]:
        """Who holds leases whose names begin so. Those of dead processes are swept away."""
        with self._database.read() as connection:
            names = list(connection.scalars(select(lease_table.c.name).where(lease_table.c.name.startswith(prefix))))
            found = {name: self._holder(connection, name, lock=False) for name in names}
        alive = {name: h for name, h in found.items() if h is not None and not self._may_take_over(h)}
        gone = [name for name in names if name not in alive]
        if gone:
            with self._database.write(guarded=False) as connection:
                late = lease_table.c.expires_at < self._database.clock(connection)
                connection.execute(delete(lease_table).where(lease_table.c.name.in_(gone), late))
        return alive

    def _acquire(self, name: str, ttl: timedelta, wait: float) -> Lease:
        deadline = time.monotonic() + wait
        pause = _FIRST_POLL
        while True:
            holder = self.holder(name)  # a look costs no write lock, so waiting disturbs nobody
            if holder is None or self._may_take_over(holder):
                lease = self._try_take(name, ttl)
                if lease is not None:
                    return lease
            elif time.monotonic() >= deadline:
                raise SourceError(
                    f"lease {name!r} has been held by {holder.process} for {holder.age:.1f} s",
                    code="RV-LEASE-HELD",
                    hint="Another process is doing this work. Try again when it is done.",
                    retryable=True,
                )
            time.sleep(min(pause, max(deadline - time.monotonic(), 0.0)))
            pause = min(pause * 2, _LONGEST_POLL)

    def _try_take(self, name: str, ttl: timedelta) -> Lease | None:
        """The lease, or None where somebody else was faster."""
        me = this_process()
        lease = Lease(name, uuid.uuid4().hex, str(me), self._database)
        try:
            with self._database.write(guarded=False) as connection:
                holder = self._holder(connection, name, lock=True)
                if holder is not None and not self._may_take_over(holder):
                    return None
                now = self._database.clock(connection)
                row = {
                    "token": lease.token,
                    "host": me.host,
                    "machine": me.machine,
                    "pid": me.pid,
                    "started": me.started,
                    "acquired_at": now,
                    "expires_at": now + ttl,
                }
                if holder is None:
                    connection.execute(insert(lease_table).values(name=name, **row))
                else:
                    _log.info("lease %r taken over from %s", name, holder.process)
                    connection.execute(update(lease_table).where(lease_table.c.name == name).values(row))
        except IntegrityError:  # PostgreSQL: two processes found no row, and the other inserted first
            return None
        return lease

    def _holder(self, connection: Connection, name: str, *, lock: bool) -> Holder | None:
        query = select(lease_table).where(lease_table.c.name == name)
        row = connection.execute(query.with_for_update() if lock else query).one_or_none()
        if row is None:
            return None
        now = self._database.clock(connection)
        return Holder(
            process=Process(row.host, row.machine, row.pid, row.started),
            token=row.token,
            acquired_at=row.acquired_at,
            expires_at=row.expires_at,
            age=(now - row.acquired_at).total_seconds(),
        )

    @staticmethod
    def _may_take_over(holder: Holder) -> bool:
        expired = holder.acquired_at + timedelta(seconds=holder.age) >= holder.expires_at
        return expired or is_certainly_dead(holder.process)

    def _renew(self, lease: Lease, ttl: float, released: threading.Event) -> None:
        while not released.wait(ttl / 3):
            try:
                with self._database.write(guarded=False) as connection:
                    expires_at = self._database.clock(connection) + timedelta(seconds=ttl)
                    mine = update(lease_table).where(*_is(lease)).values(expires_at=expires_at)
                    if connection.execute(mine).rowcount == 0:
                        _log.warning("lease %r was lost", lease.name)
                        return
            except RollviewError as error:  # the database may come back before anyone wants the lease
                _log.warning("lease %r could not be renewed: %s", lease.name, error.message)

    def _release(self, lease: Lease) -> None:
        """What the lease guarded is done; a failure here must not undo it. The row then expires by itself."""
        try:
            with self._database.write(guarded=False) as connection:
                connection.execute(delete(lease_table).where(*_is(lease)))
        except RollviewError as error:
            _log.warning("lease %r could not be given back: %s", lease.name, error.message)


def require_held(connection: Connection, lease: Lease, *, lock: bool = False) -> None:
    """Raise RV-LEASE-LOST unless the row has our token; with `lock`, nobody takes it before we commit."""
    query = select(lease_table.c.token).where(*_is(lease))
    if connection.execute(query.with_for_update() if lock else query).one_or_none() is None:
        raise SourceError(
            f"lease {lease.name!r} of {lease.owner} is no longer held",
            code="RV-LEASE-LOST",
            hint="It expired and another process took over. Nothing was committed; try again.",
            retryable=True,
        )


def _is(lease: Lease) -> tuple[Any, ...]:
    return lease_table.c.name == lease.name, lease_table.c.token == lease.token

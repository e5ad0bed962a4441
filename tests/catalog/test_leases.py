from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from rollview.catalog import ColumnInfo
from rollview.catalog.process import is_certainly_dead, this_process
from rollview.catalog.schema import lease as lease_table
from rollview.errors import SourceError

if TYPE_CHECKING:
    from rollview.catalog import ControlStore


def rewrite(store: ControlStore, **values: object) -> None:
    with store._database.write() as connection:
        connection.execute(update(lease_table).values(values))


def test_given_back_when_the_body_ends_or_fails(store: ControlStore) -> None:
    with store.leases.hold("view:v") as lease:
        lease.check()
        assert lease.owner.endswith(f":{os.getpid()}")
        holder = store.leases.holder("view:v")
        assert holder is not None
        assert holder.token == lease.token
    assert store.leases.holder("view:v") is None
    with pytest.raises(ZeroDivisionError), store.leases.hold("view:v"):
        raise ZeroDivisionError
    assert store.leases.holder("view:v") is None
    with pytest.raises(SourceError):
        lease.check()


def test_held_by_another_names_the_holder(store: ControlStore) -> None:
    with store.leases.hold("writer") as lease, store.leases.hold("other"):
        with pytest.raises(SourceError) as caught, store.leases.hold("writer", wait=0):
            pass
        lease.check()
    assert (caught.value.code, caught.value.retryable) == ("RV-LEASE-HELD", True)
    assert lease.owner in caught.value.message


def test_a_waiter_gets_it_when_it_is_given_back(store: ControlStore) -> None:
    taken = threading.Event()

    def wait_for_it() -> None:
        with store.leases.hold("writer", wait=10):
            taken.set()

    with store.leases.hold("writer"):
        waiter = threading.Thread(target=wait_for_it)
        waiter.start()
        assert not taken.is_set()
    waiter.join(10)
    assert taken.is_set()


def test_an_expired_lease_is_taken_over_and_its_old_holder_knows(store: ControlStore) -> None:
    with store.leases.hold("writer") as old:
        rewrite(store, host="elsewhere", expires_at=old_time(store))
        with store.leases.hold("writer", wait=0) as new:
            new.check()
            with pytest.raises(SourceError) as caught:
                old.check()
            assert caught.value.code == "RV-LEASE-LOST"
    assert store.leases.holder("writer") is None


def test_whoever_has_lost_a_lease_writes_nothing(store: ControlStore) -> None:
    store.relations.create("v", "view", [ColumnInfo("a", "int", True)], created_tick=0)
    with store.leases.hold("other"), store.leases.hold("view:v"):
        store.marks.record_extent("v", 1, 1)
        with store._database.engine.begin() as connection:
            connection.execute(update(lease_table).where(lease_table.c.name == "view:v").values(token="another"))
        with pytest.raises(SourceError) as caught:
            store.marks.record_extent("v", 2, 2)
        assert caught.value.code == "RV-LEASE-LOST" and caught.value.retryable
    assert store.marks.mark("v").applied_tick == 1
    store.marks.record_extent("v", 2, 2)


def test_the_late_holder_does_not_give_back_what_another_took(store: ControlStore) -> None:
    late = store.leases.hold("writer")
    old = late.__enter__()
    rewrite(store, expires_at=old_time(store))
    with store.leases.hold("writer", wait=0) as new:
        late.__exit__(None, None, None)
        new.check()
    assert old.token != new.token


def test_a_live_or_foreign_holder_is_waited_for(store: ControlStore) -> None:
    with store.leases.hold("writer"):
        rewrite(store, host="elsewhere", pid=2**22 + 1)
        with pytest.raises(SourceError), store.leases.hold("writer", wait=0):
            pass


def test_renewal_moves_the_expiry(store: ControlStore) -> None:
    with store.leases.hold("writer", ttl=0.3) as lease:
        first = store.leases.holder("writer")
        assert first is not None
        deadline = time.monotonic() + 10
        while (now := store.leases.holder("writer")) is not None and now.expires_at == first.expires_at:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert now is not None
        assert now.expires_at > first.expires_at
        lease.check()


def test_only_a_visible_death_counts() -> None:
    me = this_process()
    assert not is_certainly_dead(me)
    assert is_certainly_dead(replace(me, pid=2**22 + 1))
    assert is_certainly_dead(replace(me, started="another process had this pid"))
    assert not is_certainly_dead(replace(me, pid=2**22 + 1, host="elsewhere"))
    assert not is_certainly_dead(replace(me, pid=2**22 + 1, machine="another boot"))


def old_time(store: ControlStore) -> object:
    with store._database.read() as connection:
        return store._database.clock(connection) - timedelta(seconds=1)

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from rollview.catalog import ChangeTotals, ControlStore, Lease, TableChange, TickCommit
from rollview.catalog.schema import lease as lease_table
from rollview.errors import BadInput, BrokenInvariant, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture
def lease(store: ControlStore) -> Iterator[Lease]:
    for name in ("sales", "stores"):
        store.relations.create(name, "table", [("id", "bigint", False)], created_tick=0)
    with store.leases.hold("writer") as held:
        yield held


def commit(
    store: ControlStore,
    lease: Lease,
    at: datetime = NOON,
    *,
    source: str = "lake",
    position: str | None = None,
    **tables: TableChange,
) -> int:
    tick = store.ticks.open_tick(lease, source)
    store.ticks.commit_tick(lease, tick, position=position, committed_at=at, tables=tables)
    return tick


def steal(store: ControlStore, lease: Lease) -> None:
    with store._database.write() as connection:
        mine = lease_table.c.name == lease.name
        connection.execute(update(lease_table).where(mine).values(token="somebody else"))


def test_an_empty_warehouse_is_at_tick_zero(store: ControlStore) -> None:
    assert store.ticks.last_tick() == 0
    assert store.ticks.tick_at(NOON) == 0
    assert store.ticks.commit_time(0) is None
    assert store.ticks.last_position("lake") is None
    assert store.ticks.ticks_between(0, 100) == ()


def test_an_open_tick_is_invisible_until_its_commit(store: ControlStore, lease: Lease) -> None:
    tick = store.ticks.open_tick(lease, "lake")
    assert (tick, store.ticks.last_tick(), store.ticks.is_committed(tick)) == (1, 0, False)
    change = TableChange(inserted=3, deleted=1, snapshot_id=2**62, log_snapshot_id=8)
    store.ticks.commit_tick(lease, tick, position="0/16", committed_at=NOON, tables={"SALES": change})
    assert (store.ticks.last_tick(), store.ticks.is_committed(tick)) == (1, True)
    assert store.ticks.changes_of("sales", 0, 1) == {1: change}
    assert store.ticks.commit_time(1) == NOON
    assert store.ticks.last_position("lake") == "0/16"


def test_orphans_stay_excluded_and_their_ticks_are_never_reused(store: ControlStore, lease: Lease) -> None:
    orphan = store.ticks.open_tick(lease, "lake")
    tick = commit(store, lease)
    latest = store.ticks.open_tick(lease, "lake")
    assert (orphan, tick, latest) == (1, 2, 3)
    assert store.ticks.open_ticks(0, tick) == (orphan,)
    assert store.ticks.open_ticks(0, 10) == (orphan, latest)
    assert store.ticks.open_ticks(orphan, tick) == ()
    assert store.ticks.ticks_between(0, 10) == (tick,)


def test_ticks_between_and_totals(store: ControlStore, lease: Lease) -> None:
    commit(store, lease, sales=TableChange(5, 0))
    commit(store, lease, stores=TableChange(1, 0))
    commit(store, lease, sales=TableChange(2, 3), stores=TableChange(0, 1))
    commit(store, lease)
    ticks = store.ticks
    assert ticks.ticks_between(0, 4) == (1, 2, 3, 4)
    assert ticks.ticks_between(0, 4, ["sales"]) == (1, 3)
    assert ticks.ticks_between(1, 3, ["Sales", "stores"]) == (2, 3)
    assert ticks.ticks_between(0, 4, []) == ()
    assert list(ticks.changes_of("sales", 0, 4)) == [1, 3]
    assert ticks.totals_of("sales", 0, 4) == ChangeTotals(2, 7, 3)
    assert ticks.totals_of("sales", 1, 2) == ChangeTotals(0, 0, 0)


def test_commit_times_are_monotone(store: ControlStore, lease: Lease) -> None:
    given = [NOON, NOON - 10 * SECOND, NOON + SECOND, NOON]
    ticks = [commit(store, lease, at) for at in given]
    times = [store.ticks.commit_time(tick) for tick in ticks]
    assert times == [NOON, NOON, NOON + SECOND, NOON + SECOND]
    assert store.ticks.tick_at(NOON - SECOND) == 0
    assert store.ticks.tick_at(NOON) == 2
    assert store.ticks.tick_at(NOON + SECOND) == 4


def test_times_keep_microseconds_and_forget_zones(store: ControlStore, lease: Lease) -> None:
    exact = NOON + timedelta(microseconds=7)
    tick = commit(store, lease, exact.astimezone(timezone(timedelta(hours=5))))
    assert store.ticks.commit_time(tick) == exact
    assert store.ticks.tick_at(exact - timedelta(microseconds=1)) == 0


def test_a_time_without_zone_is_refused(store: ControlStore, lease: Lease) -> None:
    with pytest.raises(BadInput) as caught:
        store.ticks.tick_at(NOON.replace(tzinfo=None))
    assert caught.value.code == "RV-TIME-ZONE"


def test_snapshot_of_a_tick_is_the_last_recorded_one(store: ControlStore, lease: Lease) -> None:
    commit(store, lease)
    commit(store, lease, sales=TableChange(1, 0, snapshot_id=70))
    commit(store, lease, sales=TableChange(1, 0))
    commit(store, lease, sales=TableChange(1, 0, snapshot_id=90))
    assert [store.ticks.snapshot_of("sales", tick) for tick in (1, 2, 3, 4, 9)] == [None, 70, 70, 90, 90]


def test_positions_are_per_source(store: ControlStore, lease: Lease) -> None:
    commit(store, lease, source="a", position="a1")
    commit(store, lease, source="b", position="b1")
    commit(store, lease, source="a", position="a2")
    commit(store, lease, source="a")
    assert store.ticks.last_position("a") == "a2"
    assert store.ticks.last_position("b") == "b1"


def test_many_transactions_at_once_are_all_or_nothing(store: ControlStore, lease: Lease) -> None:
    ticks = store.ticks.open_tick_range(lease, "pg", 3)
    change = {"sales": TableChange(1, 0)}
    commits = [TickCommit(tick, f"p{tick}", NOON - tick * SECOND, change) for tick in ticks]
    ghost = TickCommit(ticks[-1], None, NOON, {"ghost": TableChange(1, 0)})
    with pytest.raises(BadInput):
        store.ticks.commit_ticks(lease, [*commits[:2], ghost])
    assert store.ticks.last_tick() == 0
    store.ticks.commit_ticks(lease, commits[::-1])
    assert store.ticks.ticks_between(0, 9) == tuple(ticks) == (1, 2, 3)
    assert store.ticks.commit_time(3) == NOON - SECOND
    assert store.ticks.last_position("pg") == "p3"


def test_a_lost_lease_neither_opens_nor_commits(store: ControlStore, lease: Lease) -> None:
    tick = store.ticks.open_tick(lease, "lake")
    steal(store, lease)
    attempts = (
        lambda: store.ticks.commit_tick(lease, tick, position=None, committed_at=NOON, tables={}),
        lambda: store.ticks.open_tick(lease, "lake"),
        lease.check,
    )
    for attempt in attempts:
        with pytest.raises(SourceError) as caught:
            attempt()
        assert (caught.value.code, caught.value.retryable) == ("RV-LEASE-LOST", True)
    assert store.ticks.last_tick() == 0
    assert store.ticks.open_ticks(0, 9) == (tick,)


def test_a_tick_is_committed_once_and_only_if_it_was_opened(store: ControlStore, lease: Lease) -> None:
    tick = commit(store, lease)
    for stranger in (tick, 77):
        with pytest.raises(BrokenInvariant) as caught:
            store.ticks.commit_tick(lease, stranger, position=None, committed_at=NOON, tables={})
        assert caught.value.code == "RV-TICK-NOT-OPEN"


def test_a_committed_state_never_changes_afterwards(store: ControlStore, lease: Lease) -> None:
    early = store.ticks.open_tick(lease, "lake")
    commit(store, lease)
    with pytest.raises(SourceError) as caught:
        store.ticks.commit_tick(lease, early, position=None, committed_at=NOON, tables={})
    assert caught.value.code == "RV-TICK-OVERTAKEN"

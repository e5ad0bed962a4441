"""Time filters: rows come and go as the clock moves, without any commit of a table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.shop import NOT_YET, asked_again, checked, refresh, rows

import rollview
from rollview import Limits
from rollview.errors import BadInput, SourceError, UnsupportedView
from rollview.names import CLOCK
from rollview.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

START = datetime(2024, 5, 10, 12, tzinfo=UTC)
WEEK = "SELECT id, day FROM events WHERE day > current_date - INTERVAL 3 DAYS AND day <= current_date"
PER_KIND = "SELECT kind, COUNT(*) AS n, MAX(day) AS d FROM events WHERE day >= date_sub(current_date, 3) GROUP BY kind"
LATEST = "SELECT id FROM events WHERE at > now() - INTERVAL 2 HOURS AND localtimestamp() >= CAST(at AS TIMESTAMP_NTZ)"


@dataclass
class Time:
    """A time that tests set."""

    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def passes(self, **parts: float) -> None:
        self.now += timedelta(**parts)


@dataclass
class Place:
    wh: Warehouse
    time: Time


def events(first: int, last: int) -> list[tuple[Any, ...]]:
    """One event every 8 hours, from a day before START to a day after, and so on; some without a day."""
    made = []
    for i in range(first, last):
        at = START + timedelta(hours=8 * i)
        made.append((i, f"kind {i % 3}", None if i % 10 == 9 else at.date(), at))
    return made


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    time = Time()
    with rollview.open(tmp_path, clock=time, limits=getattr(request, "param", Limits())) as wh:
        wh.create_table("events", "id INT, kind STRING, day DATE, at TIMESTAMP", key=["id"])
        wh.create_table("kinds", "kind STRING, name STRING", key=["kind"])
        with wh.transaction() as tx:
            tx.insert("events", events(-15, 15))
            tx.insert("kinds", [(f"kind {i}", f"name {i}") for i in range(4)])
        yield Place(wh, time)


def window(today: date) -> list[tuple[Any, ...]]:
    kept = [(i, day) for i, _, day, _ in events(-15, 15) if day and today - timedelta(days=3) < day <= today]
    return sorted(kept, key=repr)


def test_rows_come_and_go_with_the_days(place: Place) -> None:
    wh, time = place.wh, place.time
    wh.create_view("week", WEEK, policy="strict")
    wh.create_view("per_kind", PER_KIND, policy="strict")
    assert rows(wh, "week") == window(START.date())
    ticks = {}
    for _ in range(3):
        time.passes(days=1)
        ticks[wh.tick] = rows(wh, "week")
        report = refresh(wh, "week")
        today = time.now.date()
        assert report.strategy == "incremental"
        assert rows(wh, "week") == window(today)
        gone, come = set(ticks[max(ticks)]) - set(window(today)), set(window(today)) - set(ticks[max(ticks)])
        assert gone and come and (report.inserted, report.deleted) == (len(come), len(gone))
        assert refresh(wh, "per_kind").strategy == "incremental"
    for tick, right in ticks.items():
        assert rows(wh, "week", at=tick) == right
    wh.apply("week", to=min(ticks))
    checked(wh, "week")
    assert rows(wh, "week") == ticks[min(ticks)]


@pytest.mark.parametrize(
    "place", [Limits(), Limits(small_rows=0), Limits(part_bytes=0)], ids=["driver", "spark", "parts"], indirect=True
)
def test_the_clock_moves_while_rows_change(place: Place) -> None:
    wh, time = place.wh, place.time
    wh.create_view("week", WEEK, "strict")
    wh.create_view(
        "named",
        "SELECT k.name, COUNT(e.id) AS n FROM kinds k LEFT JOIN (SELECT * FROM events WHERE day >= current_date) e "
        "ON e.kind = k.kind GROUP BY k.name",
        "strict",
    )
    wh.create_view(
        "sizes",
        "SELECT n, COUNT(*) AS kinds FROM "
        "(SELECT kind, COUNT(*) AS n FROM events WHERE day >= current_date GROUP BY kind) q GROUP BY n",
        "strict",
    )
    for step in range(3):
        time.passes(days=1, hours=2)
        with wh.transaction() as tx:
            tx.delete("events", where=f"id % 7 = {step}")
            tx.update("events", set={"day": "day + INTERVAL 2 DAYS"}, where=f"id % 5 = {step}")
            tx.insert("events", events(20 + 3 * step, 23 + 3 * step))
        for view in ("week", "named", "sizes"):
            assert refresh(wh, view).strategy == "incremental"


def test_a_day_that_goes_on_costs_nothing(place: Place) -> None:
    wh, time = place.wh, place.time
    wh.create_view("week", WEEK)
    tick = wh.tick
    time.passes(hours=11)
    assert asked_again(wh, "week")[1] == 0
    assert wh.tick == tick


def test_a_reading_of_the_same_day_costs_no_job(place: Place) -> None:
    """Another view has had the clock moved, by some hours."""
    wh, time = place.wh, place.time
    wh.create_view("week", WEEK)
    wh.create_view("latest", LATEST)
    time.passes(hours=8)
    refresh(wh, "latest")
    report = refresh(wh, "week")
    assert (report.upto, report.jobs, report.inserted) == (wh.tick, 0, 0)


def test_now_moves_with_every_refresh(place: Place) -> None:
    wh, time = place.wh, place.time
    wh.create_view("latest", LATEST, policy="strict")
    seen = []
    for _ in range(5):
        seen.append([i for (i,) in rows(wh, "latest")])
        time.passes(hours=4)
        assert refresh(wh, "latest").strategy == "incremental"
    assert seen == [[0], [], [1], [], [2]]
    time.passes(hours=-20)
    assert refresh(wh, "latest").strategy == "none"


def test_a_refresh_to_an_earlier_tick_moves_nothing(place: Place) -> None:
    wh, time = place.wh, place.time
    wh.create_view("week", WEEK)
    with wh.transaction() as tx:
        tx.delete("events", where="id = -1")
    time.passes(days=1)
    wh.refresh("week", to=wh.tick)
    checked(wh, "week")
    assert (-1, START.date()) not in rows(wh, "week")
    assert {day for _, day in rows(wh, "week")} == {START.date() - timedelta(days=d) for d in range(3)}


def test_views_over_views(place: Place) -> None:
    wh, time = place.wh, place.time
    wh.create_view("week", WEEK, "strict")
    wh.create_view("per_day", "SELECT day, COUNT(*) AS n FROM week GROUP BY day", "strict")
    wh.create_view("today", "SELECT n FROM per_day WHERE day = curdate()", "strict")
    for _ in range(2):
        time.passes(days=1)
        assert refresh(wh, "today").strategy == "incremental"
        checked(wh, "per_day", "week")
        assert len(rows(wh, "today")) == 1
    wh.create_view("late", "SELECT COUNT(*) AS n FROM week WHERE id > 0")
    assert refresh(wh, "late").upto == wh.tick


def test_changes_are_propagated_ahead(place: Place) -> None:
    wh, time = place.wh, place.time
    wh.create_view("week", WEEK)
    before, start = rows(wh, "week"), wh.tick
    time.passes(days=1)
    wh.propagate("week")
    assert rows(wh, "week") == before
    assert rows(wh, "week", at=wh.tick) == window(time.now.date())
    counts = {r["__count"] for r in wh.changes("week", start).collect()}
    assert counts == {1, -1}
    wh.apply("week")
    checked(wh, "week")
    time.passes(days=1)
    refresh(wh, "week")
    assert rows(wh, "week") == window(time.now.date())


def test_a_runner_reads_the_clock(place: Place) -> None:
    wh, time = place.wh, place.time
    wh.create_view("week", WEEK)
    wh.create_view("latest", LATEST)
    time.passes(days=1)
    runner = Runner(wh, lag=1e-6)
    while runner.round():
        pass
    assert rows(wh, "week") == window(time.now.date())
    checked(wh, "week", "latest")
    tick = wh.tick
    assert not runner.round() and wh.tick == tick
    patient = Runner(wh, lag=3600.0)
    time.passes(minutes=20)
    assert not patient.capture()
    time.passes(minutes=20)
    assert patient.capture()


def test_the_day_is_that_of_the_session(place: Place) -> None:
    wh, time = place.wh, place.time
    zone = "spark.sql.session.timeZone"
    kept = wh.spark.conf.get(zone)
    try:
        for given, hours in (("Pacific/Auckland", 12), ("GMT+11", 11)):
            wh.spark.conf.set(zone, given)
            assert wh._lake.day(START) == (START + timedelta(hours=hours)).date()
        wh.create_view("week", WEEK)
        assert rows(wh, "week") == window(START.date())
        time.passes(hours=2)
        refresh(wh, "week")
        assert rows(wh, "week") == window(START.date() + timedelta(days=1))
    finally:
        wh.spark.conf.set(zone, kept)


def test_the_clock_is_not_seen(place: Place) -> None:
    wh = place.wh
    wh.create_view("week", WEEK)
    assert {r["name"] for r in wh.status()} == {"events", "kinds", "week"}
    assert CLOCK not in {r["name"] for r in wh.maintain(keep=0.0)}
    assert "2 tables, 1 views" in repr(wh)
    with pytest.raises(BadInput, match="there is no table"):
        wh.create_view("clock", f"SELECT * FROM {CLOCK}")
    assert CLOCK in str(wh.explain("week"))


def test_a_view_is_replaced_and_dropped(place: Place) -> None:
    wh, time = place.wh, place.time
    wh.create_view("week", WEEK)
    wh.create_view("week", WEEK.replace("3 DAYS", "1 DAY"), or_replace=True)
    time.passes(days=1)
    refresh(wh, "week")
    wh.drop_view("week")
    wh.create_view("week", WEEK)
    with pytest.raises(SourceError) as caught:
        wh.table("week", at=1)
    assert caught.value.code == "RV-NO-STATE"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, now() AS t FROM events",
        "SELECT id FROM events WHERE kind = 'a' OR day < current_date",
        "SELECT kind, COUNT(*) AS n FROM events GROUP BY kind HAVING MAX(day) < current_date",
        "SELECT k.name FROM kinds k LEFT JOIN events e ON e.kind = k.kind AND day < current_date",
    ],
)
def test_the_clock_elsewhere_is_refused(place: Place, sql: str) -> None:
    """And nothing is left behind."""
    tick = place.wh.tick
    for policy in ("auto", "full"):
        with pytest.raises(UnsupportedView) as caught:
            place.wh.create_view("v", sql, policy)
        error = caught.value
        assert error.code == "RV-NONDETERMINISTIC" and "time filter" in (error.hint or "")
        assert error.position is not None and error.position.line == 1
    assert place.wh.tick == tick


def test_a_view_that_can_only_be_recomputed(place: Place) -> None:
    wh, time = place.wh, place.time
    wh.create_view("v", f"{NOT_YET} SELECT id, day FROM events, r WHERE n = 1 AND day > date_sub(current_date(), 3)")
    found = []
    for _ in range(2):
        time.passes(days=1)
        assert refresh(wh, "v").reason == "RV-SUBQUERY"
        found.append(rows(wh, "v"))
    assert len(found[0]) > len(found[1]) > 0
    assert rows(wh, "v", at=wh.tick - 1) == found[0]
    time.passes(hours=1)
    assert refresh(wh, "v").strategy == "none"


def test_a_column_that_is_called_like_the_clock(place: Place) -> None:
    wh = place.wh
    wh.create_table("odd", "id INT, current_date DATE, now INT")
    with wh.transaction() as tx:
        tx.insert("odd", [(1, START.date(), 1), (2, START.date() - timedelta(days=1), 2)])
    wh.create_view("v", "SELECT id, o.current_date AS d FROM odd o WHERE `current_date` < current_date AND now > 1")
    checked(wh, "v")
    assert [i for i, _ in rows(wh, "v")] == [2]


@pytest.mark.parametrize("place", [Limits(rewrite_bytes=0)], ids=["files"], indirect=True)
def test_a_moving_day_reads_two_days(place: Place) -> None:
    """On a table that is laid out by day, only the files of the day that comes and of the one that goes are read."""
    wh, time = place.wh, place.time
    wh.create_table("days", "day DATE, n INT", cluster=["day"])
    for d in range(-9, 4):
        with wh.transaction() as tx:
            tx.insert("days", [(START.date() + timedelta(days=d), n) for n in range(50)])
    wh.create_view("recent", "SELECT * FROM days WHERE day > current_date - INTERVAL 7 DAYS AND day <= current_date")
    wh.create_view("since", "SELECT n, COUNT(*) AS c FROM days WHERE day >= date_sub(current_date, 7) GROUP BY n")
    time.passes(days=1)
    for view, read in (("recent", 100), ("since", 50)):
        assert rows_read(wh, lambda name=view: wh.propagate(name)) == read  # type: ignore[misc]
        refresh(wh, view)


def rows_read(wh: Warehouse, work: Callable[[], object]) -> int:
    """The rows that the scans of some work read, as Spark counted them."""
    context, group = wh.spark.sparkContext, f"counted-{id(work)}"
    context.setJobGroup(group, "counted")
    try:
        work()
    finally:
        context.setJobGroup("", "")
    tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    return sum(store.lastStageAttempt(stage).inputRecords() for job in jobs if job for stage in job.stageIds)

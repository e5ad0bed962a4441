"""The end at every durable step: nothing is lost, nothing is applied twice, and the work goes on.

Most ends are simulated inside the shared Spark (steps.Crash); tests/faults/test_sigkill.py kills real processes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.faults.site import BRANCH, VIEWS, Site, follow, read

import rollview
from rollview import Limits
from rollview.steps import CRASH_AT, Crash

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


Ends = Callable[[str, Callable[[], object]], None]
USUAL = Limits()
BEFORE_COMMIT = ("transaction.opened", "transaction.logged")
AFTER_COMMIT = ("transaction.committed", "fold.merged", "transaction.folded")
REFRESH: dict[str, tuple[str, Limits]] = {
    "refresh.logged": ("totals", USUAL),
    "small.written": ("totals", USUAL),
    "refresh.merged": ("totals", USUAL),
    "refresh.noted": ("totals", USUAL),
    "refresh.recomputed": ("recomputed_names", USUAL),
    "apply.matched": ("joined", BRANCH),
    "apply.branch": ("joined", BRANCH),
}
AGAIN = ("small.written", "apply.matched", "apply.branch")
"""steps before the commit, which the next attempt comes by again"""
CAPTURE = ("capture.opened", "capture.logged", "capture.committed")
CREATE_TABLE = ("create_table.registered", "create_table.logged", "create_table.created")
ATTACH = ("attach.registered", "attach.shown", "attach.captured")
CREATE_VIEW = (
    "create_view.registered",
    "create_view.written",
    "create_view.computed",
    "create_view.shown",
    "create_view.defined",
    "start_logging.created",
)
DROP = ("drop.marked", "drop.dropped", "drop.emptied")
PROPAGATE = ("start_delta.created", "propagate.appended", "propagate.answered", "propagate.advanced")
APPLY = ("apply.rolled", "apply.noted")
MAINTAIN = ("maintain.forgot", "maintain.gathered", "maintain.unmarked", "maintain.expired")
"""tests/faults/test_propagation_kills.py"""
REPLACE = ("replace.built", "replace.ready", "replace.committed", "replace.shown")
ALTER = ("alter.noted", "alter.reshaped", "alter.committed")
"""tests/faults/test_redefinition_kills.py"""
EVOLVE = ("evolve.logged", "evolve.shown")
PARAMETERS = {
    *(*BEFORE_COMMIT, *AFTER_COMMIT, *REFRESH, *CAPTURE, *EVOLVE),
    *(*CREATE_TABLE, *ATTACH, *CREATE_VIEW, *DROP),
    *PROPAGATE,
    *APPLY,
    *MAINTAIN,
    *REPLACE,
    *ALTER,
}


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """All tests work on one warehouse, one accident after the other; in the end every view must still be right."""
    site = Site(tmp_path_factory.mktemp("site") / "warehouse")
    site.build()
    yield site
    with site.open() as wh:
        assert site.intact(wh)
        follow(wh, *VIEWS)


@pytest.fixture
def crash(monkeypatch: pytest.MonkeyPatch) -> Ends:
    """Work until the step is done, and abandon everything there."""

    def until(step: str, work: Callable[[], object]) -> None:
        monkeypatch.setenv(CRASH_AT, step)
        with pytest.raises(Crash, match=step):
            work()
        monkeypatch.delenv(CRASH_AT)

    return until


def test_every_durable_step_is_tried() -> None:
    """Each step in the source is a parameter here, or named in a test."""
    source = Path(rollview.__file__).parent.rglob("*.py")
    steps = {step for file in source for step in re.findall(r'reached\("([^"]+)"\)', file.read_text())}
    tried = "".join(file.read_text() for file in Path(__file__).parent.glob("*_kills.py"))
    assert steps == PARAMETERS | set(re.findall(r'crash\("([^"]+)"', tried))


@pytest.mark.parametrize("step", BEFORE_COMMIT)
def test_a_transaction_killed_before_its_commit_never_was(site: Site, crash: Ends, step: str) -> None:
    crash(step, lambda: site.change(site.open()))
    crash(step, lambda: site.change(site.open()))
    with site.open() as wh:
        assert site.intact(wh)
        site.change(wh)
        assert site.intact(wh)
        follow(wh, "totals")


@pytest.mark.parametrize("step", AFTER_COMMIT)
@pytest.mark.parametrize("limits", [USUAL, BRANCH], ids=["merge", "branch"])
def test_a_transaction_killed_after_its_commit_is_complete(site: Site, crash: Ends, step: str, limits: Limits) -> None:
    crash(step, lambda: site.change(site.open(limits)))
    site.move_on()
    with site.open() as wh:
        assert site.intact(wh)
        follow(wh, "totals")


def test_a_warehouse_that_is_open_elsewhere_sees_the_commit_of_a_dead_writer(site: Site, crash: Ends) -> None:
    """It once took the table as it was before, because nobody had folded the log into it."""
    with site.open() as witness:
        crash("transaction.committed", lambda: site.change(site.open()))
        site.move_on()
        follow(witness, "totals", "joined", "bag")
        assert site.intact(witness)


@pytest.mark.parametrize("step", ["fold.merged", "apply.matched", "apply.branch"])
def test_a_recovery_is_killed_as_well(site: Site, crash: Ends, step: str) -> None:
    crash("transaction.committed", lambda: site.change(site.open()))
    site.move_on()
    for _ in range(2):  # of two tables that are behind, or twice at the same one
        crash(step, lambda: site.open(BRANCH))
    with site.open() as wh:
        assert site.intact(wh)
        follow(wh, "totals", "bag")


@pytest.mark.parametrize("step", REFRESH)
def test_a_refresh_killed_anywhere_is_done_once(site: Site, crash: Ends, step: str) -> None:
    view, limits = REFRESH[step]
    with site.open() as wh:
        site.change(wh)
        if view == "recomputed_names":
            with wh.transaction() as tx:
                tx.upsert("s", [(2, f"name of turn {site.turn}")])
    crash(step, lambda: site.open(limits).refresh(view))
    if step in AGAIN:
        crash(step, lambda: site.open(limits).refresh(view))
    with site.open(limits) as wh:
        follow(wh, view, *(["over"] if view == "totals" else []))
        site.change(wh)
        follow(wh, view, *(["over"] if view == "totals" else []))


def test_a_refresh_killed_after_its_view_delta_goes_on_from_there(site: Site, crash: Ends) -> None:
    with site.open() as wh:
        wh.refresh()
        site.change(wh)
    crash("refresh.logged", lambda: site.open().refresh("totals"))
    crash("apply.rolled", lambda: site.open().refresh("totals"))
    with site.open() as wh:
        follow(wh, "totals", "over")


def test_first_rows_are_killed_with_and_without_a_reserve(
    site: Site, crash: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bound and rows never disagree, also for the view above; both ways of a refresh are met."""
    monkeypatch.setattr("rollview.plan.extent.SPARE", 1)
    with site.open() as wh:
        for _ in range(5):
            site.change(wh)
        wh.create_view("earliest", "SELECT id, x FROM r ORDER BY id LIMIT 2", policy="strict")
        wh.create_view("above", "SELECT COUNT(*) AS n, SUM(x) AS x FROM earliest", policy="strict")
    reasons = set()
    for step in ("refresh.logged", "refresh.merged", "refresh.noted", "refresh.logged", "refresh.merged"):
        with site.open() as wh:
            site.change(wh)
            gone = sorted(site.r)[:2]
            with wh.transaction() as tx:
                tx.delete("r", where=f"id IN ({gone[0]}, {gone[1]})")
            site.r = {key: row for key, row in site.r.items() if key not in gone}
        crash(step, lambda: site.open(BRANCH).refresh("earliest"))
        with site.open(BRANCH) as wh:
            follow(wh, "earliest", "above")
            reasons.add(wh.history("earliest", limit=1)[0]["reason"])
    with site.open() as wh:
        assert site.intact(wh)
        wh.drop_view("above")
        wh.drop_view("earliest")
    assert {None, "RV-RESERVE-USED"} <= reasons


def test_the_repair_of_a_log_is_killed_as_well(site: Site, crash: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view whose changes do not add up logs what its readers see."""
    with site.open() as wh, monkeypatch.context() as never:
        never.setattr("rollview.views.holds", lambda extent: False)
        wh.create_view("below", "SELECT g, SUM(x) AS x FROM r GROUP BY g")
        wh.create_view("above", "SELECT COUNT(*) AS n, SUM(x) AS x FROM below")
        wh.refresh()
        site.change(wh)
    crash("refresh.logged", lambda: site.open().refresh("below"))
    crash("refresh.logged", lambda: site.open().refresh("below"))
    crash("refresh.repaired", lambda: site.open().refresh("below"))
    with site.open() as wh:
        follow(wh, "below", "above")
        wh.drop_view("above")
        wh.drop_view("below")


def test_a_recompute_is_killed_after_it_warned_the_views_above(site: Site, crash: Ends) -> None:
    with site.open() as wh:
        wh.refresh()
        site.change(wh)
    crash("refresh.broken", lambda: site.open().refresh("totals", policy="full"))
    with site.open() as wh:
        follow(wh, "totals", "over")


@pytest.mark.parametrize("victim", ["view", "table"])
def test_a_compaction_is_killed_before_it_is_noted(
    site: Site, crash: Ends, monkeypatch: pytest.MonkeyPatch, victim: str
) -> None:
    with monkeypatch.context() as always:
        always.setattr("rollview.apply.compact.COMMITS", 1)
        always.setattr("rollview.apply.compact.FILES", 2)
        if victim == "table":
            crash("compact.rewritten", lambda: site.change(site.open()))
            site.move_on()
        else:
            with site.open() as wh, monkeypatch.context() as never:
                never.setattr("rollview.apply.compact.FILES", 10**6)
                site.change(wh)
            crash("compact.rewritten", lambda: site.open().refresh("joined"))
    with site.open() as wh:
        assert site.intact(wh)
        follow(wh, "joined", "bag")
        site.change(wh)
        follow(wh, "joined", "bag")


@pytest.mark.parametrize("step", CAPTURE)
def test_a_capture_killed_anywhere_takes_each_commit_once(site: Site, crash: Ends, step: str) -> None:
    with site.open() as wh:
        site.they_write(wh)
        site.they_write(wh)
    for _ in range(2):  # at the same commit, or at the next
        crash(step, lambda: site.open().refresh("followed"))
    with site.open() as wh:
        follow(wh, "followed")
        assert sum(v for _, v in read(wh, "followed")) == sum(v for _, v in read(wh, "theirs"))


@pytest.mark.parametrize("step", EVOLVE)
def test_a_capture_killed_while_it_follows_columns_follows_them_again(site: Site, crash: Ends, step: str) -> None:
    with site.open() as wh, site.lend(wh, "k INT, v INT, n INT, note STRING") as table:
        wh.create_view("of_lent", "SELECT k, SUM(v) AS v FROM lent GROUP BY k", policy="strict")
        wh.spark.sql(f"ALTER TABLE {table} DROP COLUMN note")
        wh.spark.sql(f"ALTER TABLE {table} ALTER COLUMN n TYPE BIGINT")
        wh.spark.sql(f"INSERT INTO {table} VALUES (1, 2, 3)")
        crash(step, lambda: site.open().refresh("of_lent"))
        crash(step, lambda: site.open().refresh("of_lent"))
        with site.open() as again:
            follow(again, "of_lent")
            assert [f.dataType.simpleString() for f in again.table("lent").schema] == ["int", "int", "bigint"]
            assert [tuple(r)[:4] for r in again.changes("lent", 0).collect()] == [(1, 2, 3, 1)]
        wh.drop_view("of_lent")


def test_a_capture_killed_at_a_gap_goes_over_it_again(site: Site, crash: Ends) -> None:
    with site.open() as wh, site.lend(wh, "k INT, v INT") as table:
        wh.create_view("of_lent", "SELECT k, SUM(v) AS v FROM lent GROUP BY k", policy="incremental")
        for statement in (
            f"INSERT INTO {table} VALUES (1, 2)",
            f"DELETE FROM {table}",
            f"INSERT INTO {table} VALUES (3, 4)",
        ):
            wh.spark.sql(statement)
        arguments = "'db.lent', older_than => TIMESTAMP '2100-01-01', retain_last => 1"
        wh.spark.sql(f"CALL {table.split('.')[0]}.system.expire_snapshots({arguments})")
        crash("capture.broken", lambda: site.open().refresh("of_lent", policy="full"))
        with site.open() as again:
            with pytest.raises(rollview.SourceError, match="RV-SNAPSHOT-EXPIRED"):
                again.refresh("of_lent")
            again.refresh("of_lent", policy="full")
            follow(again, "of_lent")
            assert read(again, "of_lent") == [(3, 4)]
        wh.drop_view("of_lent")


@pytest.mark.parametrize("step", CREATE_TABLE)
def test_a_table_killed_while_it_is_made_leaves_nothing(site: Site, crash: Ends, step: str) -> None:
    crash(step, lambda: site.open().create_table("fresh", "a INT", key=["a"]))
    with site.open() as wh:
        assert "fresh" not in {r["name"] for r in wh.status()}
        wh.create_table("fresh", "b STRING")
        with wh.transaction() as tx:
            tx.insert("fresh", [("x",)])
        assert read(wh, "fresh") == [("x",)]
        wh.drop_table("fresh")


@pytest.mark.parametrize("step", ATTACH)
def test_an_attachment_killed_half_way_leaves_nothing(site: Site, crash: Ends, step: str) -> None:
    source = rollview.sources.IcebergTable("their_files.db.events")
    crash(step, lambda: site.open().attach("fresh", source))
    with site.open() as wh:
        wh.attach("fresh", source)
        assert wh.table("fresh").count() == wh.table("theirs").count()
        wh.drop_table("fresh")
        assert wh.table("theirs").count() > 0


@pytest.mark.parametrize("step", CREATE_VIEW)
def test_a_view_killed_while_it_is_made_leaves_nothing(site: Site, crash: Ends, step: str) -> None:
    below = "bag" if step == "start_logging.created" else "joined"  # a view starts to log only once
    crash(step, lambda: site.open().create_view("fresh", f"SELECT COUNT(*) AS n FROM {below}"))
    with site.open() as wh:
        assert "fresh" not in {r["name"] for r in wh.status()}
        wh.create_view("fresh", "SELECT x FROM r")
        follow(wh, "fresh")
        wh.drop_view("fresh")


@pytest.mark.parametrize("step", DROP)
def test_a_drop_killed_anywhere_is_finished(site: Site, crash: Ends, step: str) -> None:
    with site.open() as wh:
        wh.create_view("fresh", "SELECT id, x FROM r")
    crash(step, lambda: site.open().drop_view("fresh"))
    with site.open() as wh:
        assert "fresh" not in {r["name"] for r in wh.status()}
        wh.create_view("fresh", "SELECT COUNT(*) AS n FROM r")
        assert read(wh, "fresh") == [(len(site.r),)]
        wh.drop_view("fresh")


def test_the_clean_up_is_killed_as_well(site: Site, crash: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    crash("create_view.shown", lambda: site.open().create_view("fresh", "SELECT id FROM r"))
    for step in DROP[1:]:
        crash(step, site.open)
    with site.open() as wh:
        wh.create_view("fresh", "SELECT x FROM r")
        follow(wh, "fresh")
        wh.drop_view("fresh")


def test_a_half_made_view_does_not_block_its_name_where_the_warehouse_is_open(site: Site, crash: Ends) -> None:
    with site.open() as wh:
        crash("create_view.computed", lambda: site.open().create_view("fresh", "SELECT id FROM r"))
        wh.create_view("fresh", "SELECT x FROM r")
        follow(wh, "fresh")
        wh.drop_view("fresh")


def test_opening_leaves_alone_what_another_process_is_making(site: Site) -> None:
    """A second process once dropped the view that the first was about to finish."""
    with site.open() as wh, wh._registry.making("slow"):
        wh._control.relations.create("slow", "view", [], created_tick=wh.tick)
        with site.open() as other:
            assert "slow" in {r["name"] for r in other.status()}
        wh._registry.drop_unfinished("slow")

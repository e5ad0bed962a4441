"""Refresh as the user sees it: reports, strategies and their reasons, ticks, history, status."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest
from tests.spark.shop import (
    BIG_SALES,
    CITIES,
    CITY_SALES,
    NOT_YET,
    add_sales,
    asked_again,
    checked,
    open_shop,
    refresh,
    rows,
    sale,
)

import rollview
from rollview import Limits, Report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rollview import Warehouse

PAIRS = "SELECT a.price, b.price AS other FROM sales a JOIN sales b ON a.store_id = b.item_id"
VIEWS = {"city_sales": CITY_SALES, "big_sales": BIG_SALES, "cities": CITIES, "pairs": PAIRS}
"""an aggregate, rows with a key, a bag, and a self-join as a bag"""

WAYS = [
    Limits(few_bytes=0, rewrite_bytes=0),
    Limits(small_rows=0),
    Limits(small_rows=0, few_bytes=0, rewrite_bytes=0),
]
RECOMPUTED = NOT_YET + "SELECT city, n FROM stores CROSS JOIN r"


@pytest.fixture(scope="module")
def wh(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_shop(tmp_path_factory.mktemp("refresh")) as warehouse:
        for name, sql in VIEWS.items():
            warehouse.create_view(name, sql, policy="incremental")
        warehouse.create_view("recomputed", RECOMPUTED)
        yield warehouse


def test_a_report_says_what_was_done(wh: Warehouse) -> None:
    before = wh.tick
    add_sales(wh, 100, price="100.00")
    with wh.transaction() as tx:
        tx.update("sales", set={"price": "price + 1"}, where="sale_id = 11")
        tx.delete("sales", where="sale_id = 12")
    report = refresh(wh, "big_sales")
    assert (report.view, report.strategy, report.reason) == ("big_sales", "incremental", None)
    assert (report.since, report.upto) == (before, before + 2 == wh.tick and wh.tick)
    assert report.delta_rows == 4
    assert report.inserted + report.updated == 2 and report.deleted in (1, 2)
    assert report.seconds > 0 and report.jobs and set(report.phases) <= {"read", "compute", "log", "apply", "compact"}
    assert "big_sales: incremental" in repr(report) and "<table>" in report._repr_html_()
    assert report.as_dict()["upto"] == wh.tick


def test_several_views_are_a_list_in_order(wh: Warehouse) -> None:
    add_sales(wh, 101)
    reports = wh.refresh("city_sales", "cities")
    assert [r.view for r in reports] == ["city_sales", "cities"]
    assert {r.view for r in wh.refresh()} == {*VIEWS, "recomputed"}
    checked(wh, *VIEWS, "recomputed")


def test_a_tick_that_does_not_concern_the_view_costs_nothing(wh: Warehouse) -> None:
    wh.refresh()
    with wh.transaction() as tx:
        tx.insert("items", [(50, "new")])
    report = wh.refresh("city_sales")
    assert isinstance(report, Report)
    assert (report.strategy, report.jobs, report.upto) == ("none", 0, tx.tick)
    assert next(r for r in wh.status() if r["name"] == "city_sales")["behind"] == 0
    assert refresh(wh, "big_sales").delta_rows <= 1


def test_nothing_new_runs_no_job_and_answers_at_once(wh: Warehouse) -> None:
    wh.refresh()
    seconds, jobs = asked_again(wh, "city_sales")
    assert seconds < 0.020 and jobs == 0


@pytest.mark.parametrize("view", VIEWS)
def test_one_changed_row_runs_at_most_six_jobs(wh: Warehouse, view: str) -> None:
    wh.refresh()
    first = 200 + 10 * list(VIEWS).index(view)
    add_sales(wh, first, price="77.00")
    inserted = refresh(wh, view)
    with wh.transaction() as tx:
        tx.update("sales", set={"price": "price + 1", "store_id": "2"}, where=f"sale_id = {first}")
    updated = refresh(wh, view)
    with wh.transaction() as tx:
        tx.delete("sales", where=f"sale_id = {first}")
    deleted = refresh(wh, view)
    for report in (inserted, updated, deleted):
        assert report.strategy == "incremental" and report.jobs is not None and report.jobs <= 6, report


def test_to_a_tick_and_to_a_time(wh: Warehouse) -> None:
    wh.refresh()
    ticks, times, states = [wh.tick], [dt.datetime.now(dt.UTC)], [rows(wh, "city_sales")]
    for i in range(3):
        ticks.append(add_sales(wh, 300 + i))
        times.append(dt.datetime.now(dt.UTC))
    first = refresh(wh, "city_sales", to=ticks[1])
    assert (first.since, first.upto) == (ticks[0], ticks[1])
    states.append(rows(wh, "city_sales"))
    second = refresh(wh, "city_sales", to=times[2])
    assert (second.since, second.upto) == (ticks[1], ticks[2])
    states.append(rows(wh, "city_sales"))
    back = refresh(wh, "city_sales", to=ticks[1])
    assert (back.strategy, back.upto) == ("none", ticks[2])
    refresh(wh, "city_sales")
    states.append(rows(wh, "city_sales"))
    for tick, moment, state in zip(ticks, times, states, strict=True):
        assert rows(wh, "city_sales", at=tick) == state == rows(wh, "city_sales", at=moment)
    assert states[0] != states[1] != states[2] != states[3]


def test_a_view_is_read_at_ticks_where_it_never_stood(wh: Warehouse) -> None:
    """It was once shown as it had been before."""
    wh.refresh()
    start = rows(wh, "cities")
    middle = add_sales(wh, 400)
    add_sales(wh, 401)
    wh.refresh("cities")
    assert len(rows(wh, "cities", at=middle)) == len(start) + 1
    assert len(rows(wh, "cities")) == len(start) + 2


def test_changes_of_a_table(wh: Warehouse) -> None:
    since = wh.tick
    add_sales(wh, 500)
    with wh.transaction() as tx:
        tx.update("sales", set={"price": "1"}, where="sale_id = 500")
    found = [tuple(r) for r in wh.changes("sales", since).orderBy("__tick", "__count").collect()]
    assert [(r[0], r[-2], r[-1] - since) for r in found] == [(500, 1, 1), (500, -1, 2), (500, 1, 2)]
    assert wh.changes("sales", since, since + 1).count() == 1
    assert wh.changes("sales", wh.tick).count() == 0


def test_history_keeps_predictions_and_what_came_of_them(wh: Warehouse) -> None:
    add_sales(wh, 600)
    report = refresh(wh, "city_sales")
    newest, *older = wh.history("city_sales")
    assert (newest["strategy"], newest["upto"], newest["jobs"]) == ("incremental", wh.tick, report.jobs)
    assert newest["predicted"] > 0 and newest["seconds"] == report.seconds
    assert newest["phases"] == dict(report.phases)
    assert older[-1]["strategy"] == "create"
    assert {r["view"] for r in wh.history()} >= set(VIEWS)
    assert "city_sales" in repr(wh.history()) and "<table>" in wh.history()._repr_html_()


def test_status_says_how_far_each_view_is_behind(wh: Warehouse) -> None:
    wh.refresh()
    add_sales(wh, 700)
    add_sales(wh, 701)
    behind = {r["name"]: (r["kind"], r["behind"], r["policy"]) for r in wh.status()}
    assert behind["city_sales"] == ("view", 2, "incremental")
    assert behind["recomputed"] == ("view", 0, "auto")
    assert behind["sales"] == ("table", 0, None)
    wh.refresh()
    assert all(r["behind"] == 0 for r in wh.status())
    assert "city_sales" in repr(wh.status())


def test_policy_full_recomputes_and_says_so(wh: Warehouse) -> None:
    wh.create_view("full_sales", CITY_SALES, policy="full")
    add_sales(wh, 800)
    report = refresh(wh, "full_sales")
    assert (report.strategy, report.reason) == ("recompute", "RV-POLICY-FULL")


def test_a_policy_for_once_does_not_stay(wh: Warehouse) -> None:
    """It once replaced the policy of a view that others read."""
    wh.create_view("once", CITY_SALES, policy="strict")
    wh.create_view("over_once", "SELECT COUNT(*) AS n FROM once")
    add_sales(wh, 810)
    assert refresh(wh, "once", policy="full").reason == "RV-POLICY-FULL"
    add_sales(wh, 811)
    assert refresh(wh, "once").strategy == "incremental"
    assert next(r for r in wh.status() if r["name"] == "once")["policy"] == "strict"
    checked(wh, "once")
    assert refresh(wh, "over_once").reason == "RV-UPSTREAM-RECOMPUTED"


def test_what_cannot_be_maintained_is_recomputed_with_its_reason(wh: Warehouse) -> None:
    with wh.transaction() as tx:
        tx.insert("stores", [(9, "Paris")])
    report = refresh(wh, "recomputed")
    assert (report.strategy, report.reason) == ("recompute", "RV-SUBQUERY")
    assert "RV-SUBQUERY" in str(wh.explain("recomputed"))
    assert (9, "Paris") in rows(wh, "stores") and ("Paris", 2) in rows(wh, "recomputed")


def test_a_strict_view_refuses_to_be_recomputed(wh: Warehouse) -> None:
    with pytest.raises(rollview.RecomputeRefused, match="RV-SUBQUERY"):
        wh.create_view("never", RECOMPUTED, policy="strict")
    wh.create_view("below_strict", CITY_SALES)
    wh.create_view("strict_above", "SELECT n, COUNT(*) AS k FROM below_strict GROUP BY n", policy="strict")
    add_sales(wh, 820)
    wh.refresh("below_strict", policy="full")
    with pytest.raises(rollview.RecomputeRefused, match="RV-UPSTREAM-RECOMPUTED"):
        wh.refresh("strict_above")
    assert wh.history("strict_above")[0]["error"]
    assert refresh(wh, "strict_above", policy="full").strategy == "recompute"
    add_sales(wh, 821)
    assert refresh(wh, "strict_above").strategy == "incremental"


def test_what_fails_only_on_rows_that_never_were_together_is_recomputed(wh: Warehouse) -> None:
    """A new row meets what another table was before, where it has no place: 6 / 0 is in neither state."""
    wh.create_table("numerators", "k INT, x INT", key=["k"])
    wh.create_table("denominators", "k INT, y INT", key=["k"])
    with wh.transaction() as tx:
        tx.insert("numerators", [(2, 8)])
        tx.insert("denominators", [(1, 0), (2, 4)])
    query = "SELECT k, x / y AS q FROM numerators JOIN denominators USING (k)"
    wh.create_view("shares", query)
    wh.create_view("strict_shares", query, policy="strict")
    with wh.transaction() as tx:
        tx.insert("numerators", [(1, 6)])
        tx.update("denominators", set={"y": "3"}, where="k = 1")
    with pytest.raises(rollview.BadInput, match="RV-UNDEFINED"):
        wh.propagate("shares")
    report = refresh(wh, "shares")
    assert (report.strategy, report.reason) == ("recompute", "RV-UNDEFINED")
    with pytest.raises(rollview.BadInput, match="RV-DIVIDE-BY-ZERO"):
        wh.refresh("strict_shares")
    wh.drop_view("strict_shares")
    with wh.transaction() as tx:
        tx.update("denominators", set={"y": "2"}, where="k = 2")
    assert refresh(wh, "shares").strategy == "incremental"
    with wh.transaction() as tx:
        tx.update("denominators", set={"y": "0"}, where="k = 1")
    with pytest.raises(rollview.BadInput, match="RV-DIVIDE-BY-ZERO"):
        wh.refresh("shares")
    assert rows(wh, "shares") == [(1, 2.0), (2, 4.0)]
    with wh.transaction() as tx:
        tx.update("denominators", set={"y": "1"}, where="k = 1")
    refresh(wh, "shares")
    wh.drop_view("shares")


def test_what_spark_cannot_plan_is_recomputed(wh: Warehouse) -> None:
    """Spark 4.1 pushes (x IN (…) OR NULL) IS NULL down to a table, and breaks down over it; the padded rows of the
    change have such NULLs, the view's own text has not."""
    wh.create_table("kept", "id INT, other INT, c INT", key=["id"])
    wh.create_table("padded", "id INT, kept_id INT", key=["id"])
    with wh.transaction() as tx:
        tx.insert("kept", [(i, i % 3, i % 4 or None) for i in range(9)])
        tx.insert("padded", [(1, 2), (2, 3)])
    text = """SELECT k.id, p.id AS padded_id FROM kept k LEFT JOIN padded p ON p.kept_id = k.id
        WHERE (k.c IN (0, 1) OR p.kept_id = k.other) IS NULL"""
    wh.create_view("unplanned", text)
    wh.create_view("unplanned_strict", text, policy="strict")
    with wh.transaction() as tx:
        tx.delete("padded", where="id = 2")
        tx.insert("kept", [(20, 1, None)])
    report = refresh(wh, "unplanned")
    assert (report.strategy, report.reason) == ("recompute", "RV-SPARK-PLAN")
    with pytest.raises(rollview.SourceError, match="RV-SPARK-PLAN"):
        wh.refresh("unplanned_strict")
    wh.refresh("unplanned_strict", policy="full")
    for view in ("unplanned", "unplanned_strict"):
        wh.drop_view(view)


def test_a_large_change_is_recomputed_because_it_is_cheaper(wh: Warehouse) -> None:
    wh.create_table("numbers", "id BIGINT, g INT", key=["id"])
    wh.create_view("groups", "SELECT g, COUNT(*) AS n FROM numbers GROUP BY g")
    with wh.transaction() as tx:
        tx.insert("numbers", wh.spark.range(200_000).selectExpr("id", "CAST(id % 100 AS INT) AS g"))
    report = refresh(wh, "groups")
    assert (report.strategy, report.reason) == ("recompute", "RV-CHEAPER")
    assert report.predicted is not None
    with wh.transaction() as tx:
        tx.insert("numbers", [(-1, 5)])
    assert refresh(wh, "groups").strategy == "incremental"
    wh.create_view("other_groups", "SELECT g, COUNT(*) AS n FROM numbers GROUP BY g", policy="incremental")
    with wh.transaction() as tx:
        tx.insert("numbers", wh.spark.range(200_000, 310_000).selectExpr("id", "CAST(id % 101 AS INT) AS g"))
    large = refresh(wh, "other_groups")
    assert (large.strategy, large.delta_rows) == ("incremental", 110_000)


def test_a_failed_refresh_changes_nothing_and_is_recorded(wh: Warehouse) -> None:
    wh.create_table("divisors", "id INT, d INT", key=["id"])
    with wh.transaction() as tx:
        tx.insert("divisors", [(1, 2)])
    wh.create_view("quotients", "SELECT id, 10 / d AS q FROM divisors")
    with wh.transaction() as tx:
        tx.insert("divisors", [(2, 0)])
    for _ in range(2):
        with pytest.raises(rollview.BadInput, match="RV-DIVIDE-BY-ZERO"):
            wh.refresh("quotients")
    assert rows(wh, "quotients") == [(1, 5.0)]
    assert [h["strategy"] for h in wh.history("quotients")] == ["failed", "failed", "create"]
    with wh.transaction() as tx:
        tx.delete("divisors", where="d = 0")
    assert refresh(wh, "quotients").strategy == "incremental"
    wh.drop_view("quotients")


def test_both_executors_and_a_branch_take_turns_on_one_view(wh: Warehouse) -> None:
    names = list(VIEWS)
    for turn, limits in enumerate(WAYS):
        other = rollview.open(wh.path, limits=limits)
        with other.transaction() as tx:
            tx.upsert("sales", [sale(i, "55.00") for i in range(5 + turn)] + [sale(900 + turn)])
            tx.delete("sales", where=f"sale_id = {20 + turn}")
            tx.update("stores", set={"city": f"'Rome {turn}'"}, where="store_id = 3")
        for name in names:
            assert refresh(other, name).strategy == "incremental"
        other.close()
    add_sales(wh, 950)
    wh.refresh()
    checked(wh, *names)

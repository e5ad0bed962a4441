"""CREATE OR REPLACE of views: what is stored stays where it can, readers see the old rows or the new ones."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.shop import CITY_SALES, NOT_YET, add_sales, checked, open_shop, refresh, rows

import rollview
from rollview.lake.jobs import JobCounter
from rollview.names import ENGINE_NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rollview import Report, Warehouse

JOINED = "SELECT sale_id, city, price FROM sales JOIN stores USING (store_id)"


@pytest.fixture(scope="module")
def wh(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_shop(tmp_path_factory.mktemp("redefined")) as warehouse:
        yield warehouse


def replaced(wh: Warehouse, name: str, sql: str, policy: str = "incremental") -> Report:
    report = wh.create_view(name, sql, policy, or_replace=True)
    assert isinstance(report, rollview.Report) and report.view == name
    checked(wh, name)
    return report


def stored_rows(wh: Warehouse, view: str) -> tuple[str, int | None]:
    """The table that holds the extent, and its snapshot."""
    extent = wh._stored(view).extent
    commit = wh._lake.commit(extent)
    assert commit is not None
    return extent.name, commit.snapshot_id


def engine_tables(wh: Warehouse) -> set[str]:
    return {name for _, name in wh._lake.catalog.list_tables(ENGINE_NAMESPACE)}


_ids = iter(range(1000, 10**6))


def follows(wh: Warehouse, *views: str) -> None:
    """The views go on from changes."""
    add_sales(wh, *(next(_ids) for _ in range(3)))
    with wh.transaction() as tx:
        tx.delete("sales", where=f"sale_id = {next(_ids) - 2}")
        tx.update("sales", set={"price": "price + 1"}, where="sale_id < 5")
    for view in views:
        assert refresh(wh, view).strategy == "incremental"


def test_a_text_that_means_the_same_changes_nothing_that_is_stored(wh: Warehouse) -> None:
    wh.create_view("same", CITY_SALES)
    wh.schedule("same", lag=7)
    before, tick = stored_rows(wh, "same"), wh.tick
    add_sales(wh, 100)
    jobs = JobCounter(wh.spark)
    text = CITY_SALES.replace("sales JOIN stores", "sales AS s  JOIN stores /* all */").replace("AVG", "avg")
    with jobs.here():
        report = wh.create_view("same", text, "strict", or_replace=True)
    assert isinstance(report, rollview.Report)
    assert (report.strategy, report.reason, report.upto) == ("none", "RV-DATA-KEPT", tick)
    assert jobs.count == 0 and stored_rows(wh, "same") == before
    told = next(r for r in wh.status() if r["name"] == "same")
    assert (told["policy"], told["tick"], told["reason"]) == ("strict", tick, "RV-DATA-KEPT")
    assert wh._stored("same").definition["schedule"] == {"lag": 7}
    checked(wh, "same")
    follows(wh, "same")


@pytest.mark.parametrize(
    "select",
    [
        "SELECT city AS town, AVG(price) AS mean, SUM(price) AS total",
        "SELECT SUM(price) / 2 AS half, city",
        "SELECT city, COUNT(*) AS n",
    ],
)
@pytest.mark.parametrize("having", ["", " HAVING COUNT(*) > 11", " ORDER BY SUM(price) DESC, city LIMIT 1"])
def test_readers_of_groups_see_something_else_of_the_same_rows(wh: Warehouse, select: str, having: str) -> None:
    wh.create_view("groups", CITY_SALES, or_replace=True, policy="incremental")
    before = stored_rows(wh, "groups")
    jobs = JobCounter(wh.spark)
    with jobs.here():
        query = f"{select} FROM sales JOIN stores USING (store_id) GROUP BY city{having}"
        report = wh.create_view("groups", query, "incremental", or_replace=True)
    assert isinstance(report, rollview.Report) and report.reason == "RV-DATA-KEPT"
    assert jobs.count == 0 and stored_rows(wh, "groups") == before
    checked(wh, "groups")
    follows(wh, "groups")
    wh.drop_view("groups")


def test_readers_of_rows_see_something_else_of_the_same_rows(wh: Warehouse) -> None:
    """Also a view above, which reads the stored changes of one whose columns are now called otherwise."""
    wh.create_view("rows", JOINED)
    wh.create_view("above", "SELECT city, SUM(price) AS s FROM rows GROUP BY city", policy="incremental")
    before = stored_rows(wh, "rows")
    text = JOINED.replace("sale_id, city, price", "price, city, sale_id AS no, price AS again")
    assert replaced(wh, "rows", text).reason == "RV-DATA-KEPT"
    assert stored_rows(wh, "rows") == before and wh.table("rows").columns == ["price", "city", "no", "again"]
    with pytest.raises(rollview.BadInput, match="RV-UPSTREAM-REDEFINED"):
        wh.verify("above")
    report = refresh(wh, "above")
    assert (report.strategy, report.reason) == ("recompute", "RV-UPSTREAM-REDEFINED")
    since = wh.tick
    follows(wh, "rows", "above")
    assert wh.changes("rows", since).columns == ["price", "city", "no", "again", "__count", "__tick"]
    wh.propagate("rows")
    assert rows(wh, "rows", at=wh.tick) == rows(wh, "rows")
    wh.create_view("names", "SELECT no, COUNT(again) AS n FROM rows GROUP BY no", policy="incremental")
    follows(wh, "rows", "names", "above")
    with rollview.open(wh.path, spark=wh.spark) as again:
        follows(again, "rows", "names", "above")
    for name in ("names", "above", "rows"):
        wh.drop_view(name)


def test_another_query_is_built_beside_the_old_rows(wh: Warehouse) -> None:
    wh.create_view("beside", CITY_SALES)
    wh.schedule("beside", lag=7)
    old = stored_rows(wh, "beside")
    held = wh.table("beside")
    was = sorted(held.collect(), key=repr)
    assert replaced(wh, "beside", "SELECT city, MAX(price) AS most FROM sales JOIN stores USING (store_id) GROUP BY 1")
    assert wh.table("beside").columns == ["city", "most"]
    assert wh._stored("beside").definition["schedule"] == {"lag": 7}
    assert stored_rows(wh, "beside")[0] != old[0]
    assert sorted(held.collect(), key=repr) == was, "who has the old view in hand reads on"
    follows(wh, "beside")
    assert [r["name"] for r in wh.status() if "beside" in r["name"]] == ["beside"]
    with rollview.open(wh.path, spark=wh.spark) as again:
        checked(again, "beside")
    assert sorted(held.collect(), key=repr) == was
    wh.maintain()
    assert old[0] in engine_tables(wh), "it was replaced within the time to keep"
    wh.maintain(keep=0.0)
    assert old[0] not in engine_tables(wh)
    assert not list((wh.path / ENGINE_NAMESPACE / old[0]).rglob("*.parquet"))
    replaced(wh, "beside", CITY_SALES)
    follows(wh, "beside")
    wh.drop_view("beside")
    assert not [t for t in engine_tables(wh) if "beside" in t]
    wh.create_view("beside", CITY_SALES, policy="incremental")
    follows(wh, "beside")
    wh.drop_view("beside")


def test_readers_are_never_without_a_view(wh: Warehouse) -> None:
    queries = [CITY_SALES, "SELECT city FROM stores", f"{CITY_SALES} HAVING COUNT(*) > 1"]
    wh.create_view("always", queries[0])
    session = wh.spark.newSession()
    for key in ("", ".type", ".uri", ".warehouse", ".cache-enabled", ".jdbc.schema-version"):
        session.conf.set(f"spark.sql.catalog.rollview{key}", wh.spark.conf.get(f"spark.sql.catalog.rollview{key}"))
    errors: list[Any] = []
    counted: list[int] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                counted.append(len(session.sql("SELECT * FROM rollview.default.always").collect()))
            except Exception as error:
                errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for query in (*queries[1:], *queries):
            replaced(wh, "always", query)
    finally:
        done.set()
        reader.join()
    assert not errors and counted and set(counted) <= {2, 3}
    wh.drop_view("always")


def test_views_above_are_recomputed_once(wh: Warehouse) -> None:
    wh.create_view("low", CITY_SALES)
    wh.create_view("middle", "SELECT n, SUM(total) AS total FROM low GROUP BY n", policy="incremental")
    wh.create_view("high", "SELECT COUNT(*) AS k, SUM(total) AS total FROM middle", policy="incremental")
    wh.create_view("strictly", "SELECT SUM(n) AS n FROM low", policy="strict")
    old = rows(wh, "high")
    with_condition = CITY_SALES.replace("GROUP BY", "WHERE price > 3 GROUP BY")
    replaced(wh, "low", with_condition)
    assert rows(wh, "high") == old
    assert next(r for r in wh.status() if r["name"] == "middle")["behind"] == 1
    with pytest.raises(rollview.BadInput, match="RV-UPSTREAM-REDEFINED"):
        wh.propagate("middle")
    reports = {r.view: r for r in wh.refresh("middle", "high")}
    assert (reports["middle"].strategy, reports["middle"].reason) == ("recompute", "RV-UPSTREAM-REDEFINED")
    assert (reports["high"].strategy, reports["high"].reason) == ("recompute", "RV-UPSTREAM-RECOMPUTED")
    checked(wh, "low", "middle", "high")
    with pytest.raises(rollview.RollviewError, match="RV-UPSTREAM-REDEFINED"):
        wh.refresh("strictly")
    assert refresh(wh, "strictly", policy="full").strategy == "recompute"
    follows(wh, "low", "middle", "high", "strictly")
    replaced(wh, "low", f"{with_condition} HAVING COUNT(*) > 12")
    assert refresh(wh, "middle").reason == "RV-UPSTREAM-REDEFINED"
    wh.refresh("high")
    follows(wh, "low", "middle", "high")
    for name in ("strictly", "high", "middle", "low"):
        wh.drop_view(name)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT city FROM stores",
        "SELECT city, CAST(COUNT(*) AS INT) AS n FROM stores GROUP BY city",
        "SELECT city AS c, COUNT(*) AS n FROM sales JOIN stores USING (store_id) GROUP BY city",
        "SELECT city, 1L AS n FROM stores",
        "SELECT above.* FROM above",
        "SELECT used.* FROM used",
    ],
)
def test_what_views_above_cannot_read_is_refused_and_nothing_is_lost(wh: Warehouse, query: str) -> None:
    sql = "SELECT city, COUNT(*) AS n, SUM(price) AS p FROM sales JOIN stores USING (store_id) GROUP BY city"
    wh.create_view("used", sql, policy="incremental")
    joined = "SELECT u.city, u.n, s.store_id FROM used u JOIN stores s ON u.city = s.city"
    wh.create_view("above", joined, policy="incremental")
    before = (rows(wh, "used"), stored_rows(wh, "used"), engine_tables(wh))
    with pytest.raises(rollview.BadInput, match=r"RV-RELATION-IN-USE|RV-VIEW-CYCLE"):
        wh.create_view("used", query, or_replace=True)
    assert (rows(wh, "used"), stored_rows(wh, "used"), engine_tables(wh)) == before
    assert replaced(wh, "used", sql.replace(", SUM(price) AS p", "")).reason == "RV-DATA-KEPT"
    wh.refresh("above")
    follows(wh, "used", "above")
    wh.drop_view("above")
    wh.drop_view("used")


def test_a_new_query_that_fails_leaves_the_old_view(wh: Warehouse) -> None:
    wh.create_view("fails", CITY_SALES, policy="incremental")
    before, tables = rows(wh, "fails"), engine_tables(wh)
    for bad in ("SELECT nowhere FROM stores", "SELECT store_id / (store_id - 1) AS x FROM stores"):
        with pytest.raises(rollview.BadInput):
            wh.create_view("fails", bad, or_replace=True)
        assert rows(wh, "fails") == before and engine_tables(wh) == tables
    follows(wh, "fails")
    wh.drop_view("fails")


def test_views_that_are_recomputed(wh: Warehouse) -> None:
    recomputed = f"{NOT_YET} SELECT city, n FROM stores CROSS JOIN r"
    wh.create_view("again", recomputed)
    before = stored_rows(wh, "again")
    assert replaced(wh, "again", recomputed, "full").reason == "RV-DATA-KEPT"
    assert stored_rows(wh, "again") == before
    assert replaced(wh, "again", f"{recomputed} WHERE n = 1", "auto").reason == "RV-SUBQUERY"
    replaced(wh, "again", "SELECT city FROM stores")
    replaced(wh, "again", recomputed, "auto")
    wh.drop_view("again")


def test_the_old_view_is_refreshed_while_the_new_one_is_built(wh: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new one is not behind the old one when it takes over."""
    wh.create_view("busy", CITY_SALES, policy="incremental")
    built = wh._upkeep.creation.view

    def slowly(*given: Any, **options: Any) -> Any:
        report = built(*given, **options)
        follows(wh, "busy")
        wh.maintain(keep=0.0)
        return report

    monkeypatch.setattr(wh._upkeep.creation, "view", slowly)
    replaced(wh, "busy", "SELECT city, COUNT(DISTINCT item_id) AS i FROM sales JOIN stores USING (store_id) GROUP BY 1")
    assert next(r for r in wh.status() if r["name"] == "busy")["tick"] == wh.tick
    follows(wh, "busy")
    wh.drop_view("busy")

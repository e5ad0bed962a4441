"""ORDER BY … LIMIT with a reserve: which refresh reads what, and bounds of every type."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.table.snapshots import Operation
from sqlglot import exp
from tests.spark.shop import checked, refresh, rows

import rollview
from rollview import BadInput, Limits
from rollview.apply.first_rows import read, said, stock_at
from rollview.lake.arrow import literal
from rollview.names import PROPERTY_RESERVE
from rollview.plan.emit import sql
from rollview.plan.reserve import FULL, USED, Stock
from rollview.propagate.versioned import Versioned

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse
    from rollview.algebra.relation import Scan

DEAREST_PER_SHOP = (
    "SELECT id, shop, price FROM sales QUALIFY ROW_NUMBER() OVER (PARTITION BY shop ORDER BY price DESC, id) <= 2"
)
DEAREST = "SELECT id, shop, price FROM sales ORDER BY price DESC, id LIMIT 3"


@pytest.fixture(autouse=True)
def few_in_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollview.plan.extent.SPARE", 4)


def shop(path: Path, sales: int = 40, **options: Any) -> Warehouse:
    wh = rollview.open(path, **options)
    wh.create_table("sales", "id INT, shop INT, price DECIMAL(10,2)", key=["id"])
    wh.create_table("shops", "shop INT, city STRING", key=["shop"])
    with wh.transaction() as tx:
        tx.insert("shops", [(s, f"city {s % 2}") for s in range(4)])
        tx.insert("sales", [(i, i % 4, f"{i}.50") for i in range(sales)])
    return wh


def stock(wh: Warehouse, view: str) -> Stock:
    extent = wh._stored(view, "view").extent
    commit = wh._lake.commit(extent)
    assert commit is not None
    found = stock_at(wh._lake, extent, commit.snapshot_id)
    assert found is not None
    return found


def rewritten(wh: Warehouse, view: str) -> bool:
    """Did the last commit only rewrite files?"""
    snapshot = wh._lake.load(wh._stored(view, "view").extent).current_snapshot()
    assert snapshot is not None and snapshot.summary is not None
    return snapshot.summary.operation is Operation.REPLACE


def delete(wh: Warehouse, *ids: int) -> None:
    with wh.transaction() as tx:
        tx.delete("sales", where=f"id IN ({', '.join(map(str, ids))})")


EXECUTORS = pytest.mark.parametrize(
    "limits", [Limits(), Limits(small_rows=0), Limits(few_bytes=0, rewrite_bytes=0)], ids=["small", "large", "branch"]
)


@pytest.fixture
def states_read(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The states of tables that are read."""
    found: set[str] = set()
    bind = Versioned.bind

    def seen(self: Versioned, scan: Scan) -> exp.Table:
        found.add(scan.at.name)
        return bind(self, scan)

    monkeypatch.setattr(Versioned, "bind", seen)
    return found


@EXECUTORS
def test_deletions_of_shown_rows_rarely_derive_anew(
    spark: SparkSession, tmp_path: Path, states_read: set[str], limits: Limits
) -> None:
    with shop(tmp_path / "w", limits=limits) as wh:
        wh.create_view("dearest", DEAREST, policy="strict")
        assert (stock(wh, "dearest").rows, len(stock(wh, "dearest").bound or ())) == (7, 2)
        reasons: Counter[str | None] = Counter()
        for i in range(39, 28, -1):
            states_read.clear()
            delete(wh, i)
            report = refresh(wh, "dearest")
            assert report.strategy == "incremental"
            assert [row[0] for row in sorted(rows(wh, "dearest"), reverse=True)] == [i - 1, i - 2, i - 3]
            assert states_read == ({"DELTA", "AFTER"} if report.reason else {"DELTA"})
            assert (report.rederived > 0) == (report.reason == USED)
            reasons[report.reason] += 1
        assert reasons == {None: 9, USED: 2}
        assert [r["reason"] for r in wh.history("dearest")].count(USED) == 2


@EXECUTORS
def test_the_first_rows_of_each_group_have_a_reserve_of_their_own(
    spark: SparkSession, tmp_path: Path, states_read: set[str], limits: Limits
) -> None:
    """Of each shop's ten sales five are stored. Shop 3 loses its dearest one at each step, and shop 2 gains one."""
    with shop(tmp_path / "w", limits=limits) as wh:
        wh.create_view("dearest", DEAREST_PER_SHOP, policy="strict")
        wh.create_view("above", "SELECT shop, SUM(price) AS price FROM dearest GROUP BY shop", policy="strict")
        assert stored(wh, "dearest") == {0: 5, 1: 5, 2: 5, 3: 5}
        derived = []
        for turn, gone in enumerate((39, 35, 31, 27, 23, 19)):
            states_read.clear()
            delete(wh, gone)
            with wh.transaction() as tx:
                tx.insert("sales", [(100 + turn, 2, f"{100 + turn}.00"), (200 + turn, 1, "0.10")])
            since, before = wh.tick - 1, Counter(rows(wh, "dearest"))
            report = refresh(wh, "dearest")
            assert report.strategy == "incremental" and report.rederived in (0, 1)
            assert states_read == ({"DELTA", "AFTER"} if report.rederived else {"DELTA"})
            derived.append(report.rederived)
            assert stored(wh, "dearest")[1] == 5, "what comes after the stored rows is not stored"
            assert refresh(wh, "above").strategy == "incremental"
            for *row, count, _ in wh.changes("dearest", since).collect():
                before[tuple(row)] += count
            assert +before == Counter(rows(wh, "dearest"))
        assert derived == [0, 0, 0, 1, 0, 0]


def test_a_group_that_only_gains_first_rows_is_cut_back(
    spark: SparkSession, tmp_path: Path, states_read: set[str]
) -> None:
    with shop(tmp_path / "w") as wh:
        wh.create_view("dearest", DEAREST_PER_SHOP, policy="strict")
        wh.create_view("above", "SELECT COUNT(*) AS n, MIN(price) AS price FROM dearest", policy="strict")
        for turn in range(1, 4):
            states_read.clear()
            with wh.transaction() as tx:
                tx.insert("sales", [(turn * 100 + i, 1, f"{turn * 100 + i}.00") for i in range(9)])
            report = refresh(wh, "dearest")
            assert report.rederived == 0 and states_read == {"DELTA"}
            assert stored(wh, "dearest") == {0: 5, 1: {1: 14, 2: 5, 3: 14}[turn], 2: 5, 3: 5}
            refresh(wh, "above")


def stored(wh: Warehouse, view: str) -> dict[int, int]:
    """How many rows of each shop are."""
    extent = wh._lake.load(wh._stored(view, "view").extent).scan().to_arrow()
    return dict(sorted(Counter(extent.column("shop").to_pylist()).items()))


def test_rows_beyond_the_bound_change_nothing(spark: SparkSession, tmp_path: Path) -> None:
    with shop(tmp_path / "w") as wh:
        wh.create_view("dearest", DEAREST, policy="incremental")
        with wh.transaction() as tx:
            tx.insert("sales", [(100, 1, "0.10"), (101, 1, None)])
            tx.update("sales", set={"price": "price / 2"}, where="id < 10")
        before = wh._lake.commit(wh._stored("dearest").extent)
        report = refresh(wh, "dearest")
        assert (report.strategy, report.inserted, report.deleted) == ("incremental", 0, 0)
        assert wh._lake.commit(wh._stored("dearest").extent) == before


def test_many_rows_before_the_bound_are_cut_back(spark: SparkSession, tmp_path: Path) -> None:
    with shop(tmp_path / "w", sales=2) as wh:
        wh.create_view("dearest", DEAREST, policy="incremental")
        wh.create_view("above", "SELECT shop, SUM(price) AS price FROM dearest GROUP BY shop", policy="incremental")
        assert stock(wh, "dearest").bound is None
        with wh.transaction() as tx:
            tx.insert("sales", [(i, i % 4, f"{i % 50}.25") for i in range(10, 200)])
        report = refresh(wh, "dearest")
        assert (report.strategy, report.reason, report.rederived) == ("incremental", FULL, 0)
        assert stock(wh, "dearest").rows == 7
        assert refresh(wh, "above").strategy == "incremental"
        checked(wh, "dearest", "above")


def test_views_above_see_the_change_of_what_is_shown(spark: SparkSession, tmp_path: Path) -> None:
    with shop(tmp_path / "w") as wh:
        wh.create_view("dearest", DEAREST, policy="incremental")
        wh.create_view(
            "cities",
            "SELECT city, COUNT(*) AS n, SUM(price) AS price FROM dearest JOIN shops USING (shop) GROUP BY city",
            policy="incremental",
        )
        found: Counter[str | None] = Counter()
        for turn, gone in enumerate([(39, 37), (38, 36, 35), (34,), (1, 2), (33, 32, 31)]):
            since, before = wh.tick, Counter(rows(wh, "dearest"))
            delete(wh, *gone)
            with wh.transaction() as tx:
                tx.insert("sales", [(200 + turn, turn % 4, "30.75")])
            assert refresh(wh, "cities").strategy == "incremental"
            found[wh.history("dearest", limit=1)[0]["reason"]] += 1
            checked(wh, "dearest", "cities")
            seen = before
            for *row, count, tick in wh.changes("dearest", since).collect():
                assert tick == wh.tick
                seen[tuple(row)] += count
            assert +seen == Counter(rows(wh, "dearest")) and not -seen
        assert found[USED] and found[None]


def test_a_view_that_was_rolled_back_goes_on_from_there(spark: SparkSession, tmp_path: Path) -> None:
    with shop(tmp_path / "w") as wh:
        wh.create_view("dearest", DEAREST, policy="incremental")
        start = wh.tick
        delete(wh, 39, 38, 37)
        refresh(wh, "dearest")
        delete(wh, 36, 35, 34)
        assert refresh(wh, "dearest").reason == USED
        assert {r[0] for r in rows(wh, "dearest", at=start)} == {37, 38, 39}
        wh.apply("dearest", to=start)
        assert wh.verify("dearest").ok
        assert refresh(wh, "dearest").reason == USED
        with pytest.raises(BadInput, match="RV-NOT-PROPAGATED"):
            wh.propagate("dearest")


def test_a_bound_that_nobody_knows_any_more(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are rewritten after the refresh, and the commit before that expires."""
    monkeypatch.setattr("rollview.apply.compact.COMMITS", 1)
    monkeypatch.setattr("rollview.apply.compact.FILES", 2)
    with shop(tmp_path / "w", limits=Limits(rewrite_bytes=0)) as wh:
        wh.create_view("dearest", DEAREST, policy="strict")
        for turn in range(8):
            with wh.transaction() as tx:
                tx.insert("sales", [(1000 + turn, 1, f"{900 + turn}.00")])
            assert refresh(wh, "dearest").reason is None
            if rewritten(wh, "dearest"):
                break
        assert rewritten(wh, "dearest")
        assert stock(wh, "dearest").rows == 8 + turn
        wh.maintain(keep=0)
        delete(wh, 1000)
        assert refresh(wh, "dearest").reason == USED
        delete(wh, 1001)
        assert refresh(wh, "dearest").reason is None


def test_it_is_explained(spark: SparkSession, tmp_path: Path) -> None:
    with shop(tmp_path / "w") as wh:
        wh.create_view("dearest", DEAREST)
        text = str(wh.explain("dearest"))
        assert "the first 3 rows and 4 in reserve" in text
        assert ":bound1" in text and "RV-WINDOW-WHOLE" not in text


MOMENT = dt.datetime(2024, 10, 27, 0, 30, 0, 123456, tzinfo=dt.UTC)
VALUES: dict[str, list[Any]] = {
    "BIGINT": [-(2**63), -1, 0, 1, 2, 3, 4, 2**63 - 1, None],
    "DECIMAL(38,10)": [Decimal("-1234567890123456789.0000000001"), *(Decimal(i) / 8 for i in range(8)), None],
    "DATE": [dt.date(1, 1, 1), *(dt.date(2024, 1, i) for i in range(1, 8)), dt.date(9999, 12, 31), None],
    "TIMESTAMP": [*(MOMENT + dt.timedelta(minutes=15 * i) for i in range(9)), None],
    "TIMESTAMP_NTZ": [*((MOMENT + dt.timedelta(minutes=15 * i)).replace(tzinfo=None) for i in range(9)), None],
    "STRING": ["", "a", "A", "a'b\"c", "a\\b\nc\t", "ü", "${env:HOME}", "$", "😀", None],
    "DOUBLE": [float("nan"), float("inf"), float("-inf"), 0.1, -0.0, 0.0, 1e300, 0.1 + 0.2, None],
    "FLOAT": [float("nan"), 0.1, 0.2, 1e30, -1.5, 3.0, 7.25, -0.0, None],
    "BOOLEAN": [True, True, True, False, False, False, None, None],
}


def test_literals_mean_their_values(spark: SparkSession) -> None:
    """Also after they were written into a commit and read again."""
    values = [v for kind in VALUES.values() for v in kind if v is not None]
    written = said(Stock(1, 1, tuple(literal(v) for v in values)))
    bound = read(written[PROPERTY_RESERVE]).bound
    assert bound is not None
    query = exp.select(*(exp.alias_(tree, f"c{n}") for n, tree in enumerate(bound)))
    (found,) = spark.sql(sql(query)).toArrow().to_pylist()
    assert [(a, b) for a, b in zip(found.values(), values, strict=True) if a != b and a == a] == []


ORDERS = ("v", "v DESC", "v NULLS LAST", "v DESC NULLS FIRST")


def test_bounds_of_every_type(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows go from the front one after the other, so that one value after the other becomes the bound."""
    monkeypatch.setattr("rollview.plan.extent.SPARE", 1)
    names = {f"v{number}": kind for number, kind in enumerate(VALUES)}
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        with rollview.open(tmp_path / "w") as wh:
            for number, (name, kind) in enumerate(names.items()):
                wh.create_table(f"of_{name}", f"id INT, v {kind}", key=["id"])
                with wh.transaction() as tx:
                    tx.insert(f"of_{name}", list(enumerate(VALUES[kind])))
                order = ORDERS[number % len(ORDERS)]
                wh.create_view(name, f"SELECT id FROM of_{name} ORDER BY {order} LIMIT 2", policy="strict")
            for turn in range(4):
                with wh.transaction() as tx:
                    for name, kind in names.items():
                        gone = rows(wh, name)[0][0]
                        tx.delete(f"of_{name}", where=f"id = {gone}")
                        tx.insert(f"of_{name}", [(100 + turn, VALUES[kind][2 * turn])])
                wh.refresh()
                checked(wh, *names)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")

"""ALTER TABLE of managed tables: views go on with what is stored for them, across the change and at every tick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.shop import NOT_YET, checked, rows

import rollview
from rollview import Limits
from rollview.errors import BadInput, SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

VIEWS = {
    "starred": "SELECT * FROM t WHERE a >= 0",
    "groups": "SELECT b, SUM(a) AS s, COUNT(*) AS n FROM t GROUP BY b",
    "joined": "SELECT t.id, name, a FROM t JOIN u ON u_id = k",
    "inner_name": "SELECT name, (SELECT MAX(a) FROM t WHERE t.u_id = u.k) AS most FROM u",
    "first": "SELECT id, a FROM t ORDER BY a DESC, id LIMIT 2",
    "recomputed": NOT_YET + "SELECT id, b, n FROM t CROSS JOIN r",
}
KEPT = tuple(v for v in VIEWS if v != "recomputed")


@pytest.fixture
def wh(spark: SparkSession, tmp_path: Path) -> Warehouse:
    return opened(tmp_path)


def opened(path: Path, **options: Any) -> Warehouse:
    wh = rollview.open(path, **options)
    wh.create_table("u", "k INT, name STRING", key=["k"])
    wh.create_table("t", "id INT, a INT, b STRING, u_id INT", key=["id"], foreign_keys={"u_id": "u"})
    with wh.transaction() as tx:
        tx.insert("u", [(1, "one"), (2, "two")])
        tx.insert("t", [(i, i, f"b{i % 2}", 1 + i % 2) for i in range(6)])
    for name, sql in VIEWS.items():
        wh.create_view(name, sql)
    return wh


def follows(wh: Warehouse, *views: str, strategy: str = "incremental") -> None:
    for view in views:
        report = wh.refresh(view)
        assert isinstance(report, rollview.Report) and report.strategy == strategy, (view, report.reason)
        checked(wh, view)


def columns(wh: Warehouse, name: str) -> list[str]:
    return list(wh.table(name).columns)


def test_a_column_is_added_and_every_view_goes_on(wh: Warehouse) -> None:
    """One has a star, one a name that becomes ambiguous, and in one a name of the outer query would be taken."""
    start = wh.tick
    shown = {v: columns(wh, v) for v in VIEWS}
    with wh.transaction() as tx:
        tx.update("t", set={"a": "a + 10"}, where="id = 1")
    wh.alter_table("t", add="name STRING, k INT")
    assert wh.tick == start + 1
    with wh.transaction() as tx:
        tx.insert("t", [(10, 7, "b1", 2, "new", 9)])
        tx.update("t", set={"name": "'known'"}, where="id = 2")
        tx.delete("t", where="id = 3")
    follows(wh, *KEPT)
    follows(wh, "recomputed", strategy="recompute")
    assert {v: columns(wh, v) for v in VIEWS} == shown
    assert columns(wh, "t") == ["id", "a", "b", "u_id", "name", "k"]
    wh.create_view("names", "SELECT name, SUM(a) AS s, COUNT(k) AS n FROM t GROUP BY name", policy="strict")
    assert rows(wh, "names") == [("known", 2, 0), ("new", 7, 1), (None, 20, 0)]
    assert {r.name for r in wh.table("t", at=start).collect()} == {None}
    with wh.transaction() as tx:
        tx.upsert("t", [(2, 1, "b0", 1, "other", 3)])
    follows(wh, *KEPT, "names")


def test_columns_are_renamed_and_views_keep_their_names_and_rows(wh: Warehouse) -> None:
    snapshots = {v: wh._lake.commit(wh._stored(v).extent) for v in VIEWS}
    with wh.transaction() as tx:
        tx.update("t", set={"a": "a + 10"}, where="id = 1")
    wh.alter_table("t", rename={"a": "amount", "ID": "number", "u_id": "owner"})
    wh.alter_table("u", rename={"k": "owner_id"})
    assert {v: wh._lake.commit(wh._stored(v).extent) for v in VIEWS} == snapshots
    assert wh._stored("t").base.key == ("number",)
    assert [f.referenced for f in wh._stored("t").base.foreign_keys] == [("owner_id",)]
    with wh.transaction() as tx:
        tx.insert("t", [(10, 7, "b1", 2)])
        tx.update("t", set={"amount": "amount - 1"}, where="number = 5")
        tx.upsert("t", [(2, 99, "b0", 1)])
    follows(wh, *KEPT)
    follows(wh, "recomputed", strategy="recompute")
    assert columns(wh, "starred") == ["id", "a", "b", "u_id"]
    assert columns(wh, "t") == ["number", "amount", "b", "owner"]
    assert wh.table("t", at=1).columns == ["number", "amount", "b", "owner"]
    wh.alter_table("t", rename={"amount": "a"}, add="note STRING")
    with wh.transaction() as tx:
        tx.insert("t", [(11, 7, "b1", 2, "late")])
    follows(wh, *KEPT)
    assert "SUM" in str(wh.explain("groups"))
    with pytest.raises(BadInput, match="id"):
        wh.create_view("gone", "SELECT id FROM t")


def test_a_view_over_renamed_columns_is_propagated_rolled_and_replaced(wh: Warehouse) -> None:
    with wh.transaction() as tx:
        tx.update("t", set={"a": "a + 10"}, where="id = 1")
    wh.alter_table("t", rename={"a": "amount"})
    with wh.transaction() as tx:
        tx.update("t", set={"amount": "amount + 10"}, where="id = 2")
    wh.propagate("groups")
    for tick in (wh.tick - 1, wh.tick):
        wh.apply("groups", to=tick)
        checked(wh, "groups")
    wh.create_view("groups", "SELECT b, SUM(amount) AS s FROM t GROUP BY b", or_replace=True)
    report = wh.history("groups")[0]
    assert report["reason"] == "RV-DATA-KEPT"
    with wh.transaction() as tx:
        tx.update("t", set={"amount": "amount + 10"}, where="id = 3")
    follows(wh, "groups")
    wh.alter_table("t", rename={"amount": "sum_of"})
    with wh.transaction() as tx:
        tx.update("t", set={"sum_of": "sum_of + 10"}, where="id = 4")
    follows(wh, "groups", "joined")


def test_what_a_view_reads_cannot_be_dropped(wh: Warehouse) -> None:
    for column in ("a", "b"):
        with pytest.raises(BadInput, match="is read by") as error:
            wh.alter_table("t", drop=[column])
        assert error.value.code == "RV-RELATION-IN-USE"
    assert columns(wh, "t") == ["id", "a", "b", "u_id"] and "altering" not in wh._stored("t").definition
    for view in ("starred", "groups", "recomputed"):
        wh.drop_view(view)
    with wh.transaction() as tx:
        tx.update("t", set={"a": "a + 10"}, where="id = 1")
    wh.alter_table("t", drop=["b"], add="c INT")
    with wh.transaction() as tx:
        tx.insert("t", [(10, 7, 2, 5)])
    follows(wh, "joined", "inner_name", "first")
    assert columns(wh, "t") == ["id", "a", "u_id", "c"]


def test_a_widened_column_builds_anew_only_what_stores_it(wh: Warehouse) -> None:
    wh.alter_table("t", widen={"a": "BIGINT"})
    with wh.transaction() as tx:
        tx.insert("t", [(10, 2**40, "b1", 2)])
        tx.update("t", set={"a": "a + 3000000000"}, where="id = 2")
    follows(wh, "groups")
    for view in ("starred", "joined", "inner_name", "first"):
        report = wh.refresh(view)
        assert isinstance(report, rollview.Report) and report.reason == "RV-SCHEMA-CHANGED", view
        checked(wh, view)
    assert dict(wh.table("starred").dtypes)["a"] == "bigint"
    with wh.transaction() as tx:
        tx.delete("t", where="id = 10")
    follows(wh, *KEPT)


def test_a_view_with_a_stored_part_is_built_anew(spark: SparkSession, tmp_path: Path) -> None:
    with rollview.open(tmp_path, limits=Limits(part_bytes=0)) as wh:
        wh.create_table("r", "id INT, g INT, x INT", key=["id"])
        with wh.transaction() as tx:
            tx.insert("r", [(i, i % 3, i) for i in range(9)])
        wh.create_view("v", "SELECT n, COUNT(*) AS k FROM (SELECT g, COUNT(*) AS n FROM r GROUP BY g) GROUP BY n")
        wh.alter_table("r", add="y INT")
        with wh.transaction() as tx:
            tx.insert("r", [(20, 1, 1, 1)])
        follows(wh, "v")
        wh.alter_table("r", rename={"g": "team"})
        with wh.transaction() as tx:
            tx.insert("r", [(21, 5, 1, 1)])
        report = wh.refresh("v")
        assert isinstance(report, rollview.Report) and report.reason == "RV-SCHEMA-CHANGED"
        checked(wh, "v")
        with wh.transaction() as tx:
            tx.delete("r", where="team = 5")
        follows(wh, "v")


def test_in_sql(wh: Warehouse) -> None:
    wh.sql("ALTER TABLE t ADD COLUMNS (note STRING, price DECIMAL(8,2))")
    wh.sql("alter table default.T rename column note to `a note`")
    wh.sql("ALTER TABLE t ALTER COLUMN price TYPE DECIMAL(10,2)")
    wh.sql("ALTER TABLE t DROP COLUMN `a note`")
    assert dict(wh.table("t").dtypes)["price"] == "decimal(10,2)" and columns(wh, "t")[-1] == "price"
    with pytest.raises(BadInput) as error:
        wh.sql("ALTER TABLE t RENAME TO s")
    assert error.value.code == "RV-KEPT"
    with pytest.raises(BadInput) as error:
        wh.sql("ALTER TABLE groups ADD COLUMN x INT")
    assert error.value.code == "RV-UNKNOWN-RELATION"


def test_a_transaction_that_began_before_is_refused(wh: Warehouse) -> None:
    other = wh.transaction()
    other.insert("t", [(50, 1, "b", 1)])
    wh.alter_table("t", rename={"b": "label"})
    tick = wh.tick
    with pytest.raises(SourceError) as error, other:
        pass
    assert error.value.code == "RV-CONFLICT" and wh.tick == tick and wh.table("t").count() == 6


def test_a_bag_and_a_table_of_another_access(wh: Warehouse) -> None:
    wh.create_table("bag", "x INT, y INT")
    with wh.transaction() as tx:
        tx.insert("bag", [(1, 1), (1, 2), (1, 2)])
    wh.create_view("xs", "SELECT x, COUNT(*) AS n FROM bag GROUP BY x")
    wh.alter_table("bag", drop=["y"])
    with wh.transaction() as tx:
        tx.delete("bag", where="x = 1")
        tx.insert("bag", [(1,), (1,)])
    follows(wh, "xs")
    assert rows(wh, "xs") == [(1, 2)]
    wh.create_table("laid_out", "x INT, Day INT, hour INT", cluster=["day", "HOUR"])
    wh.alter_table("laid_out", drop=["day"], rename={"hour": "minute"})
    with wh.transaction() as tx:
        tx.insert("laid_out", [(1, 3), (2, 1)])
        tx.delete("laid_out", where="minute = 3")
    assert rows(wh, "laid_out") == [(2, 1)] and wh._stored("laid_out").definition["cluster"] == ["minute"]
    wh.create_table("now_only", "x INT", access="present")
    with pytest.raises(BadInput) as error:
        wh.alter_table("now_only", add="y INT")
    assert error.value.code == "RV-ALTER"

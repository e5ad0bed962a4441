"""Views over tables that others write: every kind of commit, mixed with our own tables, and what gets in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.sources.conftest import Their
from tests.spark.shop import asked_again

import rollview
from rollview.lake.jobs import JobCounter
from rollview.sources import IcebergTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rollview import Report, Warehouse

CATALOG = "their_lake"
MODES = {"cow": "copy-on-write", "mor": "merge-on-read"}


@pytest.fixture(scope="module")
def wh(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with rollview.open(tmp_path_factory.mktemp("attached")) as warehouse:
        prefix = f"spark.sql.catalog.{CATALOG}"
        theirs = str(tmp_path_factory.mktemp("theirs"))
        options = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop", ".cache-enabled": "false"}
        for key, value in {**options, ".warehouse": theirs}.items():
            warehouse.spark.conf.set(prefix + key, value)
        warehouse.spark.sql(f"CREATE NAMESPACE {CATALOG}.db")
        warehouse.create_table("stores", "store INT, city STRING", key=["store"])
        with warehouse.transaction() as tx:
            tx.insert("stores", [(1, "Oslo"), (2, "Rome")])
        yield warehouse


def their(wh: Warehouse, name: str) -> Their:
    return Their(wh.spark, f"{CATALOG}.db.{name}", wh.path)


def attach(wh: Warehouse, name: str, columns: str = "id INT, store INT, price DECIMAL(8,2)", **options: Any) -> Their:
    """A table of theirs with three rows, attached under its own name."""
    table = their(wh, name).create(
        columns, mode=options.pop("mode", "merge-on-read"), version=options.pop("version", 2)
    )
    table.sql("INSERT INTO {t} (id, store, price) SELECT id, 1 + id % 2, id FROM range(3)")
    wh.attach(name, IcebergTable(table.name), **options)
    return table


def refresh(wh: Warehouse, view: str, **options: Any) -> Report:
    report = wh.refresh(view, **options)
    assert isinstance(report, rollview.Report)
    verification = wh.verify(view)
    assert verification.ok, verification
    return report


def rows(wh: Warehouse, name: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(r) for r in wh.table(name).collect()), key=repr)


@pytest.mark.parametrize(("mode", "version", "key"), [("cow", 2, ["id"]), ("mor", 2, None), ("mor", 3, ["id"])])
def test_every_kind_of_commit(wh: Warehouse, mode: str, version: int, key: list[str] | None) -> None:
    name = f"sales_{mode}_{version}_{'keyed' if key else 'bag'}"
    table = attach(wh, name, mode=MODES[mode], version=version, key=key)
    wh.create_view(f"{name}_sums", f"SELECT store, SUM(price) AS s, COUNT(*) AS n FROM {name} GROUP BY store")
    wh.create_view(f"{name}_rows", f"SELECT s.*, city FROM {name} s JOIN stores t ON s.store = t.store")
    commits = [
        ["INSERT INTO {t} VALUES (10, 1, 1.5), (11, 2, 2.5), (12, NULL, NULL)"],
        ["UPDATE {t} SET price = price * 2, store = 2 WHERE id = 10", "DELETE FROM {t} WHERE id = 1"],
        ["INSERT OVERWRITE {t} SELECT id, 2, price FROM {t} WHERE id <> 12"],
        [
            "MERGE INTO {t} t USING (SELECT 11 AS id UNION SELECT 50) d ON t.id = d.id WHEN MATCHED THEN DELETE "
            "WHEN NOT MATCHED THEN INSERT (id, store, price) VALUES (50, 1, 5)"
        ],
        ["DELETE FROM {t}", "INSERT INTO {t} VALUES (1, 1, 1)", "INSERT INTO {t} VALUES (2, 2, 2)"],
    ]
    for statements in commits:
        table.sql(*statements)
        for view in (f"{name}_sums", f"{name}_rows"):
            assert refresh(wh, view).strategy in ("incremental", "none")
    assert rows(wh, f"{name}_sums") == [(1, 1, 1), (2, 2, 1)]
    assert len(wh.changes(name, 0).collect()) > 10


def test_a_compaction_is_no_change(wh: Warehouse) -> None:
    table = attach(wh, "tidied")
    wh.create_view("tidied_sums", "SELECT store, SUM(price) AS s FROM tidied GROUP BY store")
    table.sql("INSERT INTO {t} VALUES (9, 1, 9)", "DELETE FROM {t} WHERE id = 0")
    refresh(wh, "tidied_sums")
    table.call("rewrite_data_files", "options => map('rewrite-all', 'true')")
    report = refresh(wh, "tidied_sums")
    assert (report.delta_rows, report.inserted, report.updated, report.deleted) == (0, 0, 0, 0)
    table.sql("DELETE FROM {t} WHERE id = 9")
    assert refresh(wh, "tidied_sums").strategy == "incremental"


def test_their_commits_and_our_transactions_are_ticks_of_one_history(wh: Warehouse) -> None:
    table = attach(wh, "mixed")
    wh.create_view(
        "by_city", "SELECT city, SUM(price) AS s FROM mixed m JOIN stores t ON m.store = t.store GROUP BY city"
    )
    start = wh.tick
    table.sql("INSERT INTO {t} VALUES (20, 1, 20)", "INSERT INTO {t} VALUES (21, 2, 21)")
    wh.capture()
    with wh.transaction() as tx:
        tx.update("stores", set={"city": "'Bergen'"}, where="store = 1")
    table.sql("UPDATE {t} SET price = 0 WHERE id = 20")
    wh.capture()
    assert wh.tick == start + 4
    sums = []
    for tick in range(start + 1, wh.tick + 1):
        assert refresh(wh, "by_city", to=tick).upto == tick
        sums.append(dict(rows(wh, "by_city")))
    assert [float(s.get("Oslo", s.get("Bergen"))) for s in sums] == [22.0, 22.0, 22.0, 2.0]
    assert "Bergen" in sums[2] and "Oslo" not in sums[2]
    assert wh.table("mixed", at=start).count() == 3 and wh.table("mixed").count() == 5


def test_nothing_new_runs_no_job_and_one_changed_row_at_most_six(wh: Warehouse) -> None:
    table = attach(wh, "quick")
    wh.create_view(
        "quick_sums", "SELECT city, SUM(price) AS s FROM quick q JOIN stores t ON q.store = t.store GROUP BY city"
    )
    wh.create_view("quick_pairs", "SELECT a.price, b.price AS other FROM quick a JOIN quick b ON a.store = b.id")
    for view in ("quick_sums", "quick_pairs"):
        seconds, jobs = asked_again(wh, view)
        assert seconds < 0.020 and jobs == 0
    for change in (
        "INSERT INTO {t} VALUES (5, 1, 5)",
        "UPDATE {t} SET price = 6 WHERE id = 5",
        "DELETE FROM {t} WHERE id = 5",
    ):
        table.sql(change)
        for view in ("quick_sums", "quick_pairs"):
            jobs_counted = JobCounter(wh.spark)
            with jobs_counted.here():
                wh.capture()
            report = refresh(wh, view, policy="incremental")
            assert jobs_counted.count == 0
            assert report.strategy == "incremental" and report.jobs is not None and report.jobs <= 6, report


def test_an_empty_table_and_one_that_is_emptied(wh: Warehouse) -> None:
    table = their(wh, "hollow").create("id INT, x INT")
    wh.attach("hollow", IcebergTable(table.name))
    wh.create_view("hollow_sum", "SELECT SUM(x) AS s, COUNT(*) AS n FROM hollow")
    assert rows(wh, "hollow_sum") == [(None, 0)]
    start = wh.tick
    table.sql("INSERT INTO {t} VALUES (1, 5)", "INSERT INTO {t} VALUES (2, 6)")
    assert refresh(wh, "hollow_sum").upto == start + 2
    assert rows(wh, "hollow_sum") == [(11, 2)]
    table.sql("TRUNCATE TABLE {t}")
    refresh(wh, "hollow_sum")
    assert rows(wh, "hollow_sum") == [(None, 0)]


def test_snapshots_that_expired_before_they_were_captured(wh: Warehouse) -> None:
    table = attach(wh, "lost")
    for view in ("lost_sums", "lost_too"):
        wh.create_view(view, "SELECT store, SUM(price) AS s FROM lost GROUP BY store", policy="incremental")
    before, start = rows(wh, "lost_sums"), wh.tick
    table.sql(
        "INSERT INTO {t} VALUES (30, 1, 30)", "DELETE FROM {t} WHERE id = 0", "INSERT INTO {t} VALUES (31, 2, 31)"
    )
    table.call("expire_snapshots", "older_than => TIMESTAMP '2100-01-01', retain_last => 1")
    for _ in range(2):
        with pytest.raises(rollview.SourceError, match="RV-SNAPSHOT-EXPIRED"):
            wh.refresh("lost_sums")
    assert rows(wh, "lost_sums") == before and wh.tick == start
    assert refresh(wh, "lost_sums", policy="full").strategy == "recompute"
    report = refresh(wh, "lost_too")
    assert (report.strategy, report.reason) == ("recompute", "RV-SOURCE-GAP")
    with pytest.raises(rollview.SourceError, match="RV-SOURCE-GAP"):
        wh.changes("lost", start)
    table.sql("INSERT INTO {t} VALUES (32, 1, 32)")
    assert refresh(wh, "lost_sums").strategy == refresh(wh, "lost_too").strategy == "incremental"


def test_a_gap_in_a_table_that_no_view_reads_is_nobodys_loss(wh: Warehouse) -> None:
    table = attach(wh, "unread")
    table.sql("DELETE FROM {t} WHERE id = 0", "INSERT INTO {t} VALUES (31, 2, 31)")
    table.call("expire_snapshots", "older_than => TIMESTAMP '2100-01-01', retain_last => 1")
    wh.create_view("reads_it", "SELECT store, SUM(price) AS s FROM unread GROUP BY store", policy="strict")
    table.sql("DELETE FROM {t} WHERE id = 1")
    assert refresh(wh, "reads_it").strategy == "incremental"
    assert [float(s) for _, s in rows(wh, "reads_it")] == [2.0, 31.0]


def test_a_snapshot_that_expired_after_it_was_captured(wh: Warehouse) -> None:
    """The change is known, but the state before it is not: a join that needs it is recomputed, and says so."""
    table = attach(wh, "short_lived")
    joins = "SELECT a.id, b.price FROM short_lived a JOIN short_lived b ON a.id = b.store"
    wh.create_view("joined", joins, policy="incremental")
    wh.create_view("strictly", joins, policy="strict")
    wh.create_view("summed", "SELECT SUM(price) AS s FROM short_lived", policy="strict")
    table.sql("UPDATE {t} SET price = 7 WHERE id = 2")
    wh.capture()
    table.call("expire_snapshots", "older_than => TIMESTAMP '2100-01-01', retain_last => 1")
    report = refresh(wh, "joined")
    assert (report.strategy, report.reason) == ("recompute", "RV-SNAPSHOT-EXPIRED")
    with pytest.raises(rollview.RollviewError, match="RV-SNAPSHOT-EXPIRED"):
        wh.refresh("strictly")
    assert refresh(wh, "summed").strategy == "incremental"
    assert refresh(wh, "strictly", policy="full").strategy == "recompute"


def test_columns_that_are_added_are_not_seen(wh: Warehouse) -> None:
    table = attach(wh, "wider")
    wh.create_view("wider_rows", "SELECT * FROM wider")
    table.sql("ALTER TABLE {t} ADD COLUMN note STRING FIRST", "INSERT INTO {t} VALUES ('x', 40, 1, 40)")
    assert refresh(wh, "wider_rows").inserted == 1
    assert wh.table("wider").columns == ["id", "store", "price"] == wh.table("wider_rows").columns
    reopened = rollview.open(wh.path, spark=wh.spark)
    table.sql("DELETE FROM {t} WHERE id = 40")
    assert refresh(reopened, "wider_rows").strategy == "incremental"
    reopened.close()


def test_a_state_from_before_a_column_was_added(wh: Warehouse) -> None:
    """A rollback leaves the table's columns as they are; time travel shows those of the snapshot."""
    table = their(wh, "rolled").create("id INT")
    table.sql("INSERT INTO {t} VALUES (1), (2)")
    first = table.value("SELECT snapshot_id FROM {t}.snapshots")
    table.sql("ALTER TABLE {t} ADD COLUMN x INT", "INSERT INTO {t} VALUES (3, 3)")
    wh.attach("rolled", IcebergTable(table.name))
    wh.create_view("rolled_pairs", "SELECT a.id, b.x FROM rolled a JOIN rolled b ON a.id <= b.id", policy="strict")
    table.call("rollback_to_snapshot", str(first))
    refresh(wh, "rolled_pairs")
    assert rows(wh, "rolled_pairs") == [(1, None), (1, None), (2, None)]
    table.sql("INSERT INTO {t} VALUES (4, 4)")
    assert refresh(wh, "rolled_pairs").inserted == 3


def test_columns_that_nobody_reads_may_go_or_change(wh: Warehouse) -> None:
    table = attach(
        wh, "narrower", "id INT, store INT, price DECIMAL(8,2), gone STRING, nested STRUCT<a: INT>", key=["id"]
    )
    wh.create_view("narrow_sums", "SELECT store, COUNT(*) AS n FROM narrower GROUP BY store", policy="strict")
    table.sql(
        "ALTER TABLE {t} DROP COLUMN gone",
        "ALTER TABLE {t} ALTER COLUMN price TYPE DECIMAL(12,2)",
        "ALTER TABLE {t} ADD COLUMN nested.b INT",
        "INSERT INTO {t} VALUES (50, 1, 123456789.12, named_struct('a', 1, 'b', 2))",
        "DELETE FROM {t} WHERE id = 0",
    )
    assert refresh(wh, "narrow_sums").strategy == "incremental"
    assert [(f.name, f.dataType.simpleString()) for f in wh.table("narrower").schema] == [
        ("id", "int"),
        ("store", "int"),
        ("price", "decimal(12,2)"),
    ]
    wh.create_view("new_sums", "SELECT store, SUM(price) AS s FROM narrower GROUP BY store", policy="strict")
    table.sql("UPDATE {t} SET price = price + 1")
    assert refresh(wh, "new_sums").strategy == refresh(wh, "narrow_sums").strategy == "incremental"
    assert wh.changes("narrower", 0).columns == ["id", "store", "price", "__count", "__tick"]


def test_columns_that_are_renamed_keep_their_name_here(wh: Warehouse) -> None:
    table = attach(wh, "renamed")
    wh.create_view("renamed_sums", "SELECT store, SUM(price) AS s FROM renamed GROUP BY store", policy="strict")
    wh.create_view(
        "renamed_self", "SELECT a.id, b.price FROM renamed a JOIN renamed b ON a.id = b.store", policy="strict"
    )
    wh.create_view("renamed_distinct", "SELECT DISTINCT price FROM renamed")
    table.sql("ALTER TABLE {t} RENAME COLUMN price TO amount", "ALTER TABLE {t} ADD COLUMN price STRING")
    for change in ("INSERT INTO {t} VALUES (60, 1, 60, 'other')", "UPDATE {t} SET amount = 1 WHERE id = 1"):
        table.sql(change)
        assert refresh(wh, "renamed_sums").strategy == refresh(wh, "renamed_self").strategy == "incremental"
        refresh(wh, "renamed_distinct")
    assert wh.table("renamed").columns == ["id", "store", "price"]
    assert (60, 1, 60) in rows(wh, "renamed")
    reopened = rollview.open(wh.path, spark=wh.spark)
    table.sql("DELETE FROM {t} WHERE id = 60")
    assert refresh(reopened, "renamed_self").strategy == "incremental"
    reopened.close()


def stored_rows(wh: Warehouse, view: str) -> tuple[str, int | None]:
    """The table that holds a view's rows, and its snapshot."""
    extent = wh._stored(view).extent
    commit = wh._lake.commit(extent)
    assert commit is not None
    return extent.name, commit.snapshot_id


def test_what_is_stored_stays_where_a_view_does_not_read_the_column(wh: Warehouse) -> None:
    """Columns added, renamed, dropped and widened, and one that no view reads updated: no stored row moves."""
    table = attach(wh, "evolving", "id INT, store INT, price DECIMAL(8,2), gone STRING, wide INT")
    wh.create_view("evolving_sums", "SELECT store, SUM(price) AS s FROM evolving GROUP BY store", policy="strict")
    wh.create_view("evolving_rows", "SELECT id, price FROM evolving", policy="strict")
    before = stored_rows(wh, "evolving_sums"), stored_rows(wh, "evolving_rows")
    table.sql(
        "ALTER TABLE {t} DROP COLUMN gone",
        "ALTER TABLE {t} ALTER COLUMN wide TYPE BIGINT",
        "ALTER TABLE {t} RENAME COLUMN price TO amount",
        "ALTER TABLE {t} ADD COLUMN price STRING",
        "UPDATE {t} SET wide = 5000000000",
    )
    assert refresh(wh, "evolving_sums").strategy == refresh(wh, "evolving_rows").strategy == "incremental"
    assert (stored_rows(wh, "evolving_sums"), stored_rows(wh, "evolving_rows")) == before
    table.sql("INSERT INTO {t} VALUES (70, 1, 70, 5000000000, 'x')")
    assert refresh(wh, "evolving_sums").strategy == refresh(wh, "evolving_rows").strategy == "incremental"


def test_a_column_that_a_view_reads_is_widened(wh: Warehouse) -> None:
    """The view is built anew beside its rows, those above follow it, and the others have nothing to do with it."""
    table = attach(wh, "widened", "id INT, store INT, price DECIMAL(8,2)")
    wh.create_view("widened_sums", "SELECT store, SUM(price) AS s FROM widened GROUP BY store", policy="incremental")
    wh.create_view("widened_most", "SELECT MAX(s) AS s FROM widened_sums", policy="incremental")
    wh.create_view("widened_count", "SELECT COUNT(store) AS n FROM widened_sums", policy="incremental")
    wh.create_view("widened_strict", "SELECT id, price FROM widened", policy="strict")
    wh.create_view("widened_stores", "SELECT store, COUNT(*) AS n FROM widened GROUP BY store", policy="strict")
    before, old = rows(wh, "widened_sums"), stored_rows(wh, "widened_sums")
    table.sql("ALTER TABLE {t} ALTER COLUMN price TYPE DECIMAL(12,2)", "INSERT INTO {t} VALUES (50, 1, 1234567890.12)")
    assert refresh(wh, "widened_stores").strategy == "incremental"
    assert rows(wh, "widened_sums") == before and stored_rows(wh, "widened_sums") == old
    with pytest.raises(rollview.SourceError, match="RV-SCHEMA-CHANGED"):
        wh.verify("widened_sums")
    report = refresh(wh, "widened_sums")
    assert (report.strategy, report.reason) == ("recompute", "RV-SCHEMA-CHANGED")
    assert wh.table("widened_sums").schema["s"].dataType.simpleString() == "decimal(22,2)"
    assert refresh(wh, "widened_most").reason == "RV-SCHEMA-CHANGED"
    assert refresh(wh, "widened_count").reason == "RV-UPSTREAM-REDEFINED"
    with pytest.raises(rollview.RollviewError, match="RV-SCHEMA-CHANGED"):
        wh.refresh("widened_strict")
    assert refresh(wh, "widened_strict", policy="full").strategy == "recompute"
    table.sql("DELETE FROM {t} WHERE id = 50")
    for view in ("widened_sums", "widened_most", "widened_count", "widened_strict", "widened_stores"):
        assert refresh(wh, view).strategy == "incremental"


def test_a_column_that_a_view_reads_is_dropped(wh: Warehouse) -> None:
    """The view stays at its tick, for readers, until it is replaced; other views go on."""
    table = attach(wh, "dropped")
    wh.create_view("dropped_prices", "SELECT SUM(price) AS s FROM dropped", policy="incremental")
    wh.create_view("dropped_stores", "SELECT store, COUNT(*) AS n FROM dropped GROUP BY store", policy="strict")
    before = rows(wh, "dropped_prices")
    table.sql("ALTER TABLE {t} DROP COLUMN price", "DELETE FROM {t} WHERE id = 1")
    assert refresh(wh, "dropped_stores").strategy == "incremental"
    with pytest.raises(rollview.SourceError, match="RV-SCHEMA-CHANGED") as refused:
        wh.refresh("dropped_prices")
    assert refused.value.hint and "CREATE OR REPLACE" in refused.value.hint
    assert rows(wh, "dropped_prices") == before
    wh.create_view("dropped_prices", "SELECT COUNT(*) AS s FROM dropped", or_replace=True, policy="incremental")
    table.sql("DELETE FROM {t} WHERE id = 2")
    assert refresh(wh, "dropped_prices").strategy == "incremental"


@pytest.mark.parametrize("change", ["ALTER COLUMN id TYPE BIGINT", "ADD COLUMN nested.b INT"])
def test_a_key_or_a_nested_column_that_a_view_reads_stops_the_capture(wh: Warehouse, change: str) -> None:
    name = f"stops_{len(change)}"
    table = attach(wh, name, "id INT, store INT, price DECIMAL(8,2), nested STRUCT<a: INT>", key=["id"])
    wh.create_view(f"{name}_view", f"SELECT id, nested.a AS a FROM {name}")
    before, start = rows(wh, f"{name}_view"), wh.tick
    table.sql(f"ALTER TABLE {{t}} {change}", "DELETE FROM {t} WHERE id = 1")
    with pytest.raises(rollview.SourceError, match=f"RV-SCHEMA-CHANGED.*{name}_view"):
        wh.refresh(f"{name}_view")
    assert rows(wh, f"{name}_view") == before and wh.tick == start
    wh.drop_view(f"{name}_view")
    wh.drop_table(name)


def test_attached_tables_are_read_only_and_left_alone_when_dropped(wh: Warehouse) -> None:
    table = attach(wh, "theirs_alone")
    tx = wh.transaction()
    with pytest.raises(rollview.BadInput, match="RV-NOT-MANAGED"):
        tx.insert("theirs_alone", [(1, 1, 1)])
    wh.drop_table("theirs_alone")
    assert table.sql("SELECT * FROM {t}").count() == 3
    wh.attach("theirs_alone", IcebergTable(table.name), key=["id"])
    wh.create_view("again", "SELECT id, price FROM theirs_alone", policy="strict")
    table.sql("UPDATE {t} SET price = 100")
    assert refresh(wh, "again").delta_rows == 6

"""Every kind of commit, as signed rows; after each, the captured bag is what Spark reads as of that snapshot."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest
from tests.sources.conftest import bag

from rollview.errors import NotYetSupported

if TYPE_CHECKING:
    from tests.sources.conftest import Their

BOTH_CATALOGS = pytest.mark.parametrize("their", ["their_folder", "their_database"], indirect=True)
MODE = pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
FILL = "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, concat('v', id % 7), id % 3 FROM range(100)"
COLUMNS = "k BIGINT, v STRING, p BIGINT"


@BOTH_CATALOGS
def test_append(their: Their) -> None:
    table = their.create(COLUMNS).follow()
    assert table.capture.latest() is None
    assert table.catch_up() == []
    their.sql(FILL)
    (loaded,) = table.catch_up()
    assert (loaded.inserted, loaded.deleted, loaded.snapshot_id) == (100, 0, table.capture.latest())
    commit = table.one("INSERT INTO {t} VALUES (1, NULL, NULL), (1, NULL, NULL), (2, 'b', 0)")
    assert (commit.inserted, commit.deleted) == (3, 0)
    assert commit.committed_at.tzinfo is datetime.UTC
    assert table.catch_up() == []


@MODE
def test_delete_update_merge(their: Their, version: int, mode: str) -> None:
    table = their.create(COLUMNS, version=version, mode=mode).follow()
    their.sql(FILL)
    table.catch_up()
    commit = table.one("DELETE FROM {t} WHERE k IN (3, 4)")
    assert (commit.inserted, commit.deleted) == (0, 2)
    commit = table.one("DELETE FROM {t} WHERE k IN (5, 50)")
    assert (commit.inserted, commit.deleted) == (0, 2)
    commit = table.one("UPDATE {t} SET v = 'new' WHERE k BETWEEN 10 AND 14")
    assert (commit.inserted, commit.deleted) == (5, 5)
    commit = table.one("UPDATE {t} SET v = 'newer' WHERE k IN (10, 99)")
    assert (commit.inserted, commit.deleted) == (2, 2)
    commit = table.one(
        "MERGE INTO {t} USING (SELECT id AS k FROM range(95, 105)) s ON {t}.k = s.k "
        "WHEN MATCHED AND s.k % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'm' "
        "WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (s.k, 'i', 0)"
    )
    assert (commit.inserted, commit.deleted) == (3 + 5, 5)
    table.one("DELETE FROM {t}")
    assert not table.rows


@MODE
def test_an_update_to_the_same_values_changes_nothing(their: Their, version: int, mode: str) -> None:
    table = their.create(COLUMNS, version=version, mode=mode).follow()
    their.sql(FILL)
    table.catch_up()
    commit = table.one("UPDATE {t} SET v = v WHERE k < 10")
    assert commit.is_noop
    assert (commit.inserted, commit.deleted) == (0, 0)


@MODE
def test_duplicates_are_counted(their: Their, version: int, mode: str) -> None:
    table = their.create("a INT, b STRING", version=version, mode=mode).follow()
    their.sql("INSERT INTO {t} SELECT 1, 'x' FROM range(5)", "INSERT INTO {t} VALUES (1, NULL), (1, NULL), (NULL, 'x')")
    table.catch_up()
    commit = table.one(
        "MERGE INTO {t} USING (SELECT 1 AS a) s ON {t}.a = s.a AND {t}.b IS NULL WHEN MATCHED THEN UPDATE SET b = 'x'"
    )
    assert (commit.inserted, commit.deleted) == (2, 2)
    assert table.rows == {"[1, 'x']": 7, "[None, 'x']": 1}


def test_many_commits_at_once_come_one_by_one(their: Their, version: int) -> None:
    table = their.create(COLUMNS, version=version).follow()
    their.sql(FILL)
    table.catch_up()
    their.sql(*(f"DELETE FROM {{t}} WHERE k = {k}" for k in range(4)), "INSERT INTO {t} VALUES (0, 'back', 0)")
    commits = table.catch_up()
    assert [(c.inserted, c.deleted) for c in commits] == [(0, 1)] * 4 + [(1, 0)]
    assert [c.committed_at for c in commits] == sorted(c.committed_at for c in commits)


@MODE
def test_overwrite_partitions(their: Their, mode: str) -> None:
    table = their.create(COLUMNS, "PARTITIONED BY (p)", mode=mode).follow()
    their.sql(FILL)
    table.catch_up()
    table.one("DELETE FROM {t} WHERE k < 6")
    table.one("INSERT OVERWRITE {t} PARTITION (p = 1) SELECT id, 'static' FROM range(5)")
    their.spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        commit = table.one("INSERT OVERWRITE {t} SELECT id, 'dynamic', 2 FROM range(7)")
    finally:
        their.spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert (commit.inserted, commit.deleted) == (7, 31)
    table.one("INSERT OVERWRITE {t} SELECT 1, 'all', 0")
    table.one("DELETE FROM {t} WHERE p = 0")
    assert not table.rows


def test_compaction_changes_no_row(their: Their, version: int) -> None:
    table = their.create(COLUMNS, version=version).follow()
    their.sql(FILL, FILL, "DELETE FROM {t} WHERE k % 10 = 0", "DELETE FROM {t} WHERE k % 10 = 1")
    table.catch_up()
    procedures = ["rewrite_position_delete_files", "rewrite_data_files", "rewrite_manifests"]
    for procedure in procedures:
        their.call(procedure, "options => map('rewrite-all', 'true')" if "files" in procedure else "")
    commits = table.catch_up()
    assert commits
    assert all(c.is_noop for c in commits)
    table.one("DELETE FROM {t} WHERE k = 77")


def test_deletes_of_a_whole_partition_in_one_file(their: Their) -> None:
    """Partition granularity: a position delete file that names many data files."""
    table = their.create(COLUMNS).follow()
    their.sql("ALTER TABLE {t} SET TBLPROPERTIES ('write.delete.granularity'='partition')", FILL, FILL, FILL)
    table.catch_up()
    commit = table.one("DELETE FROM {t} WHERE k IN (1, 2)")
    assert commit.deleted == 6
    table.one("DELETE FROM {t} WHERE k IN (2, 3)")
    table.one("UPDATE {t} SET v = 'u' WHERE k = 9")


def test_upgrade_from_position_deletes_to_vectors(their: Their) -> None:
    table = their.create(COLUMNS, version=2).follow()
    their.sql(FILL, "DELETE FROM {t} WHERE k < 5")
    table.catch_up()
    their.sql("ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='3')")
    assert table.one("DELETE FROM {t} WHERE k < 8").deleted == 3
    assert table.one("DELETE FROM {t} WHERE k < 9").deleted == 1


def test_types(their: Their, version: int) -> None:
    columns = (
        "k INT, tz TIMESTAMP, ntz TIMESTAMP_NTZ, d DATE, dec DECIMAL(20, 4), bin BINARY, f FLOAT, dbl DOUBLE, "
        "b BOOLEAN, "
        "s STRUCT<a: INT, `odd name`: STRUCT<c: STRING>>, l ARRAY<STRUCT<x: INT, y: ARRAY<STRING>>>, "
        "m MAP<STRING, STRUCT<z: DECIMAL(5, 2)>>, ll ARRAY<ARRAY<INT>>"
    )
    full = (
        "SELECT CAST(id AS INT), TIMESTAMP '2024-02-29 12:34:56.789012 UTC', "
        "TIMESTAMP_NTZ '1969-12-31 23:59:59.999999', "
        "DATE '1582-10-04', CAST(id AS DECIMAL(20, 4)) / 3, X'00FF', CAST('NaN' AS FLOAT), -0.0D, id % 2 = 0, "
        "struct(1, struct('deep')), array(struct(1, array('a', NULL)), NULL, struct(2, NULL)), "
        "map('k', struct(1.25BD), 'n', NULL), array(array(1), NULL, array())"
    )
    nulls = "SELECT CAST(id + 100 AS INT)" + ", NULL" * 12
    empty = "SELECT CAST(id + 200 AS INT)" + ", NULL" * 8 + ", struct(NULL, NULL), array(), map(), array()"
    table = their.create(columns, version=version).follow()
    for mode in ("copy-on-write", "merge-on-read"):
        their.sql(
            f"ALTER TABLE {{t}} SET TBLPROPERTIES ('write.update.mode'='{mode}')",
            *(f"INSERT INTO {{t}} {rows} FROM range(3)" for rows in (full, nulls, empty)),
        )
        table.catch_up()
        commit = table.one("UPDATE {t} SET b = false WHERE k % 100 = 0")
        assert commit.deleted
    types = {c.name: c.type for c in table.capture.columns()}
    assert types == {f.name: f.dataType.simpleString() for f in their.spark.table(their.name).schema} | {
        "s": "struct<a:int,`odd name`:struct<c:string>>"
    }


def test_format_version_1(their: Their) -> None:
    table = their.create(COLUMNS, "PARTITIONED BY (p)", version=1, mode="copy-on-write").follow()
    their.sql(FILL)
    table.catch_up()
    table.one("DELETE FROM {t} WHERE k = 1")
    table.one("UPDATE {t} SET v = 'u' WHERE k = 2")
    their.sql("ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read')")
    table.one("DELETE FROM {t} WHERE k IN (2, 3)")


def test_orc_files(their: Their) -> None:
    table = their.create(COLUMNS + ", l ARRAY<STRUCT<x: BIGINT>>").follow()
    their.sql(
        "ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default'='orc')",
        "INSERT INTO {t} SELECT id, IF(id % 5 = 0, NULL, 'v'), id % 3, array(struct(id)) FROM range(50)",
    )
    table.catch_up()
    table.one("DELETE FROM {t} WHERE k = 1")
    table.one("UPDATE {t} SET v = 'u' WHERE k IN (2, 3)")


def test_avro_files_are_left_to_spark(their: Their) -> None:
    table = their.create(COLUMNS).follow()
    their.sql("ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default'='avro')", FILL)
    (commit,) = table.catch_up()
    assert commit.frame is not None
    table.one("INSERT INTO {t} VALUES (1000, 'a', 1)")
    their.sql("DELETE FROM {t} WHERE k = 1")
    with pytest.raises(NotYetSupported) as caught:
        table.catch_up()
    assert caught.value.code == "RV-ICEBERG-FORMAT"


def test_large_changes_are_frames(their: Their, version: int) -> None:
    table = their.create(COLUMNS + ", m MAP<STRING, INT>", version=version).follow(driver_bytes=0)
    rows = "SELECT id, concat('v', id % 7), id % 3, map('a', id) FROM range(50)"
    their.sql(f"INSERT INTO {{t}} {rows}")
    assert table.catch_up()[0].inserted == 50
    commit = table.one(f"INSERT INTO {{t}} {rows}")
    assert (commit.inserted, commit.deleted, commit.rows) == (50, 0, None)
    their.sql("ALTER TABLE {t} SET TBLPROPERTIES ('write.delete.mode'='copy-on-write')")
    commit = table.one("DELETE FROM {t} WHERE k = 1")  # Spark's own changelog
    assert bag(commit.frame.toArrow()) == {"[1, 'v1', 1, [('a', 1)]]": -2}
    their.sql("ALTER TABLE {t} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    table.one("DELETE FROM {t} WHERE k = 2")
    table.one("UPDATE {t} SET v = 'x' WHERE k IN (3, 4)")
    table.one(f"INSERT INTO {{t}} {rows}")
    table.one("DELETE FROM {t}")
    table.one(f"INSERT INTO {{t}} {rows}")
    again = their.follow(driver_bytes=0)
    again.catch_up()
    assert again.rows == table.rows

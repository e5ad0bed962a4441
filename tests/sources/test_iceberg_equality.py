"""Equality deletes of streaming writers, applied by ourselves; Spark's reading is the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.sources.equality_writer import upsert
from tests.sources.test_iceberg_cost import of_kind, opened

if TYPE_CHECKING:
    from tests.sources.conftest import Their

__all__ = ["opened"]
pytestmark = pytest.mark.parametrize("their", ["their_database"], indirect=True)
FILL = "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, concat('v', id % 4), id % 3 FROM range(30)"


def keys(*values: int | None) -> pa.Table:
    return pa.table({"k": pa.array(values, pa.int64())})


def test_deletes_by_key(their: Their) -> None:
    table = their.create("k BIGINT, v STRING, p BIGINT").follow()
    their.sql(FILL, "INSERT INTO {t} VALUES (NULL, 'n', 0), (NULL, 'm', 1), (1, NULL, 1)")
    table.catch_up()
    upsert(their.root, their.name, {(): keys(1, 2, 99)})
    (commit,) = table.catch_up()
    assert (commit.inserted, commit.deleted) == (0, 3)
    upsert(their.root, their.name, {(): keys(2, 3, None)})  # one is gone already, and NULL equals NULL
    (commit,) = table.catch_up()
    assert (commit.inserted, commit.deleted) == (0, 3)


def test_later_rows_are_not_covered(their: Their) -> None:
    table = their.create("k BIGINT, v STRING, p BIGINT").follow()
    their.sql(FILL)
    table.catch_up()
    row = pa.table({"k": [5], "v": ["new"], "p": [0]})
    upsert(their.root, their.name, {(): keys(5)}, {(): row})
    (commit,) = table.catch_up()
    assert (commit.inserted, commit.deleted) == (1, 1)
    table.one("INSERT INTO {t} VALUES (5, 'again', 0)")
    upsert(their.root, their.name, {(): keys(5)}, {(): row})
    (commit,) = table.catch_up()
    assert (commit.inserted, commit.deleted) == (0, 1)  # 'again' goes, 'new' comes anew
    table.one("DELETE FROM {t} WHERE k IN (5, 6)")
    table.one("UPDATE {t} SET v = 'u' WHERE k < 10")
    their.call("rewrite_data_files", "options => map('rewrite-all', 'true')")
    assert all(c.is_noop for c in table.catch_up())


def test_large_ones_in_spark(their: Their) -> None:
    table = their.create("k BIGINT, v STRING, p BIGINT").follow(driver_bytes=0)
    their.sql(FILL)
    table.catch_up()
    upsert(their.root, their.name, {(): keys(1, 2)}, {(): pa.table({"k": [1], "v": ["x"], "p": [0]})})
    (commit,) = table.catch_up()
    assert commit.frame is not None


def test_partitions_and_several_columns(their: Their) -> None:
    table = their.create("k BIGINT, v STRING, p BIGINT", "PARTITIONED BY (p)").follow()
    their.sql(FILL, FILL)
    table.catch_up()
    pairs = pa.table({"k": [0, 3, 4], "v": ["v0", "v0", "v0"]})
    upsert(their.root, their.name, {(0,): pairs, (1,): pairs})
    (commit,) = table.catch_up()
    assert commit.deleted == 4  # (0, v0) in partition 0, (4, v0) in partition 1, twice each
    their.sql("ALTER TABLE {t} DROP PARTITION FIELD p")
    upsert(their.root, their.name, {(): keys(6, 7, 8)}, spec_id=1)  # unpartitioned: everywhere
    (commit,) = table.catch_up()
    assert commit.deleted == 6


def test_after_the_schema_changed(their: Their) -> None:
    table = their.create("k INT, v STRING, p BIGINT").follow()
    their.sql("INSERT INTO {t} SELECT id, concat('v', id), id FROM range(10)")
    table.catch_up()
    their.sql("ALTER TABLE {t} ALTER COLUMN k TYPE BIGINT", "ALTER TABLE {t} RENAME COLUMN k TO key")
    upsert(their.root, their.name, {(): pa.table({"key": pa.array([3, 4], pa.int64())})})
    (commit,) = table.catch_up()
    assert commit.deleted == 2
    their.sql("ALTER TABLE {t} DROP COLUMN key")  # what it covered stays covered
    again = their.follow()
    again.catch_up(check=False)
    assert again.rows == their.contents()


def test_statistics_leave_files_out(their: Their, opened: list[str]) -> None:
    table = their.create("k BIGINT, v STRING, p BIGINT").follow()
    for i in range(5):
        their.sql(f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ id, 'v', 0 FROM range({100 * i}, {100 * i + 100})")
    table.catch_up()
    upsert(their.root, their.name, {(): keys(205, 210)})
    opened.clear()
    (commit,) = table.catch_up()
    assert commit.deleted == 2
    assert len(set(of_kind(opened, ".parquet"))) == 2  # one data file and the delete file

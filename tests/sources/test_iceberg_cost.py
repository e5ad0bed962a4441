"""A capture costs what changed: which files are opened, and whether Spark is asked to work."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO

from rollview.lake.jobs import JobCounter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sources.conftest import Their

FILES = 50
FILL = f"INSERT INTO {{t}} SELECT /*+ REPARTITION({FILES}, k) */ * FROM (SELECT id AS k, id % 5 AS v FROM range(5000))"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were opened by Python."""
    paths: list[str] = []
    new_input = PyArrowFileIO.new_input

    def noted(self: PyArrowFileIO, location: str) -> object:
        paths.append(location)
        return new_input(self, location)

    monkeypatch.setattr(PyArrowFileIO, "new_input", noted)
    return paths


def of_kind(paths: list[str], *kinds: str) -> list[str]:
    return [p for p in paths if p.endswith(kinds)]


def count(their: Their, what: str) -> int:
    return int(their.value(f"SELECT count(*) FROM {{t}}.{what}"))


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_one_changed_file_of_fifty(their: Their, version: int, mode: str, opened: list[str]) -> None:
    table = their.create("k BIGINT, v BIGINT", version=version, mode=mode).follow()
    their.spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    their.sql(FILL)
    assert count(their, "data_files") == FILES
    table.catch_up()
    for key in (17, 18):
        opened.clear()
        commit = table.one(f"DELETE FROM {{t}} WHERE k = {key}")
        assert commit.deleted == 1
        data = [p for p in of_kind(opened, ".parquet") if "deletes" not in p]
        assert len(data) == (2 if mode == "copy-on-write" else 1)  # the file that left and the one that came
        assert len(of_kind(opened, "deletes.parquet", ".puffin")) <= 2


def test_appends_open_only_what_they_brought(their: Their, version: int, opened: list[str]) -> None:
    table = their.create("k BIGINT, v BIGINT", version=version).follow()
    their.sql(FILL, "DELETE FROM {t} WHERE k = 1", "DELETE FROM {t} WHERE k = 2")
    table.catch_up()
    opened.clear()
    table.one("INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, 0 FROM range(3)")
    assert len(of_kind(opened, ".parquet", ".puffin")) == 1
    assert len(of_kind(opened, ".avro")) == 3  # two manifest lists and the one manifest that came


def test_manifests_of_other_partitions_are_left_alone(their: Their, version: int, opened: list[str]) -> None:
    their.create("k BIGINT, d DATE, v STRING", "PARTITIONED BY (days(d), v)", version=version)
    for i in range(6):
        values = f"DATE'2024-01-0{i + 1}', NULLIF('v{i}', 'v5')"
        their.sql(f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ id, {values} FROM range(9)")
    for day in (3, 6):
        table = their.follow()
        table.catch_up()
        table.capture = their.capture()
        opened.clear()
        table.one(f"DELETE FROM {{t}} WHERE k = {day} AND d = DATE'2024-01-0{day}'")
        manifests = [p for p in of_kind(opened, ".avro") if "snap-" not in p]
        deletes = their.sql("SELECT path FROM {t}.manifests WHERE content = 1").collect()
        assert len(set(manifests) - {row[0] for row in deletes}) == 1


def test_compaction_opens_nothing(their: Their, opened: list[str]) -> None:
    table = their.create("k BIGINT, v BIGINT").follow()
    their.sql(FILL)
    table.catch_up()
    their.call("rewrite_data_files")
    opened.clear()
    (commit,) = table.catch_up()
    assert commit.is_noop
    assert of_kind(opened, ".parquet", ".avro") == []


def test_only_row_groups_that_changed_are_read(their: Their, monkeypatch: pytest.MonkeyPatch) -> None:
    table = their.create("k BIGINT, v BIGINT", version=3).follow()
    their.sql(
        "ALTER TABLE {t} SET TBLPROPERTIES ('write.parquet.row-group-size-bytes'='20000', "
        "'write.parquet.row-group-check-min-record-count'='100', "
        "'write.parquet.row-group-check-max-record-count'='100', 'write.parquet.page-size-bytes'='2000')",
        "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, hash(id) FROM range(50000)",
    )
    table.catch_up()
    from rollview.capture.iceberg import read

    groups: list[tuple[int, int]] = []
    parts = read._parts

    def noted(fragment: object, wanted: object) -> Iterator[object]:
        for start, part in parts(fragment, wanted):  # type: ignore[arg-type]
            groups.append((len(part.row_groups), len(fragment.row_groups)))  # type: ignore[attr-defined]
            yield start, part

    monkeypatch.setattr(read, "_parts", noted)
    commit = table.one("DELETE FROM {t} WHERE k IN (10, 25000, 25001, 49999)")
    assert commit.deleted == 4
    assert sum(read for read, _ in groups) <= 4 < groups[0][1]


@pytest.mark.parametrize("their", ["their_folder", "their_database"], indirect=True)
def test_neither_planning_nor_small_changes_need_a_job(their: Their, version: int) -> None:
    capture = their.create("k BIGINT, v BIGINT", version=version).capture()
    their.sql(FILL)
    first = capture.latest()
    their.sql("DELETE FROM {t} WHERE k = 1", "UPDATE {t} SET v = -1 WHERE k = 2")
    counter = JobCounter(their.spark)
    with counter.here():
        assert capture.latest() is not None
        assert len(capture.columns()) == 2
        assert len(list(capture.commits_since(first))) == 2
    assert counter.count == 0


@pytest.mark.parametrize("their", ["their_folder", "their_database"], indirect=True)
def test_asking_for_the_latest_snapshot_is_fast(their: Their) -> None:
    capture = their.create("k BIGINT, v BIGINT").capture()
    their.sql(*["INSERT INTO {t} VALUES (1, 1)"] * 5)
    latest = capture.latest()
    times = []
    for _ in range(20):
        start = time.perf_counter()
        assert capture.latest() == latest
        times.append(time.perf_counter() - start)
    assert sorted(times)[len(times) // 2] < 0.01

"""Rows come in the table's newest columns, whatever schema they were written with; the difference is data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import FixedType, IntegerType, NestedField, TimeType, UUIDType
from tests.sources.conftest import Their, bag

from rollview.capture.iceberg import schema_change
from rollview.errors import BadInput, NotYetSupported

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

IN_DATABASE = pytest.mark.parametrize("their", ["their_database"], indirect=True)


def test_added_renamed_dropped_widened(their: Their, version: int) -> None:
    table = their.create("k INT, a STRING, f FLOAT, d DECIMAL(5, 2), gone STRING", version=version).follow()
    their.sql("INSERT INTO {t} SELECT id, concat('a', id), id, id, 'g' FROM range(10)")
    table.catch_up()
    registered = table.capture.columns()
    assert not schema_change(registered, table.capture.columns())
    their.sql(
        "ALTER TABLE {t} ALTER COLUMN k TYPE BIGINT",
        "ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE",
        "ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(12, 2)",
        "ALTER TABLE {t} RENAME COLUMN a TO b",
        "ALTER TABLE {t} ADD COLUMN a DATE FIRST",
        "ALTER TABLE {t} DROP COLUMN gone",
    )
    assert table.catch_up() == []
    change = schema_change(registered, table.capture.columns())
    assert [c.name for c in change.added] == ["a"]
    assert [c.name for c in change.dropped] == ["gone"]
    assert change.renamed == (("a", "b"),)
    assert change.widened == (
        ("k", "int", "bigint"),
        ("f", "float", "double"),
        ("d", "decimal(5,2)", "decimal(12,2)"),
    )
    # An old file of which rows go, and a new one: both in the new columns.
    their.sql("INSERT INTO {t} VALUES (DATE'2024-01-01', 5000000000, 'n', 0.1D, 1234567.89)")
    their.sql("DELETE FROM {t} WHERE k = 3", "UPDATE {t} SET b = 'u' WHERE k = 4")
    commits = list(table.capture.commits_since(table.last))
    assert {c.columns for c in commits} == {table.capture.columns()}
    assert [(c.inserted, c.deleted) for c in commits] == [(1, 0), (0, 1), (1, 1)]
    assert bag(commits[1].rows) == {"[None, 3, 'a3', 3.0, Decimal('3.00')]": -1}
    again = their.follow()
    again.catch_up(check=False)
    assert again.rows == their.contents()


@pytest.mark.parametrize("driver_bytes", [0, 1 << 30])
def test_changes_older_than_the_schema(their: Their, driver_bytes: int) -> None:
    """Commits captured late come in the newest columns, too, read by Spark or by us."""
    their.create("k INT, a STRING").sql("INSERT INTO {t} VALUES (1, 'x')")
    start = their.capture().latest()
    their.sql("INSERT INTO {t} VALUES (2, 'y'), (3, 'z')", "DELETE FROM {t} WHERE k = 2")
    their.sql("ALTER TABLE {t} RENAME COLUMN a TO b", "ALTER TABLE {t} ADD COLUMN a INT")
    table = their.follow(driver_bytes=driver_bytes)
    table.last, table.rows = start, bag(their.sql("SELECT 1 AS k, 'x' AS b, NULL AS a").toArrow())
    assert len(table.catch_up(check=False)) == 2
    assert table.rows == their.contents()
    full = their.follow(driver_bytes=driver_bytes)
    full.catch_up(check=False)
    assert full.rows == their.contents()


def test_dropped_and_added_again_is_another_column(their: Their) -> None:
    their.create("k INT, a INT").sql("INSERT INTO {t} VALUES (1, 10)")
    registered = their.capture().columns()
    their.sql("ALTER TABLE {t} DROP COLUMN a", "ALTER TABLE {t} ADD COLUMN a INT")
    change = schema_change(registered, their.capture().columns())
    assert [c.name for c in change.dropped] == [c.name for c in change.added] == ["a"]
    table = their.follow()
    table.catch_up(check=False)
    assert table.rows == {"[1, None]": 1}


def test_nested_fields_evolve(their: Their, version: int) -> None:
    columns = "k INT, s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<y: FLOAT>>"
    table = their.create(columns, version=version).follow()
    their.sql(
        "INSERT INTO {t} VALUES (1, struct(1, 'one'), array(struct(1), NULL), map('k', struct(1.5)))",
        "INSERT INTO {t} VALUES (2, NULL, NULL, NULL), (3, struct(NULL, NULL), array(), map('n', NULL))",
    )
    table.catch_up()
    registered = table.capture.columns()
    their.sql(
        "ALTER TABLE {t} RENAME COLUMN s.a TO c",
        "ALTER TABLE {t} ADD COLUMN s.a DATE",
        "ALTER TABLE {t} DROP COLUMN s.b",
        "ALTER TABLE {t} ADD COLUMN l.element.n STRING",
        "ALTER TABLE {t} ALTER COLUMN l.element.x TYPE BIGINT",
        "ALTER TABLE {t} ALTER COLUMN m.value.y TYPE DOUBLE",
    )
    widened = schema_change(registered, table.capture.columns()).widened
    assert [(name, new) for name, _, new in widened] == [
        ("s", "struct<c:int,a:date>"),
        ("l", "array<struct<x:bigint,n:string>>"),
        ("m", "map<string,struct<y:double>>"),
    ]
    their.sql("INSERT INTO {t} VALUES (4, struct(4, DATE'2024-01-01'), array(struct(4, 'n')), map())")
    again = their.follow()
    again.catch_up(check=False)
    assert again.rows == their.contents()
    again.one("DELETE FROM {t} WHERE k IN (1, 2)")


def test_partitions_evolve(their: Their, version: int) -> None:
    table = their.create("k BIGINT, v STRING, d DATE", "PARTITIONED BY (days(d))", version=version).follow()
    fill = "INSERT INTO {t} SELECT id, concat('v', id), date_add(DATE'2024-01-01', CAST(id % 3 AS INT)) FROM range(30)"
    their.sql(fill, "DELETE FROM {t} WHERE k = 1")
    table.catch_up()
    their.sql("ALTER TABLE {t} REPLACE PARTITION FIELD days(d) WITH bucket(2, k)", fill)
    table.catch_up()
    table.one("DELETE FROM {t} WHERE k IN (1, 2)")
    their.sql("ALTER TABLE {t} DROP PARTITION FIELD bucket(2, k)", "ALTER TABLE {t} ADD PARTITION FIELD v", fill)
    table.catch_up()
    table.one("DELETE FROM {t} WHERE k IN (2, 3)")
    table.one("UPDATE {t} SET v = 'v9' WHERE k = 4")
    table.one("DELETE FROM {t} WHERE v = 'v9'")


@IN_DATABASE
def test_types_that_spark_shows_otherwise(their: Their, their_catalogs: Path) -> None:
    """uuid and fixed, written by pyiceberg, as Spark reads them."""
    catalog = SqlCatalog(their.catalog, uri=f"sqlite:///{their_catalogs}/catalog.db", warehouse=str(their_catalogs))
    schema = Schema(
        NestedField(1, "u", UUIDType(), required=False),
        NestedField(2, "x", FixedType(2), required=False),
    )
    written = catalog.create_table(their.name.split(".", 1)[1], schema)
    rows = [{"u": bytes(range(16)), "x": b"ab"}, {"u": None, "x": None}]
    written.append(pa.Table.from_pylist(rows, schema=written.schema().as_arrow()))
    table = their.follow()
    table.catch_up()
    assert table.rows == {"['00010203-0405-0607-0809-0a0b0c0d0e0f', b'ab']": 1, "[None, None]": 1}


@IN_DATABASE
def test_types_that_spark_does_not_have_are_refused(their: Their, their_catalogs: Path) -> None:
    catalog = SqlCatalog(their.catalog, uri=f"sqlite:///{their_catalogs}/catalog.db", warehouse=str(their_catalogs))
    schema = Schema(NestedField(1, "clock", TimeType(), required=False), NestedField(2, "k", IntegerType()))
    catalog.create_table(their.name.split(".", 1)[1], schema)
    with pytest.raises(NotYetSupported, match="clock") as caught:
        their.capture().columns()
    assert caught.value.code == "RV-ICEBERG-TYPE"


def test_defaults_of_added_columns(their: Their) -> None:
    """Spark cannot add a default, others can: rows of older files have it."""
    their.create("k INT", version=3).sql("INSERT INTO {t} VALUES (1), (2)", "ALTER TABLE {t} ADD COLUMN color STRING")
    folder = their.root / their.name.replace(".", "/") / "metadata"
    metadata = json.loads((folder / "v3.metadata.json").read_text())
    for schema in metadata["schemas"]:
        for column in schema["fields"][1:]:
            column |= {"initial-default": "blue", "write-default": "blue"}
    (folder / "v4.metadata.json").write_text(json.dumps(metadata))
    table = their.follow()
    table.catch_up(check=False)
    assert table.rows == their.contents() == {"[1, 'blue']": 1, "[2, 'blue']": 1}


def test_files_without_field_ids(their: Their, spark: SparkSession) -> None:
    """A Hive-style folder that was imported: no field ids, and the partition only in the path."""
    folder = their.root / "imported"
    spark.sql("SELECT id AS k, concat('v', id) AS v, id % 2 AS p FROM range(6)").write.partitionBy("p").parquet(
        str(folder)
    )
    their.create("k BIGINT, v STRING, p BIGINT", "PARTITIONED BY (p)")
    table = their.follow()
    their.call("add_files", f"'`parquet`.`{folder}`'")
    table.catch_up()
    table.one("DELETE FROM {t} WHERE k = 3")
    table.one("UPDATE {t} SET v = 'u' WHERE k = 4")


def test_reserved_names_are_refused(their: Their) -> None:
    their.create("k INT, __count BIGINT")
    with pytest.raises(BadInput) as caught:
        their.capture().columns()
    assert caught.value.code == "RV-RESERVED-NAME"

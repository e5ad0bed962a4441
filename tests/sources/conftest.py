"""Iceberg tables of somebody else, in catalogs of their own, and a follower that captures them."""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from rollview.capture.iceberg import IcebergCapture, SourceCommit

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Large changes are read in Spark's Python workers, which must be this Python.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

Bag = Counter[str]
MODES = ("delete", "update", "merge")


def bag(rows: pa.Table) -> Bag:
    """The rows as a bag; with a column `__count`, that many of each."""
    found: Bag = Counter()
    for row in rows.to_pylist():
        count = row.pop("__count", 1)
        found[repr(list(row.values()))] += count
    return Counter({row: n for row, n in found.items() if n})


@dataclass
class Their:
    """One table of theirs; statements say {t} where its name goes."""

    spark: SparkSession
    name: str
    root: Path

    @property
    def catalog(self) -> str:
        return self.name.split(".")[0]

    def sql(self, *statements: str) -> DataFrame:
        result = None
        for statement in statements:
            result = self.spark.sql(statement.replace("{t}", self.name))
        assert result is not None
        return result

    def create(self, columns: str, more: str = "", *, version: int = 2, mode: str = "merge-on-read") -> Their:
        modes = "".join(f", 'write.{m}.mode'='{mode}'" for m in MODES)
        properties = f"TBLPROPERTIES ('format-version'='{version}'{modes})"
        self.sql(f"CREATE TABLE {{t}} ({columns}) USING iceberg {more} {properties}")
        return self

    def value(self, query: str) -> Any:
        """The one value of a query."""
        row = self.sql(query).first()
        assert row is not None
        return row[0]

    def call(self, procedure: str, arguments: str = "") -> None:
        short = self.name.split(".", 1)[1]
        separator = ", " if arguments else ""
        self.sql(f"CALL {self.catalog}.system.{procedure}('{short}'{separator}{arguments})")

    def contents(self, at: int | None = None) -> Bag:
        reader = self.spark.read if at is None else self.spark.read.option("versionAsOf", at)
        return bag(reader.table(self.name).toArrow())

    def capture(self, **options: Any) -> IcebergCapture:
        return IcebergCapture(self.spark, self.name, **options)

    def follow(self, **options: Any) -> Follower:
        return Follower(self, self.capture(**options))


@dataclass
class Follower:
    """Keeps a bag of the table's rows from captured changes alone, and compares it with Spark's reading."""

    their: Their
    capture: IcebergCapture
    last: int | None = None
    rows: Bag = field(default_factory=Counter)

    def catch_up(self, *, check: bool = True) -> list[SourceCommit]:
        """Take all new commits; after each, the bag is what Spark reads as of that snapshot."""
        commits = []
        for commit in self.capture.commits_since(self.last):
            self._take(commit)
            if check:
                assert self.rows == self.their.contents(commit.snapshot_id)
            commits.append(commit)
        return commits

    def one(self, statement: str) -> SourceCommit:
        """Run one statement that makes one commit, and take it."""
        self.their.sql(statement)
        (commit,) = self.catch_up()
        return commit

    def _take(self, commit: SourceCommit) -> None:
        rows = commit.rows if commit.frame is None else commit.frame.toArrow()
        if rows is not None:
            assert rows.column_names == [*(c.name for c in commit.columns), "__count"]
            signs = rows.column("__count").to_pylist()
            assert set(signs) <= {1, -1}
            assert commit.inserted in (None, signs.count(1))
            assert commit.deleted in (None, signs.count(-1))
            self.rows.update(bag(rows))
            self.rows = Counter({row: n for row, n in self.rows.items() if n})
            assert min(self.rows.values(), default=1) > 0
        self.last = commit.snapshot_id


@pytest.fixture(scope="session")
def their_catalogs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("theirs")
    kinds = {"their_folder": {"type": "hadoop"}, "their_database": {"type": "jdbc"}}
    kinds["their_database"]["uri"] = f"jdbc:sqlite:file:{root / 'catalog.db'}"
    kinds["their_database"]["jdbc.schema-version"] = "V1"
    for name, settings in kinds.items():
        prefix = f"spark.sql.catalog.{name}"
        spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
        for key, value in {**settings, "warehouse": str(root / name), "cache-enabled": "false"}.items():
            spark.conf.set(f"{prefix}.{key}", value)
        spark.sql(f"CREATE NAMESPACE {name}.db")
    return root


@pytest.fixture
def their(spark: SparkSession, their_catalogs: Path, request: pytest.FixtureRequest) -> Their:
    """A table (to be created) in their folder catalog; by indirect parameter in another one."""
    catalog = getattr(request, "param", "their_folder")
    name = "".join(c if c.isalnum() else "_" for c in request.node.name)
    return Their(spark, f"{catalog}.db.{name}", their_catalogs)


@pytest.fixture(params=[2, 3], ids=["v2", "v3"])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)

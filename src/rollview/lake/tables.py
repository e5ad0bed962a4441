"""Tables of the catalog: made by Spark, looked at through pyiceberg without a Spark job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyiceberg.exceptions import NoSuchTableError
from pyspark.sql import SparkSession
from sqlglot import exp

from rollview.algebra.schema import Column, Schema
from rollview.lake.arrow import is_plain
from rollview.lake.memory import Memory
from rollview.lake.refs import Commit, TableRef, to_table, user_table
from rollview.lake.regions import share_within
from rollview.lake.remembering import RememberingCatalog
from rollview.lake.session import CATALOG
from rollview.lake.statements import Statements
from rollview.names import COUNT, ENGINE_NAMESPACE, TICK, USER_NAMESPACE
from rollview.plan.emit import ident

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.schema import Schema as IcebergSchema
    from pyiceberg.table import Table

    from rollview.lake.predicates import Predicate
    from rollview.plan.region import Region

LOG_PROPERTIES = {
    "format-version": "2",
    "write.distribution-mode": "none",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "commit.retry.num-retries": "0",  # who comes second has computed from what no longer holds
    # A reader of the newest changes opens every manifest, so there must not be one for every commit.
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "8",
}
EXTENT_PROPERTIES = {
    "format-version": "3",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    "write.distribution-mode": "none",
    "write.merge.distribution-mode": "none",
    "write.delete.distribution-mode": "none",
    "write.update.distribution-mode": "none",
    # Look-ups read whole row groups, so these are small. Each counts as a file to open when Iceberg makes tasks, so
    # opening one costs little: otherwise most tasks of a look-up would find nothing to read.
    "write.parquet.row-group-size-bytes": str(1024 * 1024),
    "read.split.open-file-cost": str(64 * 1024),
    # Every scan of a query opens every manifest while Spark plans; a commit opens the few that there are once.
    "commit.manifest.min-count-to-merge": "2",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}
MANY_FILES = 1000
"""whose statistics take longer to look at than a few literals can save"""
SMALL_FORMAT, MERGED_FORMAT = 2, 3
"""what pyiceberg writes; and where a MERGE marks the rows that it deletes by one bitmap for each file"""


class Tables(Statements):
    """Makes, finds and reads tables."""

    def __init__(self, spark: SparkSession, catalog_url: str, warehouse: Path) -> None:
        super().__init__(spark)
        self.warehouse = warehouse
        self.catalog = RememberingCatalog(
            CATALOG, uri=catalog_url, warehouse=warehouse.absolute().as_uri(), init_catalog_tables="true"
        )
        self.memory = Memory()
        self._asked: dict[TableRef, set[str]] = {}
        self._files: dict[TableRef, tuple[int | None, list[DataFile]]] = {}

    def create_namespaces(self) -> None:
        for namespace in (USER_NAMESPACE, ENGINE_NAMESPACE):
            name = exp.Table(this=ident(namespace), db=ident(CATALOG))
            self.run(exp.Create(this=name, kind="NAMESPACE", exists=True))

    def create_table(self, ref: TableRef, columns: Schema, properties: Mapping[str, str]) -> None:
        definitions = [
            exp.ColumnDef(this=ident(c.name), kind=exp.DataType.build(c.type, dialect="spark")) for c in columns
        ]
        options = [exp.Property(this=exp.Literal.string(k), value=exp.Literal.string(v)) for k, v in properties.items()]
        self.run(
            exp.Create(
                this=exp.Schema(this=ref.tree(), expressions=definitions),
                kind="TABLE",
                exists=True,
                properties=exp.Properties(expressions=[exp.FileFormatProperty(this=exp.Var(this="iceberg")), *options]),
            )
        )

    def create_extent(self, ref: TableRef, columns: Schema) -> None:
        """A table for stored rows: while it is small the driver writes it anew; the first MERGE lifts its format."""
        version = SMALL_FORMAT if all(is_plain(c.type) for c in columns) else MERGED_FORMAT
        self.create_table(ref, columns, EXTENT_PROPERTIES | {"format-version": str(version)})

    def create_log(self, ref: TableRef, columns: Schema) -> None:
        stored = (*columns, Column(COUNT, "bigint"), Column(TICK, "bigint"))
        self.create_table(ref, stored, LOG_PROPERTIES)

    def create_view(self, name: str, query: exp.Query) -> None:
        self.run(exp.Create(this=user_table(name).tree(), kind="VIEW", replace=True, expression=query))

    def create_reader(self, name: str, foreign: str, columns: Sequence[str]) -> None:
        """The warehouse's name for a table that lives elsewhere."""
        self.create_view(name, exp.select(*(exp.Column(this=ident(c)) for c in columns)).from_(to_table(foreign)))

    @staticmethod
    def select_all(tree: exp.Table) -> exp.Select:
        return exp.select(exp.Star()).from_(tree)

    def drop(self, ref: TableRef, *, view: bool = False, purge: bool = False) -> None:
        self.run(exp.Drop(tables=[ref.tree()], kind="VIEW" if view else "TABLE", exists=True, purge=purge))

    def exists(self, ref: TableRef) -> bool:
        return self.catalog.table_exists((ref.namespace, ref.name))

    def load(self, ref: TableRef) -> Table:
        """The table as it is now; metadata that has not moved is not read again."""
        return self.catalog.load_table((ref.namespace, ref.name))

    def commit(self, ref: TableRef) -> Commit | None:
        """The table's latest commit, read without Spark; None if there is no such table."""
        try:
            snapshot = self.load(ref).current_snapshot()
        except NoSuchTableError:
            return None
        if snapshot is None:
            return Commit(None, {})
        summary = snapshot.summary
        return Commit(snapshot.snapshot_id, dict(summary.additional_properties) if summary is not None else {})

    def schema_at(self, ref: TableRef, snapshot: int) -> IcebergSchema:
        """The columns that a snapshot was written with, which are those that time travel shows."""
        table = self.load(ref)
        found = table.snapshot_by_id(snapshot)
        schemas = table.schemas()
        return schemas[found.schema_id] if found is not None and found.schema_id in schemas else table.schema()

    # --- reading without Spark ------------------------------------------------------------------------

    def scan(self, ref: TableRef, condition: Any, columns: Sequence[str]) -> pa.Table:
        """Rows by pyiceberg: file statistics prune, no Spark job."""
        return self.load(ref).scan(row_filter=condition, selected_fields=tuple(columns)).to_arrow()

    def scan_shared(self, ref: TableRef, condition: Predicate, columns: Sequence[str]) -> pa.Table:
        """As `scan`, of rows that others are going to ask for as well: they are read once, with every column that was
        asked for so far."""
        table = self.load(ref)
        asked = self._asked.setdefault(ref, set())
        asked.update(columns)
        key = ref, table.metadata_location, str(condition)
        rows = self.memory.get(key)
        if rows is None or not set(columns).issubset(rows.column_names):
            there = tuple(field.name for field in table.schema().fields if field.name in asked)
            rows = table.scan(row_filter=condition, selected_fields=there).to_arrow()
            self.memory.put(key, rows)
        return rows.select(list(columns))

    def rows_in(self, ref: TableRef, condition: Any) -> int:
        """At most how many rows satisfy a condition, by the statistics of the files."""
        return sum(task.file.record_count for task in self.load(ref).scan(row_filter=condition).plan_files())

    def within(self, ref: TableRef, column: str, region: Region) -> float:
        """About which share of a table is read for the values of a column, at best, by the statistics of its files."""
        table = self.load(ref)
        commit = self.commit(ref)
        if commit is None or commit.number("total-data-files") > MANY_FILES:
            return 0.0
        now = commit.snapshot_id
        if ref not in self._files or self._files[ref][0] != now:
            self._files[ref] = now, [task.file for task in table.scan().plan_files()]
        number = table.schema().find_field(column, case_sensitive=False).field_id
        return share_within(self._files[ref][1], number, region)

    def small_schema(self, ref: TableRef) -> pa.Schema | None:
        """The columns of a table that pyiceberg can write anew; None if it cannot."""
        table = self.load(ref)
        return table.schema().as_arrow() if table.metadata.format_version == SMALL_FORMAT else None

    def small_rows(self, ref: TableRef) -> pa.Table:
        """All rows of a small table, without a Spark job."""
        table = self.load(ref)
        rows = self.memory.get((ref, table.metadata_location))
        return table.scan().to_arrow().cast(table.schema().as_arrow()) if rows is None else rows

    def bytes(self, ref: TableRef) -> int:
        """The size of a table's files, as its last commit counts them."""
        commit = self.commit(ref)
        return commit.number("total-files-size") if commit is not None else 0

    def live_rows(self, ref: TableRef) -> int:
        """How many rows a table has, as its last commit counts them."""
        commit = self.commit(ref)
        if commit is None:
            return 0
        return commit.number("total-records") - commit.number("total-position-deletes")

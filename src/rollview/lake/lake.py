"""The lake: Spark and pyiceberg on one catalog. The only place that runs SQL, reads and writes tables."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from datetime import date, datetime
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.parquet as parquet
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io.pyarrow import write_file
from pyiceberg.manifest import ManifestContent
from pyiceberg.table import WriteTask
from pyspark.sql import DataFrame, DataFrameWriterV2, Observation, SparkSession
from pyspark.sql import functions as F
from sqlglot import exp
from sqlglot import to_table as parse_table

from rollview.algebra.schema import Column, Schema
from rollview.errors import BadInput, SourceError
from rollview.lake.arrow import is_plain, literal, refuse_other_columns
from rollview.lake.errors import conflict, translated
from rollview.lake.pointer import metadata_pointer
from rollview.lake.session import CATALOG
from rollview.names import COUNT, ENGINE_NAMESPACE, TICK, USER_NAMESPACE
from rollview.plan import emit
from rollview.plan.emit import ident, sql

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from rollview.capture.iceberg import IcebergCapture

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
    "commit.manifest.min-count-to-merge": "8",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}
SMALL_FORMAT, MERGED_FORMAT = 2, 3
"""what pyiceberg writes; and where a MERGE marks the rows that it deletes by one bitmap for each file"""
BRANCHES = "rollview_apply"
MANY_BRANCHES = 20
"""of processes that are gone; `maintain` drops them before there are so many"""


@dataclass(frozen=True, slots=True)
class TableRef:
    """A table of the warehouse's catalog."""

    namespace: str
    name: str

    def tree(self, branch: str | None = None) -> exp.Table:
        if branch is None:
            return emit.table(CATALOG, self.namespace, self.name)
        return exp.Table(
            this=exp.Dot(this=ident(self.name), expression=ident(f"branch_{branch}")),
            db=ident(self.namespace),
            catalog=ident(CATALOG),
        )

    def quoted(self, branch: str | None = None) -> str:
        return sql(self.tree(branch))


def engine_table(name: str) -> TableRef:
    return TableRef(ENGINE_NAMESPACE, name)


def user_table(name: str) -> TableRef:
    return TableRef(USER_NAMESPACE, name.lower())


@dataclass(frozen=True, slots=True)
class Commit:
    """A table's current snapshot: its id, and what its writer said of it."""

    snapshot_id: int | None
    properties: Mapping[str, str]

    def number(self, name: str) -> int:
        return int(self.properties.get(name) or 0)


class Lake:
    """Runs SQL trees on Spark, and small reads and appends through pyiceberg without a Spark job."""

    def __init__(self, spark: SparkSession, catalog_url: str, warehouse: Path) -> None:
        self.spark = spark
        self.warehouse = warehouse
        self.catalog = SqlCatalog(
            CATALOG, uri=catalog_url, warehouse=warehouse.absolute().as_uri(), init_catalog_tables="true"
        )
        self.branch = f"{BRANCHES}_{uuid4().hex[:12]}"
        """where changes are applied before they are published: nobody else's commits get among ours"""
        self._lock = threading.RLock()
        self._read: dict[TableRef, Table] = {}
        self.readers: dict[str, IcebergCapture] = {}
        """one for each table of others that was captured; they remember the metadata that they have read"""

    # --- statements -----------------------------------------------------------------------------------

    def run(self, statement: exp.Expr | str) -> DataFrame:
        text = statement if isinstance(statement, str) else sql(statement)
        with translated(text):
            return self.spark.sql(text)

    def fetch(self, query: exp.Expr | str, limit: int | None = None) -> pa.Table:
        """One action; the rows on the driver."""
        frame = self.run(query)
        with translated(query if isinstance(query, str) else sql(query)):
            return (frame if limit is None else frame.limit(limit)).toArrow()

    def day(self, time: datetime) -> date:
        """The day of a time in the session's time zone."""
        try:
            return time.astimezone(ZoneInfo(self.spark.conf.get("spark.sql.session.timeZone") or "UTC")).date()
        except (ZoneInfoNotFoundError, ValueError):  # a zone that only Java knows, such as GMT+2
            found: date = self.fetch(exp.select(exp.cast(literal(time), "date"))).column(0)[0].as_py()
            return found

    def planned(self, frame: DataFrame) -> DataFrame:
        """The frame with its plan made: from now on it reads the snapshots that are current."""
        frame._jdf.queryExecution().executedPlan()
        return frame

    def collect(self, frame: DataFrame) -> pa.Table:
        """The rows of exactly the plan that was made."""
        with translated("collect"):
            return frame.toArrow()

    def evaluate(self, query: str) -> None:
        """Run a query to its end and keep nothing of it."""
        frame = self.run(query)
        with translated(query):
            frame.write.format("noop").mode("overwrite").save()

    def schema(self, query: exp.Expr | str) -> Schema:
        """The types that Spark gives a query; no job."""
        return columns_of(self.run(query))

    @contextmanager
    def in_warehouse(self) -> Iterator[None]:
        """Unqualified names mean the warehouse's tables and views; afterwards the session is as it was."""
        with self._lock:
            catalog = self.spark.catalog.currentCatalog()
            database = self.spark.catalog.currentDatabase()
            self.spark.catalog.setCurrentCatalog(CATALOG)
            self.spark.catalog.setCurrentDatabase(USER_NAMESPACE)
            try:
                yield
            finally:
                self.spark.catalog.setCurrentCatalog(catalog)
                self.spark.catalog.setCurrentDatabase(database)

    # --- temporary views ------------------------------------------------------------------------------

    def bind(self, name: str, rows: pa.Table | DataFrame | exp.Expr) -> exp.Table:
        """Give rows a name that SQL can read."""
        if isinstance(rows, exp.Expr):
            frame = self.run(rows)
        elif isinstance(rows, pa.Table):
            frame = self.spark.createDataFrame(rows)
        else:
            frame = rows
        frame.createOrReplaceTempView(sql(ident(name)))
        return emit.table(name)

    def unbind(self, names: Iterable[str]) -> None:
        for name in names:
            self.spark.catalog.dropTempView(name)

    # --- tables ---------------------------------------------------------------------------------------

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
        read = self._read.get(ref)
        pointer = metadata_pointer(self.catalog.engine, CATALOG, ref.namespace, ref.name)
        if read is None or read.metadata_location != pointer:
            read = self._read[ref] = self.catalog.load_table((ref.namespace, ref.name))
        return copy(read)  # a commit through it must not show before it is one

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

    # --- writing --------------------------------------------------------------------------------------
    # `after` is the snapshot that the writer has computed from (0: none yet): if another process has written since, the
    # write fails. None: whatever is there.

    def unmoved(self, ref: TableRef, after: int | None) -> Table:
        """The table, if `after` is still its present."""
        table = self.load(ref)
        current = table.metadata.current_snapshot_id or 0
        if after is not None and current != after:
            raise conflict(f"{ref.namespace}.{ref.name} is at snapshot {current}, not {after}")
        return table

    def append_small(
        self, ref: TableRef, rows: pa.Table, properties: Mapping[str, str], after: int | None = None
    ) -> int:
        """Append by pyiceberg, without a Spark job; the new snapshot. Only for format v2."""
        table = self.unmoved(ref, after)
        with translated("append"):
            table.append(rows.cast(table.schema().as_arrow()), snapshot_properties=dict(properties))
        return table.metadata.current_snapshot_id or 0

    def delete(self, ref: TableRef, condition: Any, properties: Mapping[str, str], after: int | None = None) -> int:
        """Delete by pyiceberg, without a Spark job; the new snapshot."""
        table = self.unmoved(ref, after)
        with translated("delete"):
            table.delete(condition, snapshot_properties=dict(properties))
        return table.metadata.current_snapshot_id or 0

    def gather(self, ref: TableRef, order: str, properties: Mapping[str, str]) -> None:
        """The same rows in one file, by pyiceberg, without a Spark job; only what fits on the driver."""
        table = self.load(ref)
        with translated("gather"):
            table.overwrite(table.scan().to_arrow().sort_by(order), snapshot_properties=dict(properties))

    def small_schema(self, ref: TableRef) -> pa.Schema | None:
        """The columns of a table that pyiceberg can write anew; None if it cannot."""
        table = self.load(ref)
        return table.schema().as_arrow() if table.metadata.format_version == SMALL_FORMAT else None

    def small_rows(self, ref: TableRef) -> pa.Table:
        """All rows of a small table, without a Spark job."""
        table = self.load(ref)
        return table.scan().to_arrow().cast(table.schema().as_arrow())

    def replace_small(
        self, ref: TableRef, rows: pa.Table, properties: Mapping[str, str], after: int | None = None
    ) -> None:
        """Replace all rows by one file, by pyiceberg, in one commit; only for format v2."""
        table = self.unmoved(ref, after)
        task = WriteTask(uuid4(), 0, table.schema(), rows.combine_chunks().to_batches())
        plain = table.metadata.model_copy(update={"properties": {}})  # of those for Spark it warns on every write
        with (
            translated("replace"),
            table.transaction() as change,
            change.update_snapshot(snapshot_properties=dict(properties)).overwrite() as files,
        ):
            for there in table.scan().plan_files():
                files.delete_data_file(there.file)
            for made in write_file(table.io, plain, iter([task] if rows.num_rows else [])):
                files.append_data_file(made)

    def append(
        self,
        ref: TableRef,
        rows: DataFrame,
        properties: Mapping[str, str],
        *,
        order: Sequence[str] = (),
        spread: bool = False,
        branch: str | None = None,
        after: int | None = None,
    ) -> None:
        """Append by Spark; sorted by `order` within each file, or across all of them if `spread`."""
        keys = [F.col(sql(ident(c))) for c in order]
        frame = rows
        if keys:
            frame = rows.orderBy(*keys) if spread else rows.coalesce(1).sortWithinPartitions(*keys)
        writer = fenced(frame.writeTo(ref.quoted(branch)), properties, after)
        with translated("append"):
            if after is None:
                writer.append()
            else:
                writer.overwrite(F.lit(False))  # an append that Iceberg validates

    def append_signed(self, ref: TableRef, rows: DataFrame, tick: int, properties: Mapping[str, str]) -> None:
        """Plain rows into a change log, all gained at one tick."""
        stamped = rows.withColumns({COUNT: F.lit(1).cast("bigint"), TICK: F.lit(tick).cast("bigint")})
        self.append(ref, stamped, properties)

    def stamped(self, rows: DataFrame, tick: int) -> DataFrame:
        return rows.withColumn(TICK, F.lit(tick).cast("bigint"))

    def append_delta(
        self, ref: TableRef, rows: DataFrame, tick: int, properties: Mapping[str, str], after: int | None = None
    ) -> None:
        """Netted signed rows into a change log, as elementary ones."""
        count = F.col(sql(ident(COUNT)))
        copies = F.explode(F.array_repeat(F.signum(count).cast("bigint"), F.abs(count).cast("int")))
        stamped = rows.withColumn(COUNT, copies).withColumn(TICK, F.lit(tick).cast("bigint"))
        self.append(ref, stamped, properties, after=after)

    def overwrite(
        self,
        ref: TableRef,
        rows: DataFrame,
        properties: Mapping[str, str],
        *,
        order: Sequence[str] = (),
        after: int | None = None,
    ) -> None:
        """Replace all rows in one commit, laid out by `order`."""
        if not order:
            self.overwrite_as_is(ref, rows, properties, after)
            return
        kept = rows.persist()  # to sort, Spark looks at all rows twice
        try:
            self.overwrite_as_is(ref, kept.orderBy(*(F.col(sql(ident(c))) for c in order)), properties, after)
        finally:
            kept.unpersist()

    def overwrite_as_is(self, ref: TableRef, rows: DataFrame, properties: Mapping[str, str], after: int | None) -> None:
        writer = fenced(rows.writeTo(ref.quoted()), properties, after)
        with translated("overwrite"):
            writer.overwrite(F.lit(True))

    def rewrite(
        self,
        ref: TableRef,
        query: exp.Query,
        columns: Sequence[str],
        left: str,
        counts: Mapping[str, str],
        properties: Mapping[str, str],
        *,
        order: Sequence[str],
        after: int | None = None,
    ) -> dict[str, int]:
        """Replace a small table by the rows of a query for which `left` holds, counting others on the way."""
        seen = Observation()
        totals = [F.sum(F.expr(test).cast("bigint")).alias(name) for name, test in counts.items()]
        frame = self.run(query).observe(seen, *totals).filter(left)
        kept = frame.select(*(F.col(sql(ident(c))) for c in columns))
        self.overwrite_small(ref, kept, properties, order=order, after=after)
        return {name: int(seen.get[name] or 0) for name in counts}

    def overwrite_small(
        self,
        ref: TableRef,
        rows: DataFrame,
        properties: Mapping[str, str],
        *,
        order: Sequence[str],
        after: int | None = None,
    ) -> None:
        """Replace all rows by one sorted file."""
        frame = rows.coalesce(1)
        if order:
            frame = frame.sortWithinPartitions(*(F.col(sql(ident(c))) for c in order))
        self.overwrite_as_is(ref, frame, properties, after)

    def merge(self, statement: exp.Merge, properties: Mapping[str, str]) -> None:
        """A MERGE whose commit carries the properties. Spark takes them from the session, so one at a time."""
        with self._lock:
            keys = {f"spark.sql.iceberg.snapshot-property.{k}": v for k, v in properties.items()}
            for key, value in keys.items():
                self.spark.conf.set(key, value)
            try:
                self.run(statement)
            finally:
                for key in keys:
                    self.spark.conf.unset(key)

    def start_branch(self, ref: TableRef, after: int | None = None) -> None:
        """Our branch at main's present state, or at the one that is given; what was left there is replaced.

        Where it was published last, main often still is: then there is nothing to do.
        """
        metadata = self.load(ref).metadata
        if metadata.format_version < MERGED_FORMAT:
            version = exp.EQ(
                this=exp.Literal.string("format-version"), expression=exp.Literal.string(str(MERGED_FORMAT))
            )
            self.run(" ".join(["ALTER TABLE", ref.quoted(), "SET TBLPROPERTIES", f"({sql(version)})"]))
        refs = metadata.refs
        if self.branch in refs and refs[self.branch].snapshot_id == after:
            return
        if len(refs) > MANY_BRANCHES:
            self.drop_branches(ref)
        words = ["ALTER TABLE", ref.quoted(), "CREATE OR REPLACE BRANCH", sql(ident(self.branch))]
        self.run(" ".join([*words, *(["AS OF VERSION", str(after)] if after else [])]))

    def drop_branches(self, ref: TableRef) -> None:
        """Branches that processes have left behind."""
        for name in [n for n in self.load(ref).metadata.refs if n.startswith(BRANCHES)]:
            self.run(" ".join(["ALTER TABLE", ref.quoted(), "DROP BRANCH", sql(ident(name))]))

    def publish_branch(self, ref: TableRef, after: int | None = None) -> None:
        """Readers of main see everything that our branch has, at once; refused if main has left where it began."""
        name = sql(exp.Dot(this=ident(ref.namespace), expression=ident(ref.name)))
        arguments = [exp.Literal.string(a) for a in (name, "main", self.branch)]
        forward = exp.Anonymous(this="fast_forward", expressions=arguments)
        try:
            self.run("CALL " + sql(exp.Dot.build([ident(CATALOG), ident("system"), forward])))
        except SourceError:
            self.unmoved(ref, after)
            raise

    def conform(
        self,
        frame: DataFrame,
        columns: Schema,
        table: str,
        key: Sequence[str] | None,
        extent: TableRef,
        names: Sequence[str],
    ) -> DataFrame:
        """A user's frame in the table's columns and types; keys are checked before anything is written."""
        refuse_other_columns([n.lower() for n in frame.columns], names, table)
        given = frame.select(*(F.col(sql(ident(c.name))).cast(c.type).alias(c.name) for c in columns))
        if not key:
            return given
        with translated("insert"):
            self.check_frame_keys(given, table, key, extent)
        return given

    def check_frame_keys(self, frame: DataFrame, table: str, key: Sequence[str], extent: TableRef) -> None:
        keys = [F.col(sql(ident(k))) for k in key]
        missing = frame.filter(reduce(or_, [k.isNull() for k in keys])).limit(1).count()
        if missing:
            raise BadInput(f"a key column of {table} is NULL in some row", code="RV-NULL-KEY")
        repeated = frame.groupBy(*keys).count().filter("count > 1").select(*keys).limit(1).collect()
        if not repeated and self.live_rows(extent):
            there = self.run(exp.select(*(exp.Column(this=ident(k)) for k in key)).from_(extent.tree()))
            repeated = frame.select(*keys).join(there, on=list(key), how="left_semi").limit(1).collect()
        if repeated:
            shown = ", ".join(f"{k}={v!r}"[:80] for k, v in repeated[0].asDict().items())
            raise BadInput(
                f"the key {shown} would occur twice in {table}",
                code="RV-DUPLICATE-KEY",
                hint="use upsert to replace rows by key",
            )

    def compact(self, ref: TableRef, small_bytes: int, order: Sequence[str]) -> None:
        """Write the files below a size into few, sorted by `order`; larger ones stay."""
        options = {
            "target-file-size-bytes": str(64 * small_bytes),
            "min-file-size-bytes": str(small_bytes),
            "max-file-size-bytes": str(1 << 40),
            "min-input-files": "4",
        }
        pairs = [exp.Literal.string(text) for pair in options.items() for text in pair]
        name = sql(exp.Dot(this=ident(ref.namespace), expression=ident(ref.name)))
        given = {"table": exp.Literal.string(name), "options": exp.Anonymous(this="map", expressions=pairs)}
        if order:
            given |= {
                "strategy": exp.Literal.string("sort"),
                "sort_order": exp.Literal.string(", ".join(sql(ident(c)) for c in order)),
            }
        arguments = [exp.Kwarg(this=exp.var(key), expression=value) for key, value in given.items()]
        rewrite = exp.Anonymous(this="rewrite_data_files", expressions=arguments)
        self.run("CALL " + sql(exp.Dot.build([ident(CATALOG), ident("system"), rewrite])))

    def expire(self, ref: TableRef, keep: Iterable[int]) -> None:
        """Drop the snapshots of a table that are neither current nor to be kept, and the files that only they have."""
        table = self.load(ref)
        current = table.current_snapshot()
        wanted = {*keep, *([current.snapshot_id] if current is not None else [])}
        wanted |= {r.snapshot_id for r in table.metadata.refs.values()}
        gone = [s.snapshot_id for s in table.snapshots() if s.snapshot_id not in wanted]
        if not gone:
            return
        name = sql(exp.Dot(this=ident(ref.namespace), expression=ident(ref.name)))
        ids = exp.Array(expressions=[exp.Literal.number(g) for g in gone])
        given = {"table": exp.Literal.string(name), "snapshot_ids": ids}
        arguments = [exp.Kwarg(this=exp.var(key), expression=value) for key, value in given.items()]
        call = exp.Anonymous(this="expire_snapshots", expressions=arguments)
        self.run("CALL " + sql(exp.Dot.build([ident(CATALOG), ident("system"), call])))

    # --- reading without Spark ------------------------------------------------------------------------

    def scan(self, ref: TableRef, condition: Any, columns: Sequence[str]) -> pa.Table:
        """Rows by pyiceberg: file statistics prune, no Spark job."""
        return self.load(ref).scan(row_filter=condition, selected_fields=tuple(columns)).to_arrow()

    def rows_in(self, ref: TableRef, condition: Any) -> int:
        """At most how many rows satisfy a condition, by the statistics of the files."""
        return sum(task.file.record_count for task in self.load(ref).scan(row_filter=condition).plan_files())

    def added_rows(self, ref: TableRef, columns: Sequence[str]) -> pa.Table:
        """What the last commit of our branch added to main's files: read from those files alone, without Spark."""
        table = self.load(ref)
        schema = table.schema().select(*columns).as_arrow()
        head = table.metadata.refs[self.branch].snapshot_id
        snapshot = table.snapshot_by_id(head)
        if snapshot is None or head == table.metadata.current_snapshot_id:
            return schema.empty_table()
        parts = [schema.empty_table()]
        for manifest in snapshot.manifests(table.io):
            if manifest.added_snapshot_id != head or manifest.content != ManifestContent.DATA:
                continue
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
                if entry.snapshot_id in (None, head):
                    with table.io.new_input(entry.data_file.file_path).open() as file:
                        parts.append(parquet.read_table(file, columns=list(columns)).cast(schema))
        return pa.concat_tables(parts)

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


def fenced(writer: DataFrameWriterV2, properties: Mapping[str, str], after: int | None) -> DataFrameWriterV2:
    """The commit carries the properties, and fails if somebody has written since the snapshot `after`."""
    options = {f"snapshot-property.{key}": value for key, value in properties.items()}
    if after is not None:
        options["isolation-level"] = "serializable"
    if after:
        options["validate-from-snapshot-id"] = str(after)
    return writer.options(**options)


def columns_of(frame: DataFrame) -> Schema:
    return tuple(Column(f.name, f.dataType.simpleString(), f.nullable) for f in frame.schema.fields)


def to_table(name: str) -> exp.Table:
    """A table name as the user writes it, quoted part by part."""
    tree = parse_table(name, dialect="spark")
    for part in tree.find_all(exp.Identifier):
        part.set("quoted", True)
    return tree


def is_frame(data: Any) -> bool:
    return isinstance(data, DataFrame)

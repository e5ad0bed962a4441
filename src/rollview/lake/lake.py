"""The lake: Spark and pyiceberg on one catalog. The only place that runs SQL, reads and writes tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as parquet
from pyiceberg.manifest import ManifestContent
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sqlglot import exp

from rollview.algebra.schema import Schema
from rollview.errors import BadInput, SourceError
from rollview.lake.arrow import refuse_other_columns
from rollview.lake.errors import translated
from rollview.lake.refs import TableRef
from rollview.lake.session import CATALOG
from rollview.lake.tables import MERGED_FORMAT
from rollview.lake.writing import Writing
from rollview.plan.emit import ident, sql

if TYPE_CHECKING:
    from rollview.capture.iceberg import IcebergCapture

BRANCHES = "rollview_apply"
MANY_BRANCHES = 20
"""of processes that are gone; `maintain` drops them before there are so many"""


class Lake(Writing):
    """Statements, tables and writing, and above them: changes that are merged on a branch, checks, and upkeep."""

    def __init__(self, spark: SparkSession, catalog_url: str, warehouse: Path) -> None:
        super().__init__(spark, catalog_url, warehouse)
        self.branch = f"{BRANCHES}_{uuid4().hex[:12]}"
        """where changes are applied before they are published: nobody else's commits get among ours"""
        self.readers: dict[str, IcebergCapture] = {}
        """one for each table of others that was captured; they remember the metadata that they have read"""

    # --- a branch -------------------------------------------------------------------------------------

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

    # --- checks ---------------------------------------------------------------------------------------

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

    # --- upkeep ---------------------------------------------------------------------------------------

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

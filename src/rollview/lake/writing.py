"""Rows into tables: small ones by pyiceberg without a Spark job, others by Spark.

`after` is the snapshot that the writer has computed from (0: none yet): if another process has written since, the write
fails. None: whatever is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
from pyiceberg.io.pyarrow import write_file
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Transaction, WriteTask
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import TableUpdate
from pyiceberg.table.update.snapshot import _OverwriteFiles
from pyspark.sql import DataFrame, DataFrameWriterV2, Observation
from pyspark.sql import functions as F
from sqlglot import exp

from rollview.errors import SourceError
from rollview.lake.errors import conflict, translated
from rollview.lake.refs import TableRef
from rollview.lake.tables import SMALL_FORMAT, Tables
from rollview.names import COUNT, TICK
from rollview.plan.emit import ident, sql
from rollview.steps import reached

if TYPE_CHECKING:
    from pyiceberg.table import Table

TOO_MUCH = "spark.driver.maxResultSize"
"""named by Spark when it refuses to send rows to the driver"""


class Staged(Transaction):
    """pyiceberg copies all of the metadata whenever it looks at it, twenty times in a commit: the more snapshots there
    are, the longer that takes."""

    _seen: tuple[TableMetadata, tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        base = self._table.metadata  # another one when a commit is tried again
        if not self._updates:
            return base
        if self._seen is None or self._seen[0] is not base or self._seen[1] is not self._updates:
            self._seen = base, self._updates, super().table_metadata
        return self._seen[2]


class Replacement(_OverwriteFiles):
    """pyiceberg carries on every manifest, also those of which all files are gone: one more with each commit."""

    def _process_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        here = self._snapshot_id
        return [m for m in manifests if m.added_snapshot_id == here or m.has_added_files() or m.has_existing_files()]


class Writing(Tables):
    """Appends, deletes and replaces rows; each in one commit."""

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
        with translated("append"), Staged(table) as change:
            schema = table.schema().as_arrow()
            change.append(rows.select(schema.names).cast(schema), snapshot_properties=dict(properties))
        return table.metadata.current_snapshot_id or 0

    def delete(self, ref: TableRef, condition: Any, properties: Mapping[str, str], after: int | None = None) -> int:
        """Delete by pyiceberg, without a Spark job; the new snapshot."""
        table = self.unmoved(ref, after)
        with translated("delete"), Staged(table) as change:
            change.delete(condition, snapshot_properties=dict(properties))
        return table.metadata.current_snapshot_id or 0

    def gather(self, ref: TableRef, order: str, properties: Mapping[str, str]) -> None:
        """The same rows in one file, by pyiceberg, without a Spark job; only what fits on the driver."""
        table = self.load(ref)
        with translated("gather"), Staged(table) as change:
            change.overwrite(table.scan().to_arrow().sort_by(order), snapshot_properties=dict(properties))

    def replace_small(
        self, ref: TableRef, rows: pa.Table, properties: Mapping[str, str], after: int | None = None
    ) -> None:
        """Replace all rows by one file, by pyiceberg, in one commit; only for format v2."""
        table = self.unmoved(ref, after)
        if table.metadata.format_version != SMALL_FORMAT:
            raise conflict(f"{ref.namespace}.{ref.name} has been prepared for a MERGE")
        task = WriteTask(uuid4(), 0, table.schema(), rows.combine_chunks().to_batches())
        kind = Operation.OVERWRITE if table.metadata.current_snapshot_id is not None else Operation.APPEND
        plain = table.metadata.model_copy(update={"properties": {}})  # of those for Spark it warns on every write
        with (
            translated("replace"),
            Staged(table) as change,
            Replacement(kind, change, table.io, snapshot_properties=dict(properties)) as files,
        ):
            for there in table.scan().plan_files():
                files.delete_data_file(there.file)
            for made in write_file(table.io, plain, iter([task] if rows.num_rows else [])):
                files.append_data_file(made)
            reached("small.written")
        if rows.schema.equals(table.schema().as_arrow()):
            self.memory.put((ref, table.metadata_location), rows)  # whoever changes it next begins with these

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

    def taken(self, query: exp.Query | str, most: int) -> DataFrame | pa.Table:
        """The rows of a query that is expected to have few: on the driver if they are at most so many, else where Spark
        computes them. They are fetched as they are: a limit would take a shuffle of its own, and Spark itself refuses
        to send far too much."""
        if most:
            try:
                rows = self.fetch(query)
            except SourceError as error:
                if TOO_MUCH not in error.message:
                    raise
            else:
                if rows.num_rows <= most:
                    return rows
        return self.run(query)

    def overwrite(
        self,
        ref: TableRef,
        rows: DataFrame | pa.Table,
        properties: Mapping[str, str],
        *,
        order: Sequence[str] = (),
        after: int | None = None,
        small: bool = False,
    ) -> None:
        """Replace all rows in one commit, laid out by `order`; those of a small table by one task, in one file, and
        those that are on the driver without a job."""
        if isinstance(rows, pa.Table):
            schema = self.load(ref).schema().as_arrow()
            typed = rows.select(schema.names).cast(schema)
            self.replace_small(
                ref, typed.sort_by([(c, "ascending") for c in order]) if order else typed, properties, after
            )
            return
        if small:
            self.overwrite_small(ref, rows.repartition(1), properties, order=order, after=after)
            return
        if not order:
            self.overwrite_as_is(ref, rows, properties, after)
            return
        kept = self.persisted(rows)  # to sort, Spark looks at all rows twice
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


def fenced(writer: DataFrameWriterV2, properties: Mapping[str, str], after: int | None) -> DataFrameWriterV2:
    """The commit carries the properties, and fails if somebody has written since the snapshot `after`."""
    options = {f"snapshot-property.{key}": value for key, value in properties.items()}
    if after is not None:
        options["isolation-level"] = "serializable"
    if after:
        options["validate-from-snapshot-id"] = str(after)
    return writer.options(**options)

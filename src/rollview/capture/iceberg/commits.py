"""The changes of an Iceberg table that others write, one source transaction at a time.

Planning reads metadata only. Rows of small changes are read on the driver by Arrow, rows of large ones are a Spark
frame. Either way, what is read is the files that changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyiceberg.table.snapshots import Operation

from rollview.capture.iceberg.difference import Differ, Difference
from rollview.capture.iceberg.history import EMPTY, expired, initial, steps_since
from rollview.capture.iceberg.locate import Locator, reading
from rollview.capture.iceberg.manifests import Manifests
from rollview.capture.iceberg.read import Reader, check_format, is_readable
from rollview.capture.iceberg.types import Column, columns_of
from rollview.capture.net import net
from rollview.errors import BadInput
from rollview.lake import iceberg_files as lake
from rollview.names import COUNT, is_reserved

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pyiceberg.table import Table

    from rollview.capture.iceberg.history import Step

DRIVER_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class SourceCommit:
    """One committed change of the table. Without `rows` and `frame` it changed no row."""

    snapshot_id: int
    """The position to capture from next time."""
    committed_at: datetime
    columns: tuple[Column, ...]
    """The table's columns when it was captured; rows have them, whatever schema they were written with."""
    inserted: int | None = 0
    deleted: int | None = 0
    """None: only the frame knows."""
    rows: pa.Table | None = None
    """The net change: the columns, then `__count`, +1 or -1."""
    frame: Any = None
    """The same as a Spark DataFrame, for a change too large for the driver."""

    @property
    def is_noop(self) -> bool:
        return self.rows is None and self.frame is None


class IcebergCapture:
    """Captures one table, named as the Spark session names it.

    >>> capture = IcebergCapture(spark, "their_catalog.db.orders")  # doctest: +SKIP
    >>> for commit in capture.commits_since(last): ...  # doctest: +SKIP
    """

    def __init__(self, spark: Any, table: str, *, driver_bytes: int = DRIVER_BYTES) -> None:
        self._locator = Locator(spark, table)
        self._driver_bytes = driver_bytes
        self._manifests = Manifests()

    def __repr__(self) -> str:
        return f"IcebergCapture({str(self._locator.name)!r})"

    def latest(self) -> int | None:
        """The table's current snapshot; None while it has none. A few milliseconds, no Spark job."""
        return self._locator.latest()

    def position(self) -> int:
        """Where a capture that starts now would stand: the current snapshot, or EMPTY."""
        latest = self.latest()
        return EMPTY if latest is None else latest

    def size(self) -> int:
        """The bytes of the table's files, as its last commit counts them."""
        snapshot = self._locator.table().current_snapshot()
        summary = snapshot.summary if snapshot is not None else None
        return int(summary.get("total-files-size") or 0) if summary is not None else 0

    def columns(self) -> tuple[Column, ...]:
        """The table's columns now. Compare with `schema_change`."""
        return self._columns(self._locator.table())

    def has(self, snapshot_id: int) -> bool:
        """Is the snapshot still there?"""
        return self._locator.table().metadata.snapshot_by_id(snapshot_id) is not None

    def columns_at(self, snapshot_id: int) -> tuple[Column, ...]:
        """The columns that a snapshot was written with, which are those that time travel shows."""
        metadata = self._locator.table().metadata
        snapshot = metadata.snapshot_by_id(snapshot_id)
        schemas = {s.schema_id: s for s in metadata.schemas}
        if snapshot is None:
            raise expired(snapshot_id, str(self._locator.name))
        return columns_of(schemas[snapshot.schema_id] if snapshot.schema_id in schemas else metadata.schema())

    def commits_since(self, last: int | None) -> Iterator[SourceCommit]:
        """The commits after the captured snapshot `last`, in order; with None one commit, the whole table."""
        table = self._locator.table()
        columns = self._columns(table)
        if last is None:
            first = initial(table.metadata)
            steps = [] if first is None else [first]
        else:
            steps = steps_since(table.metadata, last, str(self._locator.name))
        for step in steps:
            with reading(str(self._locator.name)):
                commit = self._commit(table, step, columns)
            yield commit

    def _columns(self, table: Table) -> tuple[Column, ...]:
        columns = columns_of(table.metadata.schema())
        taken = [c.name for c in columns if is_reserved(c.name)]
        if taken:
            raise BadInput(
                f"{self._locator.name} has columns whose names rollview keeps for itself: {', '.join(taken)}",
                code="RV-RESERVED-NAME",
                hint="Rename them, or attach a copy of the table that has other names.",
            )
        return columns

    def _commit(self, table: Table, step: Step, columns: tuple[Column, ...]) -> SourceCommit:
        if step.keeps_rows:
            return SourceCommit(step.position, step.committed_at, columns)
        reader = reader_of(table)
        differ = Differ(table.metadata, table.io, self._manifests, reader.paths_of)
        if step.before_expired and step.after is not None:
            difference = differ.appended(step.after)
        else:
            difference = differ.between(step.before, step.after)
        files = difference.files
        if sum(f.bytes for f in files) > self._driver_bytes or not all(map(is_readable, files)):
            return self._in_spark(table, step, difference, reader)
        batches = (b for c in difference.changes for b in reader.signed_rows(c))
        rows = net(pa.Table.from_batches(batches, reader.schema))
        inserted = int((rows.column(COUNT).to_numpy() > 0).sum())
        deleted = rows.num_rows - inserted
        return SourceCommit(
            step.position, step.committed_at, columns, inserted, deleted, rows if rows.num_rows else None
        )

    def _in_spark(self, table: Table, step: Step, difference: Difference, reader: Reader) -> SourceCommit:
        """By Spark's own reader where it knows how, else by ours in Spark's workers."""
        columns = self._columns(table)
        frame = self._by_spark_alone(table, step, difference, [c.name for c in columns])
        if frame is None:
            for file in difference.files:
                check_format(file)
            types = [(c.name, c.type) for c in columns]
            frame = lake.changed_rows(self._locator.spark, reader, difference.changes, types)
        frame = frame if difference.one_sided else lake.netted(frame)
        return SourceCommit(step.position, step.committed_at, columns, difference.gained, difference.lost, None, frame)

    def _by_spark_alone(self, table: Table, step: Step, difference: Difference, names: list[str]) -> Any:
        """Spark reads a snapshot (in that snapshot's schema), what was appended, or a changelog without deletes."""
        spark, name = self._locator.spark, self._locator.name
        before, after = step.before, step.after
        if after is None or step.before_expired:
            return None
        if before is None:
            same = after.schema_id == table.metadata.current_schema_id
            return lake.snapshot_rows(spark, name, after.snapshot_id, names) if same else None
        if after.parent_snapshot_id != before.snapshot_id:
            return None
        if after.summary and after.summary.operation is Operation.APPEND:
            return lake.appended_rows(spark, name, before.snapshot_id, after.snapshot_id, names)
        if difference.without_deletes:
            return lake.rewritten_rows(spark, name, before.snapshot_id, after.snapshot_id, names)
        return None


def reader_of(table: Table) -> Reader:
    metadata = table.metadata
    fields = {f.field_id: f for s in (*metadata.schemas, metadata.schema()) for f in s.fields}
    return Reader(
        io=table.io,
        fields=tuple(metadata.schema().fields),
        equality_fields=fields,
        specs=metadata.specs(),
        name_mapping=metadata.name_mapping(),
        format_version=metadata.format_version,
    )


__all__ = ["EMPTY", "IcebergCapture", "SourceCommit"]

"""Writes equality deletes as streaming writers do; neither Spark nor pyiceberg can."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.conversions import to_bytes
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.schema import Schema
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, ListType, NestedField, StructType

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyiceberg.manifest import ManifestFile
    from pyiceberg.table import Table


class DeleteManifestWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}

    def _with_partition(self, format_version: Any) -> Schema:
        """pyiceberg writes equality ids as long; Iceberg's own reader wants int."""
        entry = super()._with_partition(format_version)
        ids = NestedField(135, "equality_ids", ListType(136, IntegerType(), element_required=True), required=False)
        file = entry.find_field(2).field_type
        assert isinstance(file, StructType)
        fields = StructType(*(ids if f.field_id == 135 else f for f in file.fields))
        return Schema(*(NestedField(2, "data_file", fields) if f.field_id == 2 else f for f in entry.fields))


def upsert(
    root: Path,
    name: str,
    deletes: dict[tuple[Any, ...], pa.Table],
    inserts: dict[tuple[Any, ...], pa.Table] | None = None,
    *,
    spec_id: int | None = None,
) -> None:
    """One commit that deletes, by partition, the rows equal to `deletes` in its columns, and inserts others."""
    catalog, short = name.split(".", 1)
    table = SqlCatalog(catalog, uri=f"sqlite:///{root}/catalog.db", warehouse=str(root)).load_table(short)
    before = table.current_snapshot()
    assert before is not None
    snapshot_id, sequence = uuid.uuid4().int & ((1 << 62) - 1), table.metadata.last_sequence_number + 1
    spec = table.metadata.default_spec_id if spec_id is None else spec_id
    manifests = before.manifests(table.io)
    manifests.append(_manifest(table, snapshot_id, deletes, DataFileContent.EQUALITY_DELETES, spec))
    if inserts:
        manifests.append(_manifest(table, snapshot_id, inserts, DataFileContent.DATA, spec))
    path = f"{table.location()}/metadata/snap-{snapshot_id}.avro"
    output = table.io.new_output(path)
    with write_manifest_list(2, output, snapshot_id, before.snapshot_id, sequence, "deflate") as writer:
        writer.add_manifests(manifests)
    after = Snapshot(
        snapshot_id=snapshot_id,
        parent_snapshot_id=before.snapshot_id,
        sequence_number=sequence,
        timestamp_ms=int(time.time() * 1000),
        manifest_list=path,
        summary=Summary(Operation.OVERWRITE),
        schema_id=table.metadata.current_schema_id,
    )
    ref = SetSnapshotRefUpdate(ref_name="main", type=SnapshotRefType.BRANCH, snapshot_id=snapshot_id)
    table.catalog.commit_table(table, (), (AddSnapshotUpdate(snapshot=after), ref))


def _manifest(
    table: Table,
    snapshot_id: int,
    rows: dict[tuple[Any, ...], pa.Table],
    content: DataFileContent,
    spec_id: int,
) -> ManifestFile:
    kind = ManifestWriterV2 if content is DataFileContent.DATA else DeleteManifestWriter
    output = table.io.new_output(f"{table.location()}/metadata/{uuid.uuid4()}.avro")
    with kind(table.specs()[spec_id], table.schema(), output, snapshot_id, "deflate") as writer:
        for partition, part in rows.items():
            file = _file(table, partition, part, content)
            entry = ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=snapshot_id, data_file=file)
            writer.add(entry)
    return writer.to_manifest_file()


def _file(table: Table, partition: tuple[Any, ...], rows: pa.Table, content: DataFileContent) -> DataFile:
    fields = [table.schema().find_field(c) for c in rows.column_names]
    path = f"{table.location()}/data/{uuid.uuid4()}.parquet"
    with table.io.new_output(path).create() as stream:
        pq.write_table(rows.cast(schema_to_pyarrow(Schema(*fields))), stream)
    values = {f.field_id: [v for v in rows.column(f.name).to_pylist() if v is not None] for f in fields}
    types = {f.field_id: f.field_type for f in fields}
    return DataFile.from_args(
        content=content,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record(*partition),
        record_count=rows.num_rows,
        file_size_in_bytes=len(table.io.new_input(path)),
        value_counts=dict.fromkeys(values, rows.num_rows),
        null_value_counts={i: rows.num_rows - len(v) for i, v in values.items()},
        lower_bounds={i: to_bytes(types[i], min(v)) for i, v in values.items() if v},
        upper_bounds={i: to_bytes(types[i], max(v)) for i, v in values.items() if v},
        equality_ids=None if content is DataFileContent.DATA else list(values),
    )

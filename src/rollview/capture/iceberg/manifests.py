"""The live files of a snapshot, read from its manifests by pyiceberg: no Spark job, no data file.

A manifest never changes, so what it lists is kept. We read with a schema of our own, because pyiceberg leaves out
the target and the place of a deletion vector.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from pyiceberg.avro.file import AvroFile
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import ManifestContent
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.io import FileIO
    from pyiceberg.manifest import ManifestFile, PartitionFieldSummary
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot
    from pyiceberg.types import IcebergType

PATH_FIELD = 2147483546
"""The field id of `file_path` in a position delete file."""
_REMOVED = 2


class Content(IntEnum):
    DATA = 0
    POSITIONS = 1
    EQUALITY = 2


@dataclass(frozen=True, slots=True)
class ContentFile:
    """A data file, a delete file or one deletion vector, as a snapshot lists it.

    A path that left the table and came back has another sequence number and is another file.
    """

    path: str
    offset: int | None
    sequence: int
    added_by: int | None = field(compare=False)
    """The snapshot that brought the file."""
    content: Content = field(compare=False)
    format: str = field(compare=False)
    spec_id: int = field(compare=False)
    partition: tuple[Any, ...] = field(compare=False)
    records: int = field(compare=False)
    bytes: int = field(compare=False)
    equality_ids: tuple[int, ...] = field(compare=False, default=())
    target: str | None = field(compare=False, default=None)
    """The one data file that a position delete file or a deletion vector is about, where that is known."""
    bounds: Bounds | None = field(compare=False, default=None, repr=False)

    @property
    def is_vector(self) -> bool:
        return self.format == "puffin"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Column statistics by field id."""

    values: Mapping[int, int]
    nulls: Mapping[int, int]
    lower: Mapping[int, bytes]
    upper: Mapping[int, bytes]


def _optional(field_id: int, name: str, kind: IcebergType) -> NestedField:
    return NestedField(field_id, name, kind, required=False)


def _by_field(field_id: int, name: str, key_id: int, value: IcebergType) -> NestedField:
    kind = MapType(key_id=key_id, key_type=IntegerType(), value_id=key_id + 1, value_type=value)
    return _optional(field_id, name, kind)


_FILE = (
    NestedField(100, "file_path", StringType(), required=True),
    NestedField(101, "file_format", StringType(), required=True),
    NestedField(102, "partition", StructType(), required=True),
    NestedField(103, "record_count", LongType(), required=True),
    NestedField(104, "file_size_in_bytes", LongType(), required=True),
    _optional(134, "content", IntegerType()),
    _optional(135, "equality_ids", ListType(136, LongType(), element_required=True)),
    _optional(143, "referenced_data_file", StringType()),
    _optional(144, "content_offset", LongType()),
    _optional(145, "content_size_in_bytes", LongType()),
    _by_field(109, "value_counts", 119, LongType()),
    _by_field(110, "null_value_counts", 121, LongType()),
    _by_field(125, "lower_bounds", 126, BinaryType()),
    _by_field(128, "upper_bounds", 129, BinaryType()),
    # Not needed, but pyiceberg cannot skip collections that the reading schema leaves out.
    _by_field(108, "column_sizes", 117, LongType()),
    _by_field(137, "nan_value_counts", 138, LongType()),
    _optional(132, "split_offsets", ListType(133, LongType(), element_required=True)),
)
_ENTRY = Schema(
    NestedField(0, "status", IntegerType(), required=True),
    _optional(1, "snapshot_id", LongType()),
    _optional(3, "sequence_number", LongType()),
    NestedField(2, "data_file", StructType(*_FILE), required=True),
)


class Manifests:
    """Reads manifests and keeps what they list, up to `limit` files, the least recently used going first."""

    def __init__(self, limit: int = 200_000) -> None:
        self._limit = limit
        self._held = 0
        self._kept: OrderedDict[tuple[str, bool], tuple[ContentFile, ...]] = OrderedDict()

    def of(self, snapshot: Snapshot | None, io: FileIO) -> dict[str, ManifestFile]:
        """The manifests of a snapshot by path; of None, the empty table, none."""
        return {} if snapshot is None else {m.manifest_path: m for m in snapshot.manifests(io)}

    def live(self, manifest: ManifestFile, io: FileIO, *, bounds: bool = False) -> tuple[ContentFile, ...]:
        """The files that a manifest says are in the table."""
        bounds = bounds or is_deletes(manifest)
        key = (manifest.manifest_path, bounds)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        with AvroFile[Record](io.new_input(manifest.manifest_path), _ENTRY) as entries:
            files = tuple(_content_file(e, manifest, bounds) for e in entries if e[0] != _REMOVED)
        self._kept[key] = files
        self._held += len(files)
        while self._held > self._limit and len(self._kept) > 1:
            self._held -= len(self._kept.popitem(last=False)[1])
        return files


def is_deletes(manifest: ManifestFile) -> bool:
    return manifest.content == ManifestContent.DELETES


def may_hold(manifest: ManifestFile, spec_id: int, partition: tuple[Any, ...], metadata: TableMetadata) -> bool:
    """Whether the summary of a manifest leaves room for a file of that partition."""
    if manifest.partition_spec_id != spec_id:
        return False
    fields = metadata.specs()[spec_id].partition_type(metadata.schema()).fields
    bounded = zip(partition, manifest.partitions or (), fields, strict=False)
    return all(_within(value, summary, field.field_type) for value, summary, field in bounded)


def _within(value: Any, summary: PartitionFieldSummary, kind: IcebergType) -> bool:
    if value is None:
        return bool(summary.contains_null)
    low, high = summary.lower_bound, summary.upper_bound
    if value != value or low is None or high is None or not isinstance(kind, PrimitiveType):  # bounds leave out NaN
        return True
    try:
        return bool(from_bytes(kind, low) <= value <= from_bytes(kind, high))
    except Exception:  # a column that is gone or has been widened: no reason to leave the manifest out
        return True


def _content_file(entry: Record, manifest: ManifestFile, bounds: bool) -> ContentFile:
    """An entry without a snapshot or a sequence number was added with its manifest and has the manifest's."""
    _, added_by, sequence, file = (entry[i] for i in range(4))
    path, file_format, partition, records, size, content, equality_ids, target, offset, length = (
        file[i] for i in range(10)
    )
    statistics = Bounds(*(dict(file[i] or {}) for i in range(10, 14))) if bounds else None
    return ContentFile(
        path=path,
        offset=offset,
        sequence=sequence if sequence is not None else manifest.sequence_number or 0,
        added_by=added_by if added_by is not None else manifest.added_snapshot_id,
        content=Content(content or 0),
        format=file_format.lower(),
        spec_id=manifest.partition_spec_id,
        partition=tuple(partition[i] for i in range(len(partition))),
        records=records,
        bytes=length if length is not None else size,
        equality_ids=tuple(equality_ids or ()),
        target=target or (_only_path(statistics) if statistics and content == Content.POSITIONS else None),
        bounds=statistics,
    )


def _only_path(bounds: Bounds) -> str | None:
    """A position delete file whose path bounds are equal is about that one data file."""
    lower, upper = bounds.lower.get(PATH_FIELD), bounds.upper.get(PATH_FIELD)
    return lower.decode() if lower is not None and lower == upper else None

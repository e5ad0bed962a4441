"""Signed rows of changed files, read by Arrow: on the driver, or inside Spark's Python workers.

Every row of a data file gets a sign: live in the new state minus live in the old one. Rows of sign 0 are
left out, and row groups without any other row are not read.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from pyiceberg.io.pyarrow import pyarrow_to_schema
from pyiceberg.transforms import IdentityTransform
from pyroaring import BitMap64

from rollview.capture.iceberg.equality import covered
from rollview.capture.iceberg.manifests import Content, ContentFile
from rollview.capture.iceberg.project import project
from rollview.capture.iceberg.types import arrow_field
from rollview.errors import NotYetSupported, SourceError
from rollview.names import COUNT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pyiceberg.io import FileIO
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table.name_mapping import NameMapping
    from pyiceberg.types import NestedField

    from rollview.capture.iceberg.difference import Deletes, FileChange

_FORMATS = {"parquet": ds.ParquetFileFormat, "orc": ds.OrcFileFormat}
_VECTOR_MAGIC = b"\xd1\xd3\x39\x64"


@dataclass(frozen=True, slots=True)
class Reader:
    """All that is needed to read a table's files; can be pickled and sent to a worker."""

    io: FileIO
    fields: tuple[NestedField, ...]
    """The columns that rows are delivered in."""
    equality_fields: Mapping[int, NestedField]
    specs: Mapping[int, PartitionSpec]
    name_mapping: NameMapping | None
    format_version: int
    _positions: dict[str, dict[str, NDArray[np.int64]]] = field(default_factory=dict, compare=False)

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([*(arrow_field(f) for f in self.fields), pa.field(COUNT, pa.int64())])

    def signed_rows(self, change: FileChange) -> Iterator[pa.RecordBatch]:
        """The rows that the file gained (+1) and lost (-1)."""
        signs = self._live(change.file, change.after).astype(np.int64)
        signs -= self._live(change.file, change.before)
        for start, batch in self._batches(change.file, self.fields, signs != 0):
            here = signs[start : start + len(batch)]
            at = np.flatnonzero(here)
            if at.size:
                rows = batch.take(pa.array(at)) if at.size < len(batch) else batch
                yield pa.RecordBatch.from_arrays([*rows.columns, pa.array(here[at])], schema=self.schema)

    def paths_of(self, delete: ContentFile) -> tuple[str, ...]:
        """The data files that a position delete file names."""
        return tuple(self._positions_in(delete))

    def _live(self, file: ContentFile, deletes: Deletes | None) -> NDArray[np.bool_]:
        live = np.full(file.records, deletes is not None)
        for delete in deletes or ():
            if delete.content is Content.EQUALITY:
                live &= ~self._matched(file, delete)
            else:
                positions = self._vector(delete) if delete.is_vector else self._positions_in(delete).get(file.path)
                if positions is not None:
                    live[positions[positions < file.records]] = False
        return live

    def _vector(self, delete: ContentFile) -> NDArray[np.int64]:
        """The positions in a deletion vector: length, magic, 64-bit roaring bitmap, checksum."""
        with self.io.new_input(delete.path).open() as stream:
            stream.seek(delete.offset or 0)
            blob = stream.read(delete.bytes)
        if blob[4:8] != _VECTOR_MAGIC:
            raise SourceError(f"{delete.path} holds no deletion vector where it should", code="RV-ICEBERG-METADATA")
        return np.asarray(BitMap64.deserialize(blob[8:-4]).to_array(), dtype=np.int64)

    def _positions_in(self, delete: ContentFile) -> dict[str, NDArray[np.int64]]:
        """The positions in a position delete file, by data file."""
        known = self._positions.get(delete.path)
        if known is None:
            with self._fragment(delete) as fragment:
                rows = fragment.to_table(columns=["file_path", "pos"])
            encoded = rows.column("file_path").combine_chunks().dictionary_encode()
            which = encoded.indices.to_numpy(zero_copy_only=False)
            positions = rows.column("pos").to_numpy().astype(np.int64)
            known = {path: positions[which == i] for i, path in enumerate(encoded.dictionary.to_pylist())}
            self._positions[delete.path] = known
        return known

    def _matched(self, file: ContentFile, delete: ContentFile) -> NDArray[np.bool_]:
        """For each row of the file whether an equality delete covers it."""
        fields = [self._equality_field(i) for i in delete.equality_ids]
        schema = pa.schema([arrow_field(f) for f in fields])
        rows, gone = (
            pa.Table.from_batches([b for _, b in self._batches(f, fields, np.full(f.records, True))], schema)
            for f in (file, delete)
        )
        return covered(rows, gone)

    def _equality_field(self, field_id: int) -> NestedField:
        found = self.equality_fields.get(field_id)
        if found is None:
            raise NotYetSupported(
                "an equality delete compares a field inside a struct",
                code="RV-EQUALITY-DELETES",
                hint="Compact the table (rewrite_data_files), then attach it again.",
            )
        return found

    def _batches(
        self, file: ContentFile, fields: Sequence[NestedField], wanted: NDArray[np.bool_]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows of a file as `fields`, each batch with the position of its first row.

        Row groups without a wanted row are left out.
        """
        if not wanted.any():
            return
        with self._fragment(file) as fragment:
            physical: Schema = pyarrow_to_schema(
                fragment.physical_schema,
                self.name_mapping,
                downcast_ns_timestamp_to_us=True,
                format_version=self.format_version,  # type: ignore[arg-type]
            )
            ids = {f.field_id for f in fields}
            columns = {f.name: ds.field(f.name) for f in physical.fields if f.field_id in ids}
            constants = self._partition_values(file)
            for start, part in _parts(fragment, wanted):
                for batch in part.scanner(columns=columns, use_threads=True).to_batches():
                    yield start, project(batch, physical, fields, constants)
                    start += len(batch)

    def _partition_values(self, file: ContentFile) -> dict[int, Any]:
        """Values of identity partitions: files of migrated tables leave those columns out."""
        named = zip(self.specs[file.spec_id].fields, file.partition, strict=False)
        return {f.source_id: value for f, value in named if isinstance(f.transform, IdentityTransform)}

    @contextmanager
    def _fragment(self, file: ContentFile) -> Iterator[ds.Fragment]:
        check_format(file)
        with self.io.new_input(file.path).open() as stream:
            yield _FORMATS[file.format]().make_fragment(stream)


def is_readable(file: ContentFile) -> bool:
    return file.format in _FORMATS or file.is_vector


def check_format(file: ContentFile) -> None:
    if not is_readable(file):
        raise NotYetSupported(
            f"deletions in {file.format} files cannot be captured: {file.path}",
            code="RV-ICEBERG-FORMAT",
            hint="Rewrite the table to Parquet (write.format.default, then rewrite_data_files).",
        )


def _parts(fragment: ds.Fragment, wanted: NDArray[np.bool_]) -> Iterator[tuple[int, ds.Fragment]]:
    """The row groups of a Parquet file that hold a wanted row, neighbours together; any other file is one part."""
    if not isinstance(fragment, ds.ParquetFileFragment):
        yield 0, fragment
        return
    start = first = 0
    run: list[int] = []
    for group in fragment.row_groups:
        if wanted[start : start + group.num_rows].any():
            first = start if not run else first
            run.append(group.id)
        elif run:
            yield first, fragment.subset(row_group_ids=run)
            run = []
        start += group.num_rows
    if run:
        yield first, fragment.subset(row_group_ids=run)
    if start != len(wanted):
        raise SourceError("a data file has not the rows that its manifest says", code="RV-ICEBERG-METADATA")

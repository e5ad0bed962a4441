"""Equality deletes: which data files they may reach, and which rows of a file they cover.

pyiceberg refuses them. A row is covered if some row of the delete file has the same values in the delete's
columns; NULL equals NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.types import DoubleType, FloatType, NestedField, PrimitiveType

from rollview.capture.net import row_codes
from rollview.errors import SourceError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyiceberg.table.metadata import TableMetadata

    from rollview.capture.iceberg.manifests import Bounds, ContentFile


def may_match(delete: ContentFile, file: ContentFile, metadata: TableMetadata) -> bool:
    """Whether the statistics of both files leave room for an equal row."""
    if delete.bounds is None or file.bounds is None:
        return True
    fields = [field_by_id(metadata, i) for i in delete.equality_ids]
    return all(_column_may_match(f, delete.bounds, file.bounds) for f in fields)


def _column_may_match(field: NestedField, delete: Bounds, file: Bounds) -> bool:
    i, kind = field.field_id, field.field_type
    if not isinstance(kind, PrimitiveType) or isinstance(kind, (FloatType, DoubleType)):
        return True  # bounds leave out NaN
    if i not in file.values:
        return True  # the file may be older than the column
    if delete.nulls.get(i, 1) and file.nulls.get(i, 1):
        return True
    try:
        d_low, d_high = from_bytes(kind, delete.lower[i]), from_bytes(kind, delete.upper[i])
        f_low, f_high = from_bytes(kind, file.lower[i]), from_bytes(kind, file.upper[i])
    except Exception:  # no bounds, or bounds written before the column was widened: no reason to leave the file out
        return True
    return bool(d_low <= f_high and f_low <= d_high)


def field_by_id(metadata: TableMetadata, field_id: int) -> NestedField:
    """A field of the newest schema that has it: an equality column may have been dropped since."""
    for schema in (metadata.schema(), *sorted(metadata.schemas, key=lambda s: -s.schema_id)):
        if field_id in schema.field_ids:
            return schema.find_field(field_id)
    raise SourceError(f"no schema of the table has the equality column {field_id}", code="RV-ICEBERG-METADATA")


def covered(rows: pa.Table, deleted: pa.Table) -> NDArray[Any]:
    """For each of `rows` whether it equals one of `deleted`; both have the same columns."""
    codes = row_codes(pa.concat_tables([rows, deleted]))
    return np.isin(codes[: rows.num_rows], codes[rows.num_rows :])

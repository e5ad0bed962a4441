"""Rows of a data file in the columns of another schema of the same table.

Iceberg's column projection: fields are matched by id at every level; a field that the file lacks takes the value of
an identity partition, else its initial default, else NULL. (pyiceberg's own projection turns a NULL array of
structs into an empty one.)
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import ListType, MapType, StructType, UUIDType

from rollview.capture.iceberg.types import arrow_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType, NestedField


def project(
    batch: pa.RecordBatch, file_schema: Schema, wanted: Sequence[NestedField], constants: Mapping[int, Any]
) -> pa.RecordBatch:
    """`batch`, whose columns are some of `file_schema`, as the `wanted` fields."""
    present = {f.field_id: f for f in file_schema.fields if f.name in batch.schema.names}
    arrays = []
    for field in wanted:
        source = present.get(field.field_id)
        if source is None:
            arrays.append(_missing(field, len(batch), constants))
        else:
            arrays.append(_converted(batch.column(source.name), source.field_type, field.field_type, field.name))
    return pa.RecordBatch.from_arrays(arrays, names=[f.name for f in wanted])


def _missing(field: NestedField, length: int, constants: Mapping[int, Any]) -> pa.Array:
    target = arrow_type(field.field_type, field.name)
    value = constants.get(field.field_id, field.initial_default)
    if value is None:
        return pa.nulls(length, target)
    if isinstance(value, uuid.UUID):
        value = str(value)
    return pa.repeat(pa.scalar(value, target), length)


def _converted(values: pa.Array, source: IcebergType, target: IcebergType, column: str) -> pa.Array:
    """`values` of the file's type `source` as the type `target`."""
    match source, target:
        case StructType(), StructType():
            return _struct(values, source, target, column)
        case ListType(), ListType():
            elements = _converted(values.flatten(), source.element_type, target.element_type, column)
            return pa.ListArray.from_arrays(
                _offsets(values), elements, type=arrow_type(target, column), mask=values.is_null()
            )
        case MapType(), MapType():
            entries = values.cast(pa.list_(_entry(values.type)))
            flat = entries.flatten()
            keys = _converted(flat.field(0), source.key_type, target.key_type, column)
            items = _converted(flat.field(1), source.value_type, target.value_type, column)
            return pa.MapArray.from_arrays(
                _offsets(entries), keys, items, type=arrow_type(target, column), mask=values.is_null()
            )
        case _:
            return _primitive(values, target, column)


def _struct(values: pa.Array, source: StructType, target: StructType, column: str) -> pa.Array:
    children = []
    for field in target.fields:
        inside = source.field(field.field_id)
        if inside is None:
            children.append(_missing(field, len(values), {}))
        else:
            child = values.field(inside.name)
            children.append(_converted(child, inside.field_type, field.field_type, column))
    fields = list(arrow_type(target, column))
    return pa.StructArray.from_arrays(children, fields=fields, mask=values.is_null())


def _primitive(values: pa.Array, target: IcebergType, column: str) -> pa.Array:
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    wanted = arrow_type(target, column)
    if isinstance(target, UUIDType):
        return pa.array([None if v is None else str(uuid.UUID(bytes=v)) for v in values.to_pylist()], wanted)
    # Iceberg has microseconds only; imported files may hold more digits, which Spark cuts off, too.
    return values if values.type == wanted else pc.cast(values, wanted, safe=not pa.types.is_timestamp(wanted))


def _offsets(lists: pa.Array) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def _entry(kind: pa.MapType) -> pa.StructType:
    return pa.struct([pa.field("key", kind.key_type, nullable=False), pa.field("value", kind.item_type)])

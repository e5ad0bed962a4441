"""Columns of an Iceberg table: their Spark types, the Arrow types we deliver, and what changed between two schemas.

A column is its field id; its name and type may change. Spark has no uuid and no fixed: they arrive as Spark
would show them, as string and binary.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    UnknownType,
    UUIDType,
)

from rollview.errors import NotYetSupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType, NestedField

_PRIMITIVE: dict[type[IcebergType], tuple[str, pa.DataType]] = {
    BooleanType: ("boolean", pa.bool_()),
    IntegerType: ("int", pa.int32()),
    LongType: ("bigint", pa.int64()),
    FloatType: ("float", pa.float32()),
    DoubleType: ("double", pa.float64()),
    DateType: ("date", pa.date32()),
    TimestampType: ("timestamp_ntz", pa.timestamp("us")),
    TimestamptzType: ("timestamp", pa.timestamp("us", tz="UTC")),
    StringType: ("string", pa.string()),
    UUIDType: ("string", pa.string()),
    BinaryType: ("binary", pa.binary()),
    FixedType: ("binary", pa.binary()),
    UnknownType: ("void", pa.null()),
}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Column(NamedTuple):
    """A column as Spark shows it, and the field id by which Iceberg knows it."""

    name: str
    type: str
    nullable: bool
    field_id: int


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """What carries the columns `before` into the columns `after`; columns are matched by field id."""

    added: tuple[Column, ...] = ()
    dropped: tuple[Column, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    """(old name, new name)"""
    widened: tuple[tuple[str, str, str], ...] = ()
    """(new name, old type, new type); also a nested field that came, went or changed."""
    loosened: tuple[str, ...] = ()
    """Columns that may be NULL now."""

    def __bool__(self) -> bool:
        return bool(self.added or self.dropped or self.renamed or self.widened or self.loosened)


def schema_change(before: Sequence[Column], after: Sequence[Column]) -> SchemaChange:
    old = {c.field_id: c for c in before}
    new = {c.field_id: c for c in after}
    both = [(old[i], new[i]) for i in new if i in old]
    return SchemaChange(
        added=tuple(c for c in after if c.field_id not in old),
        dropped=tuple(c for c in before if c.field_id not in new),
        renamed=tuple((o.name, n.name) for o, n in both if o.name != n.name),
        widened=tuple((n.name, o.type, n.type) for o, n in both if o.type != n.type),
        loosened=tuple(n.name for o, n in both if n.nullable and not o.nullable),
    )


def columns_of(schema: Schema) -> tuple[Column, ...]:
    return tuple(Column(f.name, spark_type(f.field_type, f.name), f.optional, f.field_id) for f in schema.fields)


def spark_type(kind: IcebergType, column: str) -> str:
    """The type as Spark's catalog writes it."""
    match kind:
        case DecimalType(precision=p, scale=s):
            return f"decimal({p},{s})"
        case StructType():
            inside = (f"{_quoted(f.name)}:{spark_type(f.field_type, column)}" for f in kind.fields)
            return f"struct<{','.join(inside)}>"
        case ListType():
            return f"array<{spark_type(kind.element_type, column)}>"
        case MapType():
            return f"map<{spark_type(kind.key_type, column)},{spark_type(kind.value_type, column)}>"
        case _:
            return _primitive(kind, column)[0]


def arrow_type(kind: IcebergType, column: str) -> pa.DataType:
    match kind:
        case DecimalType(precision=p, scale=s):
            return pa.decimal128(p, s)
        case StructType():
            return pa.struct([arrow_field(f, column) for f in kind.fields])
        case ListType():
            return pa.list_(pa.field("element", arrow_type(kind.element_type, column)))
        case MapType():
            return pa.map_(arrow_type(kind.key_type, column), arrow_type(kind.value_type, column))
        case _:
            return _primitive(kind, column)[1]


def arrow_field(field: NestedField, column: str | None = None) -> pa.Field:
    """Always nullable: a required column added later is NULL in the rows that are older."""
    return pa.field(field.name, arrow_type(field.field_type, column or field.name))


def _primitive(kind: IcebergType, column: str) -> tuple[str, pa.DataType]:
    found = _PRIMITIVE.get(type(kind))
    if found is None:
        raise NotYetSupported(
            f"column {column} has the Iceberg type {kind}, which cannot be captured",
            code="RV-ICEBERG-TYPE",
            hint="Attach a view or a copy of the table without that column.",
        )
    return found


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"

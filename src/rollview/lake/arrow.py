"""Rows between Python, Arrow and Spark's types."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t
from sqlglot import exp

from rollview.algebra.schema import Column, Schema
from rollview.errors import BadInput

SIMPLE: dict[type[t.DataType], pa.DataType] = {
    t.BooleanType: pa.bool_(),
    t.ByteType: pa.int32(),
    t.ShortType: pa.int32(),
    t.IntegerType: pa.int32(),
    t.LongType: pa.int64(),
    t.FloatType: pa.float32(),
    t.DoubleType: pa.float64(),
    t.StringType: pa.string(),
    t.BinaryType: pa.binary(),
    t.DateType: pa.date32(),
    t.TimestampType: pa.timestamp("us", "UTC"),
    t.TimestampNTZType: pa.timestamp("us"),
}


PLAIN = re.compile(
    r"boolean|tinyint|smallint|int|bigint|float|double|decimal\(.*\)|string|binary|date|timestamp(_ntz)?"
)


def arrow_type(type_: t.DataType) -> pa.DataType:
    """Arrow's type for one of Spark's, as Iceberg stores it (tinyint and smallint widen to int)."""
    match type_:
        case t.DecimalType():
            return pa.decimal128(type_.precision, type_.scale)
        case t.ArrayType():
            return pa.list_(arrow_type(type_.elementType))
        case t.MapType():
            return pa.map_(arrow_type(type_.keyType), arrow_type(type_.valueType))
        case t.StructType():
            return pa.struct([pa.field(f.name, arrow_type(f.dataType), f.nullable) for f in type_.fields])
    try:
        return SIMPLE[type(type_)]
    except KeyError:
        raise BadInput(
            f"the type {type_.simpleString()} cannot be stored",
            code="RV-COLUMN-TYPE",
            hint="cast it to another type, such as STRING",
        ) from None


def check_types(columns: Schema) -> None:
    """Can each column be stored?"""
    for column in columns:
        arrow_type(parse_type(column.type))


def is_plain(type_: str) -> bool:
    """A type without parts, which every version of Iceberg's format has."""
    return bool(PLAIN.fullmatch(type_))


def arrow_schema(columns: Schema) -> pa.Schema:
    return pa.schema([pa.field(c.name, arrow_type(parse_type(c.type)), True) for c in columns])


def parse_type(text: str) -> t.DataType:
    return fields_of("c " + text)[0].dataType


def fields_of(ddl: str) -> list[t.StructField]:
    parsed = t.StructType.fromDDL(ddl)
    assert isinstance(parsed, t.StructType)
    return parsed.fields


def parse_schema(text: str) -> Schema:
    """Columns as in CREATE TABLE: ``id BIGINT NOT NULL, price DECIMAL(10,2)``."""
    try:
        fields = fields_of(text)
    except Exception:  # Spark's parser raises its own kinds, which differ between classic and Connect
        raise BadInput(
            f"the columns cannot be parsed: {text[:120]!r}", code="RV-COLUMNS", hint="such as 'id BIGINT, day DATE'"
        ) from None
    if not fields:
        raise BadInput("a table needs at least one column", code="RV-COLUMNS")
    widened = {"tinyint": "int", "smallint": "int"}
    return tuple(
        Column(f.name, widened.get(f.dataType.simpleString(), f.dataType.simpleString()), f.nullable) for f in fields
    )


def to_arrow(data: Any, columns: Schema, table: str) -> pa.Table:
    """A user's rows as Arrow in the table's schema; anything that does not fit is refused, by column."""
    names = [c.name for c in columns]
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pd.DataFrame):
        data = pa.Table.from_pandas(data, preserve_index=False)
    if not isinstance(data, pa.Table):
        return from_rows(data, columns, table)
    given = {n.lower(): n for n in data.column_names}
    refuse_other_columns(list(given), names, table)
    schema = arrow_schema(columns)
    arrays = [cast(data.column(given[f.name.lower()]), f, table) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def from_rows(data: Any, columns: Schema, table: str) -> pa.Table:
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        raise BadInput(
            f"rows for {table} must be a list of tuples or dicts, a pandas or Spark DataFrame, or an Arrow table",
            code="RV-DATA-SHAPE",
        )
    rows = [row_values(row, columns, table, i) for i, row in enumerate(data)]
    schema = arrow_schema(columns)
    arrays = []
    for i, field in enumerate(schema):
        values = [row[i] for row in rows]
        try:
            arrays.append(pa.array([exact(v, field.type) for v in values], field.type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError, decimal.InvalidOperation) as error:
            raise unfit(table, field, error) from None
    return pa.Table.from_arrays(arrays, schema=schema)


def row_values(row: Any, columns: Schema, table: str, place: int) -> Sequence[Any]:
    if isinstance(row, Mapping):
        given = {str(k).lower(): v for k, v in row.items()}
        refuse_other_columns(list(given), [c.name for c in columns], table)
        return [given[c.name.lower()] for c in columns]
    if not isinstance(row, list | tuple):
        raise BadInput(
            f"row {place} for {table} is a {type(row).__name__}", code="RV-DATA-SHAPE", hint="give tuples or dicts"
        )
    if len(row) != len(columns):
        raise BadInput(
            f"row {place} for {table} has {len(row)} values, the table has {len(columns)} columns",
            code="RV-DATA-COLUMNS",
            hint="the order is " + ", ".join(c.name for c in columns),
        )
    return row


def exact(value: Any, type_: pa.DataType) -> Any:
    """Numbers as they are meant: 1.5 for a decimal is 1.5, never its binary neighbour."""
    if value is None:
        return None
    if pa.types.is_decimal(type_) and isinstance(value, int | float | str) and not isinstance(value, bool):
        return decimal.Decimal(str(value)).quantize(decimal.Decimal(1).scaleb(-type_.scale), context=WIDE)
    if pa.types.is_decimal(type_) and isinstance(value, decimal.Decimal):
        return value.quantize(decimal.Decimal(1).scaleb(-type_.scale), context=WIDE)
    if pa.types.is_date(type_) and isinstance(value, str):
        return datetime.date.fromisoformat(value)
    if pa.types.is_timestamp(type_) and isinstance(value, str):
        value = datetime.datetime.fromisoformat(value)
    if pa.types.is_timestamp(type_) and isinstance(value, datetime.datetime):
        return aligned(value, type_.tz is not None)
    if pa.types.is_integer(type_) and isinstance(value, bool | float):
        raise TypeError(f"{type(value).__name__} for an integer")
    if pa.types.is_boolean(type_) and not isinstance(value, bool):
        raise TypeError(f"{type(value).__name__} for a boolean")
    return value


def aligned(value: datetime.datetime, zoned: bool) -> datetime.datetime:
    """A time without a zone means UTC in a zoned column; a time with one does not fit a column without."""
    if zoned:
        return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
    if value.tzinfo:
        raise TypeError("a time with a zone for TIMESTAMP_NTZ")
    return value


WIDE = decimal.Context(prec=38, rounding=decimal.ROUND_HALF_UP, traps=[decimal.InvalidOperation])


def cast(column: pa.ChunkedArray, field: pa.Field, table: str) -> pa.ChunkedArray:
    try:
        times = pa.types.is_timestamp(field.type) and pa.types.is_timestamp(column.type)
        if times and (column.type.tz is None) != (field.type.tz is None):
            column = pc.assume_timezone(column, "UTC") if field.type.tz else column.cast(pa.timestamp("us"))
        if pa.types.is_decimal(field.type) and pa.types.is_integer(column.type):
            column = column.cast(pa.decimal128(38, field.type.scale))  # Arrow asks for room for any integer
        return column.cast(field.type)
    except (pa.ArrowException, ValueError) as error:
        raise unfit(table, field, error) from None


OVERFLOWS = ("out of bounds", "too large to fit", "does not fit into precision", "would overflow")
"""what Arrow says of values that are too large"""


def unfit(table: str, field: pa.Field, error: Exception) -> BadInput:
    overflow = isinstance(error, OverflowError | decimal.InvalidOperation) or any(o in str(error) for o in OVERFLOWS)
    return BadInput(
        f"a value does not fit column {field.name!r} ({field.type}) of {table}",
        code="RV-OVERFLOW" if overflow else "RV-DATA-TYPE",
        hint=str(error).splitlines()[0][:200] if str(error) else None,
    )


def refuse_other_columns(given: Sequence[str], wanted: Sequence[str], table: str) -> None:
    known = {n.lower() for n in wanted}
    missing = [n for n in wanted if n.lower() not in given]
    extra = [n for n in given if n not in known]
    if missing or extra:
        parts = [f"missing {', '.join(missing)}"] if missing else []
        parts += [f"unknown {', '.join(extra)}"] if extra else []
        raise BadInput(
            f"the columns do not fit {table}: {'; '.join(parts)}",
            code="RV-DATA-COLUMNS",
            hint="the columns are " + ", ".join(wanted),
        )


SUBSTITUTED = re.compile(r"(?<=\$)(?=\{)")
"""Spark puts variables in place of ${…} anywhere in a statement, also inside a string"""


def literal(value: Any) -> exp.Expr:
    """A value as a SQL literal that has exactly its type."""
    match value:
        case decimal.Decimal():
            return exp.cast(exp.Literal.string(str(value)), f"decimal(38,{max(0, -int(value.as_tuple().exponent))})")
        case datetime.datetime():
            kind = "timestamp" if value.tzinfo else "timestamp_ntz"
            return exp.cast(exp.Literal.string(value.isoformat(sep=" ")), kind, dialect="spark")
        case datetime.date():
            return exp.cast(exp.Literal.string(value.isoformat()), "date")
        case float():
            return exp.cast(exp.Literal.string(repr(value)), "double")
        case str() if len(parts := SUBSTITUTED.split(value)) > 1:
            return exp.Anonymous(this="concat", expressions=[exp.Literal.string(part) for part in parts])
        case bool() | int() | str():
            return exp.convert(value)
    raise TypeError(type(value).__name__)

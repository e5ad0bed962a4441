"""What capture asks of Spark about Iceberg tables of others: their catalog's settings, their current snapshot where
only Spark can reach the catalog, and changes that are too large for the driver.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, StructType

from rollview.errors import BadInput, RollviewError, SourceError
from rollview.names import COUNT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from rollview.capture.iceberg.difference import FileChange
    from rollview.capture.iceberg.read import Reader

_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")
_CATALOG = "spark.sql.catalog."
_NOT_FOUND = (
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
    "CATALOG_NOT_FOUND",
    "REQUIRES_SINGLE_PART_NAMESPACE",
)
_MOST_TASKS = 10_000


@dataclass(frozen=True, slots=True)
class TableName:
    """A table's full name and what the session's settings say of its catalog."""

    catalog: str
    namespace: tuple[str, ...]
    name: str
    settings: Mapping[str, str]

    def __str__(self) -> str:
        return ".".join((self.catalog, *self.namespace, self.name))

    def quoted(self, *inside: str) -> str:
        """The name as Spark reads it, or the name of one of the table's metadata tables."""
        parts = (self.catalog, *self.namespace, self.name, *inside)
        return ".".join("`" + p.replace("`", "``") + "`" for p in parts)


def resolve(spark: SparkSession, table: str) -> TableName:
    """The table that the session means by a name."""
    parts = _parts(table)
    conf = spark.conf.getAll
    if len(parts) > 1 and (_CATALOG + parts[0] in conf or parts[0] == "spark_catalog"):
        catalog, rest = parts[0], parts[1:]
    else:
        catalog = spark.catalog.currentCatalog()
        rest = parts if len(parts) > 1 else (*_parts(spark.catalog.currentDatabase()), *parts)
    prefix = f"{_CATALOG}{catalog}."
    settings = {key.removeprefix(prefix): value for key, value in conf.items() if key.startswith(prefix)}
    return TableName(catalog, rest[:-1], rest[-1], settings)


def _parts(name: str) -> tuple[str, ...]:
    parts: list[str] = []
    end = 0
    for found in _PART.finditer(name):
        if found.start() != end + bool(parts) or (parts and name[end] != "."):
            break
        parts.append(found[1].replace("``", "`") if found[1] is not None else found[2])
        end = found.end()
    if not parts or end != len(name):
        raise BadInput(f"{name!r} is not the name of a table", code="RV-NO-SUCH-TABLE", hint="catalog.namespace.table")
    return tuple(parts)


def current_snapshot(spark: SparkSession, table: TableName) -> int | None:
    """The snapshot that main points to, without a Spark job."""
    try:
        rows = spark.sql("SHOW TBLPROPERTIES IDENTIFIER(:t)", args={"t": table.quoted()}).collect()
    except PySparkException as error:
        raise refusal(table, error) from error
    properties = {row["key"]: row["value"] for row in rows}
    if "current-snapshot-id" not in properties:
        raise not_iceberg(table)
    value = properties["current-snapshot-id"]
    return None if value == "none" else int(value)


def metadata_location(spark: SparkSession, table: TableName) -> str:
    """The file with the table's current metadata. One small Spark job."""
    try:
        rows = spark.table(table.quoted("metadata_log_entries")).select("timestamp", "file").collect()
    except PySparkException as error:
        raise why_not(spark, table, error) from error
    return str(max(enumerate(rows), key=lambda at: (at[1]["timestamp"], at[0]))[1]["file"])


def why_not(spark: SparkSession, table: TableName, error: Exception | None = None) -> RollviewError:
    """Why a table cannot be read as an Iceberg table: it does not exist, is something else, or Spark says no."""
    try:
        spark.table(table.quoted()).schema  # noqa: B018
    except PySparkException as reason:
        return refusal(table, reason)
    if error is None or isinstance(error, AnalysisException):
        return not_iceberg(table)
    return refusal(table, error)


def refusal(table: TableName, error: Exception) -> RollviewError:
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    if condition in _NOT_FOUND:
        return BadInput(f"there is no table {table}", code="RV-NO-SUCH-TABLE", hint="catalog.namespace.table")
    if re.search(r"forbidden|access ?denied|not authori[sz]ed|permission", str(error), re.IGNORECASE):
        return SourceError(
            f"this session may not read {table}",
            code="RV-SOURCE-DENIED",
            hint="Check the rights of its login.",
        )
    return SourceError(f"Spark cannot read {table}", code="RV-SOURCE-UNREACHABLE", retryable=True)


def not_iceberg(table: TableName) -> BadInput:
    return BadInput(
        f"{table} is not an Iceberg table",
        code="RV-NOT-ICEBERG",
        hint="Attach it with the source of its own kind.",
    )


def snapshot_rows(spark: SparkSession, table: TableName, at: int, names: Sequence[str]) -> DataFrame:
    """All rows of a snapshot, gained."""
    rows = spark.read.option("versionAsOf", at).table(table.quoted())
    return rows.select(*map(_column, names), F.lit(1).cast("bigint").alias(COUNT))


def appended_rows(spark: SparkSession, table: TableName, since: int, upto: int, names: Sequence[str]) -> DataFrame:
    """What an append brought, by Spark's own incremental read."""
    span = spark.read.format("iceberg").option("start-snapshot-id", since).option("end-snapshot-id", upto)
    return span.load(table.quoted()).select(*map(_column, names), F.lit(1).cast("bigint").alias(COUNT))


def rewritten_rows(spark: SparkSession, table: TableName, since: int, upto: int, names: Sequence[str]) -> DataFrame:
    """What a copy-on-write commit brought and took, by Spark's own changelog; rows carried over are in it twice."""
    span = spark.read.format("iceberg").option("start-snapshot-id", since).option("end-snapshot-id", upto)
    gained = F.col("_change_type") == "INSERT"
    sign = F.when(gained, F.lit(1)).otherwise(F.lit(-1)).cast("bigint").alias(COUNT)
    return span.load(table.quoted("changes")).select(*map(_column, names), sign)


def changed_rows(
    spark: SparkSession, reader: Reader, changes: Sequence[FileChange], columns: Sequence[tuple[str, str]]
) -> DataFrame:
    """The signed rows of changed files, read by our own reader in Spark's Python workers, one file a task."""
    schema = StructType()
    for name, kind in columns:
        schema.add(name, DataType.fromDDL(kind))
    schema.add(COUNT, LongType())

    def read(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                yield from reader.signed_rows(changes[at])

    numbers = spark.range(0, len(changes), 1, numPartitions=min(len(changes), _MOST_TASKS))
    return numbers.mapInArrow(read, schema)


def netted(rows: DataFrame) -> DataFrame:
    """The net effect of signed rows, elementary."""
    names = [_quoted(n) for n in rows.columns if n != COUNT]
    total = rows.groupBy(*names).agg(F.sum(COUNT).alias(COUNT)).where(F.col(COUNT) != 0)
    copies: Any = F.explode(F.array_repeat(F.signum(COUNT).cast("bigint"), F.abs(COUNT).cast("int")))
    return total.select(*names, copies.alias(COUNT))


def _column(name: str) -> Column:
    return F.col(_quoted(name))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

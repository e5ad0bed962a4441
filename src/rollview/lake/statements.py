"""SQL trees on Spark. Everything that Spark runs goes through here."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from rollview.algebra.schema import Column, Schema
from rollview.lake.arrow import is_plain, literal
from rollview.lake.errors import translated
from rollview.lake.session import CATALOG
from rollview.names import USER_NAMESPACE
from rollview.plan import emit
from rollview.plan.emit import ident, sql


class Statements:
    """Runs statements, gives rows names."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._lock = threading.RLock()

    def run(self, statement: exp.Expr | str) -> DataFrame:
        text = statement if isinstance(statement, str) else sql(statement)
        with translated(text):
            return self.spark.sql(text)

    def fetch_plain(self, query: exp.Expr | str, limit: int) -> pa.Table | None:
        """As `fetch`, where the way to the driver and back leaves every value and type as it is; else None."""
        frame = self.run(query)
        if not all(is_plain(f.dataType.simpleString()) for f in frame.schema.fields):
            return None
        with translated(query if isinstance(query, str) else sql(query)):
            return frame.limit(limit).toArrow()

    def fetch(self, query: exp.Expr | str, limit: int | None = None, *, grouped: bool = False) -> pa.Table:
        """One action; the rows on the driver. A limit takes a shuffle of its own, unless one task puts the groups
        together that the query ends in."""
        frame = self.run(query)
        if limit is not None:
            frame = (frame.coalesce(1) if grouped else frame).limit(limit)
        with translated(query if isinstance(query, str) else sql(query)):
            return frame.toArrow()

    def day(self, time: datetime) -> date:
        """The day of a time in the session's time zone."""
        try:
            return time.astimezone(ZoneInfo(self.spark.conf.get("spark.sql.session.timeZone") or "UTC")).date()
        except (ZoneInfoNotFoundError, ValueError):  # a zone that only Java knows, such as GMT+2
            found: date = self.fetch(exp.select(exp.cast(literal(time), "date"))).column(0)[0].as_py()
            return found

    def planned(self, frame: DataFrame) -> DataFrame:
        """The frame with its plan made: from now on it reads the snapshots that are current."""
        frame._jdf.queryExecution().executedPlan()
        return frame

    def persisted(self, rows: DataFrame | exp.Expr) -> DataFrame:
        """Rows that are computed once, whoever reads them; they are planned here."""
        frame = self.run(rows) if isinstance(rows, exp.Expr) else rows
        with translated("persist"):
            return frame.persist()

    def collect(self, frame: DataFrame) -> pa.Table:
        """The rows of exactly the plan that was made."""
        with translated("collect"):
            return frame.toArrow()

    def evaluate(self, query: str) -> None:
        """Run a query to its end and keep nothing of it."""
        frame = self.run(query)
        with translated(query):
            frame.write.format("noop").mode("overwrite").save()

    def schema(self, query: exp.Expr | str) -> Schema:
        """The types that Spark gives a query; no job."""
        return columns_of(self.run(query))

    @contextmanager
    def in_warehouse(self) -> Iterator[None]:
        """Unqualified names mean the warehouse's tables and views; afterwards the session is as it was."""
        with self._lock:
            catalog = self.spark.catalog.currentCatalog()
            database = self.spark.catalog.currentDatabase()
            self.spark.catalog.setCurrentCatalog(CATALOG)
            self.spark.catalog.setCurrentDatabase(USER_NAMESPACE)
            try:
                yield
            finally:
                self.spark.catalog.setCurrentCatalog(catalog)
                self.spark.catalog.setCurrentDatabase(database)

    # --- temporary views ------------------------------------------------------------------------------

    def bind(self, name: str, rows: pa.Table | DataFrame | exp.Expr) -> exp.Table:
        """Give rows a name that SQL can read."""
        if isinstance(rows, exp.Expr):
            frame = self.run(rows)
        elif isinstance(rows, pa.Table):
            frame = self.spark.createDataFrame(rows)
        else:
            frame = rows
        frame.createOrReplaceTempView(sql(ident(name)))
        return emit.table(name)

    def unbind(self, names: Iterable[str]) -> None:
        for name in names:
            self.spark.catalog.dropTempView(name)


def columns_of(frame: DataFrame) -> Schema:
    return tuple(Column(f.name, f.dataType.simpleString(), f.nullable) for f in frame.schema.fields)


def is_frame(data: Any) -> bool:
    return isinstance(data, DataFrame)

"""Spark sessions that know the warehouse's catalog: our own local one, and the user's, checked.

The catalog is Iceberg's JDBC catalog over the warehouse's database. Spark must not cache its tables
(`cache-enabled=false`), because pyiceberg commits to the same tables behind Spark's back.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from rollview.errors import BadInput
from rollview.lake.jars import PACKAGES, jars
from rollview.lake.java import class_sharing, ensure_java, quiet_java

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CATALOG",
    "catalog_settings",
    "check_session",
    "ensure_java",
    "local_session",
    "register_catalog",
    "required_settings",
]

CATALOG = "rollview"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
EXCLUDED = ",".join(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in ("PushProjectionThroughUnion", "CombineUnions")
)
"""They lose columns of unions deep in a query, or below EXISTS in a SELECT list: "key not found" (Spark 4.1.4)."""

_CORES = os.cpu_count() or 2
_STARTING = threading.Lock()

_LOCAL: dict[str, str] = {
    "spark.master": "local[*]",
    "spark.app.name": "rollview",
    "spark.sql.extensions": EXTENSIONS,
    "spark.sql.catalogImplementation": "in-memory",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Nothing but results: no UI, no console progress, no event log.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    # One meaning of time on every machine.
    "spark.sql.session.timeZone": "UTC",
    # Small changes: few tasks, no waiting, no re-planning (adaptive execution adds a job to tiny plans).
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": str(_CORES),
    "spark.default.parallelism": str(_CORES),
    "spark.locality.wait": "0s",
    # Groups by k that are joined on k and their minimum already lie together: the join need not shuffle them again.
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    # Without Hadoop's native library, its own local file system starts a chmod process for every file: eleven
    # for a small append. This one asks Java instead, and halves the time of the append.
    "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    "spark.sql.parquet.pushdown.inFilterThreshold": "2000",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.sql.codegen.cache.maxEntries": "2000",
    # Inferring constraints takes time exponential in the size of CASE expressions, and readers of sums have many.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.excludedRules": EXCLUDED,
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.ui.retainedExecutions": "50",
}
_JVM_OPTIONS = ("-Xss4m", "-XX:-UsePerfData", "-XX:+UseParallelGC")
MORE_JVM_OPTIONS = "ROLLVIEW_JVM_OPTIONS"
"""an environment variable: further options for the Java of a local session"""

_CHATTY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def local_session(
    warehouse: Path,
    catalog_url: str,
    *,
    driver_memory: str = "4g",
    extra: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session of this process's own Spark whose catalog `rollview` is the given warehouse.

    The first call starts Spark. A later call shares that Spark but returns a session of its own, so that
    several warehouses can be open in one process.
    """
    catalog = catalog_settings(CATALOG, catalog_url, warehouse)
    with _STARTING:
        running = _running_session()
        if running is None:
            return _start({**_local_settings(warehouse, driver_memory), **catalog, **(extra or {})})
    session = running.newSession()
    for key, value in {**catalog, **(extra or {})}.items():
        session.conf.set(key, value)
    check_session(session, catalog_url, warehouse)
    return session


def catalog_settings(name: str, url: str, warehouse: Path) -> dict[str, str]:
    """What Spark must know of the catalog `name`; Spark reads it when the name is first used in a session."""
    prefix = f"spark.sql.catalog.{name}"
    options = {
        "type": "jdbc",
        "warehouse": str(warehouse.absolute()),
        "cache-enabled": "false",
        "jdbc.schema-version": "V1",
        **_jdbc(url),
    }
    return {prefix: "org.apache.iceberg.spark.SparkCatalog"} | {f"{prefix}.{key}": options[key] for key in options}


def register_catalog(spark: SparkSession, name: str, url: str, warehouse: Path) -> None:
    """Make one more catalog known to a running session; a name already used there keeps its meaning."""
    for key, value in catalog_settings(name, url, warehouse).items():
        spark.conf.set(key, value)


def required_settings(catalog_url: str, warehouse: Path) -> dict[str, str]:
    """What a user's own session needs so that rollview can work in it."""
    return {
        "spark.jars.packages": ",".join(PACKAGES),
        "spark.sql.extensions": EXTENSIONS,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.constraintPropagation.enabled": "false",
        "spark.sql.optimizer.excludedRules": EXCLUDED,
        **catalog_settings(CATALOG, catalog_url, warehouse),
    }


def check_session(spark: SparkSession, catalog_url: str, warehouse: Path) -> None:
    """Refuse a session that does not have the warehouse's catalog; the hint is what to add to it."""
    needed = required_settings(catalog_url, warehouse)
    problem = _problem(spark, needed)
    if problem is not None:
        lines = [f"{key}={'…' if key.endswith('.jdbc.password') else value}" for key, value in needed.items()]
        raise BadInput(
            f"This Spark session cannot be used for the warehouse {warehouse}: {problem}",
            code="RV-SESSION",
            hint="start it with these settings\n" + "\n".join(lines),
        )


def _problem(spark: SparkSession, needed: Mapping[str, str]) -> str | None:
    if EXTENSIONS not in (spark.conf.get("spark.sql.extensions", None) or ""):
        return "it lacks Iceberg's SQL extensions."
    for key, value in needed.items():
        if key.startswith("spark.sql.catalog.") and spark.conf.get(key, None) != value:
            return f"{key} is not set, or differs."
    try:
        spark.sql(f"SHOW NAMESPACES IN {CATALOG}").collect()
    except Exception as error:  # a class that is missing reaches Python as a bare Java error
        return f"its catalog {CATALOG} does not answer: {str(error).splitlines()[0]}"
    return None


def _jdbc(url: str) -> dict[str, str]:
    """The catalog's address as Iceberg's JDBC catalog wants it."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise _bad_url("It is not a database URL.") from error
    match parsed.get_backend_name():
        case "sqlite":
            if not parsed.database or parsed.database == ":memory:":
                raise _bad_url("SQLite needs a file.")
            return {"uri": f"jdbc:sqlite:{Path(parsed.database).absolute()}", "jdbc.busy_timeout": "30000"}
        case "postgresql":
            if not parsed.host:
                raise _bad_url("PostgreSQL needs a host name; Java cannot use a socket file.")
            jdbc = {"uri": f"jdbc:postgresql://{parsed.host}:{parsed.port or 5432}/{parsed.database or ''}"}
            login = {"jdbc.user": parsed.username, "jdbc.password": parsed.password}
            return jdbc | {key: value for key, value in login.items() if value is not None}
        case other:
            raise _bad_url(f"{other} is not known here.")


def _bad_url(problem: str) -> BadInput:
    return BadInput(
        f"The catalog's URL cannot be used. {problem}",
        code="RV-CATALOG-URL",
        hint="sqlite:////absolute/path/of/file or postgresql://user:password@host:port/database",
    )


def _running_session() -> SparkSession | None:
    try:
        return SparkSession.active()
    except PySparkException:
        return None


def _local_settings(warehouse: Path, driver_memory: str) -> dict[str, str]:
    classpath = os.pathsep.join(str(jar) for jar in jars())
    options = (*_JVM_OPTIONS, *os.environ.get(MORE_JVM_OPTIONS, "").split())
    with as_file(files("rollview.lake") / "log4j2.properties") as log_settings:
        logs = f"-Dlog4j2.configurationFile={log_settings.as_uri()}"
    return {
        **_LOCAL,
        "spark.driver.memory": driver_memory,
        "spark.driver.extraClassPath": classpath,
        "spark.driver.extraJavaOptions": " ".join((*options, logs, *class_sharing(classpath))),
        "spark.sql.warehouse.dir": str(warehouse.absolute()),
    }


def _start(settings: Mapping[str, str]) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Python workers need what this process has installed
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    with quiet_java() as log:
        try:
            spark = builder.getOrCreate()
        except Exception as error:
            raise BadInput(
                f"Spark did not start: {_last_words(log) or error}",
                code="RV-SPARK",
                hint=f"Java's own report is in {log}",
            ) from error
    for name in _CHATTY_LOGGERS:
        logging.getLogger(name).disabled = True
    return spark


def _last_words(log: Path) -> str:
    """What a JVM that did not start said about it, without stack frames and mere warnings."""
    lines = (line.strip() for line in log.read_text(errors="replace").splitlines())
    said = [line for line in lines if line and not line.startswith(("at ", "...")) and " WARN " not in line]
    return " ".join(said[:3])

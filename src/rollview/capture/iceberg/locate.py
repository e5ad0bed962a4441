"""From a table's name in the Spark session to its metadata, without a Spark job where the catalog allows it.

Finding the metadata file is a file or a row of a database away in a Hadoop or a JDBC catalog, and one call in a REST or
Glue catalog; for any other, Spark is asked.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import ValidationError
from pyiceberg.io import load_file_io
from pyiceberg.table import StaticTable
from sqlalchemy import create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from rollview.errors import NotYetSupported, SourceError
from rollview.lake import iceberg_files as lake
from rollview.lake.pointer import metadata_pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyiceberg.table import Table
    from sqlalchemy.engine import Engine

_KINDS = {
    "org.apache.iceberg.hadoop.HadoopCatalog": "hadoop",
    "org.apache.iceberg.jdbc.JdbcCatalog": "jdbc",
    "org.apache.iceberg.rest.RESTCatalog": "rest",
    "org.apache.iceberg.aws.glue.GlueCatalog": "glue",
}
_DENIED = re.compile(r"forbidden|access ?denied|not authori[sz]ed|permission|\b40[13]\b", re.IGNORECASE)


class Locator:
    """Opens one table again and again; metadata that has not moved is not read again."""

    def __init__(self, spark: Any, name: str) -> None:
        self.spark = spark
        self.name = lake.resolve(spark, name)
        self._open: Table | None = None
        self._engine: Engine | None = None
        self._pointer = self._way()

    def latest(self) -> int | None:
        """The snapshot that main points to; None while the table has none."""
        if self._pointer == self._asked_of_spark:
            return lake.current_snapshot(self.spark, self.name)
        return self.table().metadata.current_snapshot_id

    def table(self) -> Table:
        """The table as it is now."""
        with reading(str(self.name)):
            found = self._pointer()
            if found is None:
                raise lake.why_not(self.spark, self.name)
            if not isinstance(found, str):
                self._open = found
            elif self._open is None or self._open.metadata_location != found:
                self._open = self._read(found)
            return self._open

    def _read(self, location: str) -> Table:
        try:
            return StaticTable.from_metadata(location, file_settings(self.name.settings))
        except ValidationError as error:
            lake.current_snapshot(self.spark, self.name)  # says so if it is a view
            raise NotYetSupported(
                f"the metadata of {self.name} cannot be understood",
                code="RV-ICEBERG-METADATA",
                hint="The table may use a column type or a format version that is too new.",
            ) from error

    def _way(self) -> Callable[[], str | Table | None]:
        """How this catalog's tables are found: a metadata location, a table, or None if there is none."""
        settings = self.name.settings
        kind = settings.get("type") or _KINDS.get(settings.get("catalog-impl", ""))
        if kind == "hadoop" and "warehouse" in settings:
            return self._in_folder
        if kind == "jdbc":
            url = database_url(settings)
            if url is not None:
                self._engine = create_engine(url)
                return self._in_database
        if kind in ("rest", "glue"):
            return self._by_catalog(kind)
        return self._asked_of_spark

    def _asked_of_spark(self) -> str:
        return lake.metadata_location(self.spark, self.name)

    def _in_folder(self) -> str | None:
        """version-hint.text may lag behind: the newest file counts."""
        folder = "/".join([self.name.settings["warehouse"].rstrip("/"), *self.name.namespace, self.name.name])
        io = load_file_io(file_settings(self.name.settings), folder)
        try:
            with io.new_input(f"{folder}/metadata/version-hint.text").open() as stream:
                version = int(stream.read())
        except FileNotFoundError:
            return None
        found = None
        while here := self._version_file(io, f"{folder}/metadata", version):
            found, version = here, version + 1
        return found

    @staticmethod
    def _version_file(io: Any, folder: str, version: int) -> str | None:
        for suffix in ("metadata.json", "gz.metadata.json"):
            path = f"{folder}/v{version}.{suffix}"
            if io.new_input(path).exists():
                return path
        return None

    def _in_database(self) -> str | None:
        catalog = self.name.settings.get("jdbc.catalog-name", self.name.catalog)
        assert self._engine is not None
        return metadata_pointer(self._engine, catalog, ".".join(self.name.namespace), self.name.name)

    def _by_catalog(self, kind: str) -> Callable[[], str | Table | None]:
        """By pyiceberg's client of the same service; if it does not get in with Spark's settings, by Spark."""
        settings = {k: v for k, v in self.name.settings.items() if k not in ("catalog-impl", "io-impl")}
        try:
            client = load_catalog(self.name.catalog, **{**settings, "type": kind})
            client.load_table((*self.name.namespace, self.name.name))
        except Exception:  # Spark will say what is wrong, or get in
            return self._asked_of_spark
        return lambda: client.load_table((*self.name.namespace, self.name.name))


def database_url(settings: Mapping[str, str]) -> URL | None:
    """The JDBC catalog's database as SQLAlchemy names it; None if Python has no driver for it here."""
    jdbc = settings.get("uri", "")
    if found := re.fullmatch(r"jdbc:sqlite:(?:file:)?([^?:]+)(?:\?(?!.*mode=memory).*)?", jdbc):
        return URL.create("sqlite", database=found[1])
    if found := re.fullmatch(r"jdbc:(postgresql://[^?]*)(?:\?(.*))?", jdbc):
        asked = {k: v[-1] for k, v in parse_qs(found[2] or "").items()}
        url = make_url(found[1])
        user = settings.get("jdbc.user", asked.get("user", url.username))
        password = settings.get("jdbc.password", asked.get("password", url.password))
        return url.set(drivername="postgresql+psycopg2", username=user, password=password)
    return None


def file_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The catalog's settings for file access; pyiceberg and Iceberg's own FileIO share their names."""
    return {k: v for k, v in settings.items() if k.split(".")[0] in ("s3", "client", "gcs", "adls", "hdfs", "oss")}


@contextmanager
def reading(table: str) -> Iterator[None]:
    """Failures of metadata and file access, as errors that say whose they are. No message repeats a setting."""
    try:
        yield
    except FileNotFoundError as error:
        raise SourceError(
            f"a file of {table} is gone: {error.filename or error}",
            code="RV-SOURCE-FILE",
            hint="Somebody removed files that the table's metadata still names; attach the table again.",
        ) from error
    except (OSError, SQLAlchemyError) as error:
        denied = isinstance(error, PermissionError) or bool(_DENIED.search(str(error)))
        raise SourceError(
            f"this session may not read {table}" if denied else f"{table} cannot be reached",
            code="RV-SOURCE-DENIED" if denied else "RV-SOURCE-UNREACHABLE",
            hint="Check the rights of its login." if denied else None,
            retryable=not denied,
        ) from error

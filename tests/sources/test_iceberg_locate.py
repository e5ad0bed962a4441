"""Finding a table from its name in the session, and saying what is wrong if that fails."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from tests.sources.conftest import Their

from rollview.capture.iceberg import IcebergCapture
from rollview.capture.iceberg.locate import database_url
from rollview.errors import BadInput, RollviewError, SourceError
from rollview.lake.jobs import JobCounter
from rollview.lake.session import register_catalog

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({"uri": "jdbc:sqlite:/a/b.db"}, "sqlite:////a/b.db"),
        ({"uri": "jdbc:sqlite:file:/a/b.db?cache=shared"}, "sqlite:////a/b.db"),
        ({"uri": "jdbc:sqlite:file::memory:?cache=shared"}, None),
        ({"uri": "jdbc:sqlite:file:name?mode=memory&cache=shared"}, None),
        ({"uri": "jdbc:mysql://h/db"}, None),
        (
            {"uri": "jdbc:postgresql://h:5433/db", "jdbc.user": "u", "jdbc.password": "p@"},
            "postgresql+psycopg2://u:p%40@h:5433/db",
        ),
        ({"uri": "jdbc:postgresql://h/db?user=u&password=p"}, "postgresql+psycopg2://u:p@h/db"),
    ],
)
def test_database_url(settings: dict[str, str], url: str | None) -> None:
    found = database_url(settings)
    assert (None if found is None else found.render_as_string(hide_password=False)) == url


def test_in_a_postgres_catalog(spark: SparkSession, tmp_path: Path, pg_url: str) -> None:
    register_catalog(spark, "their_server", pg_url, tmp_path)
    spark.sql("CREATE NAMESPACE their_server.db")
    their = Their(spark, "their_server.db.orders", tmp_path).create("k BIGINT")
    table = their.follow()
    their.sql("INSERT INTO {t} VALUES (1), (2)")
    table.catch_up()
    counter = JobCounter(spark)
    their.sql("DELETE FROM {t} WHERE k = 1")
    with counter.here():
        (commit,) = table.capture.commits_since(table.last)
    assert (commit.deleted, counter.count) == (1, 0)


class FakeRest(BaseHTTPRequestHandler):
    """As much of a REST catalog as reading one table needs; the table is that of a folder catalog."""

    folder: Path
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path.startswith("/v1/config"):
            self._answer(200, {"defaults": {}, "overrides": {}})
        elif self.path.startswith("/v1/namespaces/db/tables/orders"):
            newest = max(self.folder.glob("v*.metadata.json"), key=lambda f: int(f.name[1:].split(".")[0]))
            metadata = json.loads(newest.read_text())
            self._answer(200, {"metadata-location": str(newest), "metadata": metadata, "config": {}})
        else:
            error = {"message": "no such table", "type": "NoSuchTableException", "code": 404}
            self._answer(404, {"error": error})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def test_in_a_rest_catalog(their: Their, spark: SparkSession) -> None:
    """pyiceberg's client finds the table with the settings that Spark has; Spark reads it there, too."""
    source = their.create("k BIGINT")
    source.sql("INSERT INTO {t} VALUES (1), (2)")
    FakeRest.folder = their.root / their.name.replace(".", "/") / "metadata"
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeRest)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        prefix = "spark.sql.catalog.their_rest"
        spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set(f"{prefix}.catalog-impl", "org.apache.iceberg.rest.RESTCatalog")
        spark.conf.set(f"{prefix}.uri", f"http://127.0.0.1:{server.server_port}")
        spark.conf.set(f"{prefix}.cache-enabled", "false")
        table = Their(spark, "their_rest.db.orders", their.root).follow()
        table.catch_up()
        source.sql("DELETE FROM {t} WHERE k = 1")
        counter = JobCounter(spark)
        with counter.here():
            (commit,) = table.capture.commits_since(table.last)
        assert (commit.deleted, counter.count) == (1, 0)
        table.catch_up()
        assert table.rows == {"[2]": 1}
        with pytest.raises(BadInput) as caught:
            IcebergCapture(spark, "their_rest.db.nothing").latest()
        assert caught.value.code == "RV-NO-SUCH-TABLE"
    finally:
        server.shutdown()


def test_in_a_catalog_that_only_spark_reaches(spark: SparkSession, their_catalogs: Path) -> None:
    """A database inside Spark's JVM: the latest snapshot without a job, the metadata with one."""
    register_catalog(spark, "their_own", "sqlite:///unused", their_catalogs / "their_own")
    spark.conf.set("spark.sql.catalog.their_own.uri", "jdbc:sqlite:file:theirs?mode=memory&cache=shared")
    spark.sql("CREATE NAMESPACE their_own.db")
    their = Their(spark, "their_own.db.orders", their_catalogs).create("k BIGINT")
    table = their.follow()
    assert table.capture.latest() is None
    their.sql("INSERT INTO {t} VALUES (1), (2)")
    table.catch_up()
    their.sql("DELETE FROM {t} WHERE k = 1")
    counter = JobCounter(spark)
    with counter.here():
        assert table.capture.latest() != table.last
    assert counter.count == 0
    table.catch_up()
    assert table.rows == {"[2]": 1}


def test_names(their: Their, spark: SparkSession) -> None:
    their.create("k BIGINT").sql("INSERT INTO {t} VALUES (1)")
    latest = their.capture().latest()
    short = their.name.split(".")[-1]
    assert IcebergCapture(spark, f"`their_folder`.db.`{short}`").latest() == latest
    before = spark.catalog.currentCatalog()
    try:
        spark.catalog.setCurrentCatalog("their_folder")
        assert IcebergCapture(spark, f"db.{short}").latest() == latest
        spark.catalog.setCurrentDatabase("db")
        assert IcebergCapture(spark, short).latest() == latest
    finally:
        spark.catalog.setCurrentCatalog(before)


@pytest.mark.parametrize(
    "name",
    [
        "their_folder.db.nothing",
        "their_database.db.nothing",
        "their_folder.nowhere.t",
        "no_catalog.db.t",
        "nothing",
        "a..b",
        "",
        "`a",
    ],
)
def test_no_such_table(spark: SparkSession, their_catalogs: Path, name: str) -> None:
    with pytest.raises(BadInput) as caught:
        IcebergCapture(spark, name).latest()
    assert caught.value.code == "RV-NO-SUCH-TABLE"


def test_not_an_iceberg_table(spark: SparkSession, their_catalogs: Path) -> None:
    spark.sql("CREATE TABLE spark_catalog.default.plain (k INT) USING parquet")
    spark.sql("CREATE VIEW their_database.db.a_view AS SELECT 1 AS one")
    try:
        for name in ("spark_catalog.default.plain", "their_database.db.a_view"):
            for ask in (IcebergCapture.latest, IcebergCapture.columns):
                with pytest.raises(BadInput) as caught:
                    ask(IcebergCapture(spark, name))
                assert caught.value.code == "RV-NOT-ICEBERG"
    finally:
        spark.sql("DROP TABLE spark_catalog.default.plain")


def test_dropped_while_attached(their: Their) -> None:
    capture = their.create("k INT").capture()
    assert capture.latest() is None
    their.sql("DROP TABLE {t}")
    with pytest.raises(BadInput) as caught:
        capture.latest()
    assert caught.value.code == "RV-NO-SUCH-TABLE"


def test_a_file_that_is_gone(their: Their) -> None:
    table = their.create("k INT").follow()
    their.sql("INSERT INTO {t} VALUES (1)")
    table.catch_up()
    their.sql("INSERT INTO {t} VALUES (2)")
    path = their.value("SELECT file_path FROM {t}.files ORDER BY lower_bounds[1] DESC")
    os.remove(path.removeprefix("file:"))
    with pytest.raises(SourceError) as caught:
        table.catch_up(check=False)
    assert caught.value.code == "RV-SOURCE-FILE"


def test_unreachable_and_forbidden(spark: SparkSession, tmp_path: Path) -> None:
    def error(uri: str) -> RollviewError:
        prefix = "spark.sql.catalog.their_lost"
        spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set(f"{prefix}.type", "jdbc")
        spark.conf.set(f"{prefix}.uri", uri)
        with pytest.raises(RollviewError) as caught:
            IcebergCapture(spark, "their_lost.db.t").latest()
        return caught.value

    lost = error("jdbc:postgresql://127.0.0.1:1/db?user=u&password=secret")
    assert isinstance(lost, SourceError)
    assert (lost.code, lost.retryable) == ("RV-SOURCE-UNREACHABLE", True)
    assert "secret" not in str(lost)

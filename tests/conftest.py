"""Fixtures that start servers, each at most once in a process and only when a test asks for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession
    from tests.pg import PostgresServer

TESTS = Path(__file__).parent
NEED_SPARK = tuple(TESTS / folder for folder in ("spark", "faults", "sources"))


# The Sparks that tests start for themselves are short: what Java's second compiler makes of the code costs more there
# than it saves. The one that tests share does without this.
JVM_OPTIONS = "ROLLVIEW_JVM_OPTIONS"
SHORT = "-XX:TieredStopAtLevel=1"
os.environ.setdefault(JVM_OPTIONS, SHORT)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate-golden", action="store_true", help="write the generated part of tests/golden anew")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Processes take whole modules in this order: those that need Spark, the long ones, then what fills up the end."""
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in NEED_SPARK):
            item.add_marker(pytest.mark.spark)
    long = {item.path for item in items if item.get_closest_marker("long")}
    items.sort(key=lambda item: (item.get_closest_marker("spark") is None, item.path not in long))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark of the process; its catalog `rollview` is a warehouse that the tests share."""
    from rollview.lake.session import local_session

    warehouse = tmp_path_factory.mktemp("warehouse")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(JVM_OPTIONS, os.environ[JVM_OPTIONS].replace(SHORT, ""))
        session = local_session(warehouse, f"sqlite:///{warehouse / 'catalog.db'}")
    yield session
    session.stop()


@pytest.fixture
def new_session(spark: SparkSession) -> Callable[[Path], SparkSession]:
    """Makes a session in the same Spark whose catalog `rollview` is the warehouse in the given folder."""
    from rollview.lake.session import local_session

    return lambda folder: local_session(folder, f"sqlite:///{folder / 'catalog.db'}")


@pytest.fixture(scope="session")
def pg_server() -> Iterator[PostgresServer]:
    from tests.pg import postgres_server

    with postgres_server() as server:
        yield server


@pytest.fixture
def pg_url(pg_server: PostgresServer) -> str:
    """The URL of an empty PostgreSQL database, this test's own."""
    return pg_server.database()


@pytest.fixture(scope="session")
def cluster_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The master of a standalone Spark cluster with two workers; use it from a process of its own."""
    from tests.spark.cluster import cluster

    with cluster(tmp_path_factory.mktemp("cluster")) as master:
        yield master

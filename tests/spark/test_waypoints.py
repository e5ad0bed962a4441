"""Changes that take several look-ups, on Spark: from what the first found, whatever and however much that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rollview
from rollview import Limits
from rollview.propagate import versioned

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

CHAIN = """SELECT c.name, SUM(l.amount) AS amount
    FROM customers c JOIN orders o ON o.customer = c.id JOIN lines l ON l.order_id = o.id GROUP BY c.name"""
TAGGED = """SELECT c.name, l.id, l.amount, o.tags
    FROM customers c JOIN orders o ON o.customer = c.id JOIN lines l ON l.order_id = o.id"""


@pytest.fixture(scope="module")
def wh(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with rollview.open(tmp_path_factory.mktemp("waypoints"), limits=Limits(far_bytes=0)) as warehouse:
        warehouse.create_table("customers", "id INT, name STRING", key=["id"])
        warehouse.create_table("orders", "id INT, customer INT, tags ARRAY<INT>", key=["id"])
        warehouse.create_table("lines", "id INT, order_id INT, amount INT", key=["id"])
        with warehouse.transaction() as tx:
            tx.insert("customers", [(c, f"c{c}") for c in range(5)])
            tx.insert("orders", [(o, o % 5, [o, 7]) for o in range(40)])
            tx.insert("lines", [(n, n % 40, n) for n in range(200)])
        for name, sql in (("chain", CHAIN), ("tagged", TAGGED)):
            warehouse.create_view(name, sql, policy="strict")
        yield warehouse


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many waypoints every pass found."""
    found: list[int] = []
    passed = versioned.passed
    monkeypatch.setattr(versioned, "passed", lambda node, names: (found.append(len(names)), passed(node, names))[1])
    return found


def renamed(wh: Warehouse, customer: int) -> None:
    with wh.transaction() as tx:
        tx.update("customers", set={"name": "concat(name, '!')"}, where=f"id = {customer}")


def test_lines_are_looked_up_from_the_orders_that_were_found(wh: Warehouse, stops: list[int]) -> None:
    renamed(wh, 1)
    report = wh.refresh("chain")
    assert isinstance(report, rollview.Report) and report.strategy == "incremental"
    assert stops == [1]
    assert wh.verify("chain").ok


def test_too_many_rows_on_the_way_are_no_waypoint(wh: Warehouse, stops: list[int], tmp_path: Path) -> None:
    with rollview.open(wh.path, limits=Limits(far_bytes=0, small_rows=5)) as other:
        renamed(other, 2)
        report = other.refresh("chain")
        assert isinstance(report, rollview.Report) and report.strategy == "incremental"
    assert stops == [0], "eight orders"
    assert wh.verify("chain").ok


def test_types_with_parts_are_no_waypoint(wh: Warehouse, stops: list[int]) -> None:
    renamed(wh, 3)
    report = wh.refresh("tagged")
    assert isinstance(report, rollview.Report) and report.strategy == "incremental" and report.delta_rows
    assert not any(stops)
    assert wh.verify("tagged").ok


def test_a_change_is_propagated_through_waypoints(wh: Warehouse, stops: list[int]) -> None:
    renamed(wh, 4)
    wh.propagate("chain")
    assert sum(stops) == 1
    wh.apply("chain")
    assert wh.verify("chain").ok

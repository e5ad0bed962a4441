"""What several views read of a change is read once, and what the driver has written it need not read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyiceberg.table import DataScan
from tests.spark.shop import add_sales, checked, open_shop, refresh

import rollview

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from rollview import Warehouse

VIEWS = {
    "by_store": "SELECT store_id, COUNT(*) AS n FROM sales GROUP BY store_id",
    "by_item": "SELECT item_id, SUM(price) AS p FROM sales GROUP BY item_id",
}


@pytest.fixture
def wh(spark: SparkSession, tmp_path: Path) -> Iterator[Warehouse]:
    with open_shop(tmp_path) as warehouse:
        for name, sql in VIEWS.items():
            warehouse.create_view(name, sql, policy="strict")
        yield warehouse


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The columns of each scan that the driver makes itself."""
    found: list[tuple[str, ...]] = []
    read = DataScan.to_arrow

    def noted(scan: DataScan) -> pa.Table:
        found.append(scan.selected_fields)
        return read(scan)

    monkeypatch.setattr(DataScan, "to_arrow", noted)
    return found


def test_a_change_is_read_once_for_all_views(wh: Warehouse, reads: list[tuple[str, ...]]) -> None:
    for first in (100, 200):
        add_sales(wh, first, first + 1)
        reads.clear()
        wh.refresh(*VIEWS)
    checked(wh, *VIEWS)
    assert len(reads) == 1  # nor are the extents, which the driver has written itself
    assert {"store_id", "item_id", "price"} <= set(reads[0])


def test_other_rows_of_a_log_are_other_rows(wh: Warehouse) -> None:
    add_sales(wh, 100)
    refresh(wh, "by_store")
    add_sales(wh, 101)
    for view in VIEWS:
        refresh(wh, view)


def test_a_column_that_was_read_and_is_gone(wh: Warehouse) -> None:
    add_sales(wh, 100)
    wh.refresh(*VIEWS)
    wh.drop_view("by_item")
    wh.alter_table("sales", drop=["price"])
    with wh.transaction() as tx:
        tx.delete("sales", where="sale_id = 1")
    refresh(wh, "by_store")


def test_what_another_process_has_written_is_read(wh: Warehouse, tmp_path: Path) -> None:
    add_sales(wh, 100)
    refresh(wh, "by_store")
    with rollview.open(tmp_path) as other:
        add_sales(other, 101)
        refresh(other, "by_store")
    add_sales(wh, 102)
    refresh(wh, "by_store")

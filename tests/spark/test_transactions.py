"""Transactions on managed tables: all operations, all shapes of data, all types; one tick or nothing."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest

import rollview
from rollview import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rollview import Warehouse

WAYS = [Limits(), Limits(few_bytes=0, rewrite_bytes=0), Limits(small_rows=0, few_bytes=0, rewrite_bytes=0)]


@pytest.fixture(scope="module")
def wh(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with rollview.open(tmp_path_factory.mktemp("transactions")) as warehouse:
        yield warehouse


def rows(wh: Warehouse, name: str, at: int | None = None) -> list[tuple[Any, ...]]:
    found = wh.table(name, at=at).toArrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def changes(wh: Warehouse, name: str, since: int) -> Counter[tuple[Any, ...]]:
    """The log of the table since a tick, net."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in wh.changes(name, since).toArrow().to_pylist():
        *values, count, _ = row.values()
        found[tuple(values)] += count
    return Counter({row: n for row, n in found.items() if n})


def test_operations_on_one_table_see_each_other(wh: Warehouse) -> None:
    wh.create_table("stock", "id BIGINT, name STRING, n INT", key=["id"])
    with wh.transaction() as tx:
        tx.insert("stock", [(1, "a", 1), (2, "b", 2), (3, "c", 3)])
    first = tx.tick
    assert rows(wh, "stock") == [(1, "a", 1), (2, "b", 2), (3, "c", 3)]
    with wh.transaction() as tx:
        tx.upsert("stock", [(2, "B", 20), (4, "d", 4)])
        tx.update("stock", set={"n": "n + 100"}, where="n >= 4")
        tx.delete("stock", where="id = 1")
        tx.insert("stock", [(1, "again", 0)])
        tx.update("stock", set={"id": "id + 10"}, where="name = 'c'")
    assert tx.tick == first + 1 == wh.tick
    assert rows(wh, "stock") == [(1, "again", 0), (13, "c", 3), (2, "B", 120), (4, "d", 104)]
    assert rows(wh, "stock", at=first) == [(1, "a", 1), (2, "b", 2), (3, "c", 3)]
    assert changes(wh, "stock", first)[2, "b", 2] == -1


def test_what_cancels_out_is_not_logged(wh: Warehouse) -> None:
    wh.create_table("still", "id BIGINT, n INT", key=["id"])
    with wh.transaction() as tx:
        tx.insert("still", [(1, 1), (2, 2)])
    before = wh.tick
    with wh.transaction() as tx:
        tx.update("still", set={"n": "n + 1"})
        tx.update("still", set={"n": "n - 1"})
        tx.insert("still", [(3, 3)])
        tx.delete("still", where="id = 3")
    assert not changes(wh, "still", before)
    assert rows(wh, "still") == [(1, 1), (2, 2)]


def test_several_tables_change_at_one_tick(wh: Warehouse) -> None:
    wh.create_table("left_side", "id INT", key=["id"])
    wh.create_table("right_side", "id INT", key=["id"])
    with wh.transaction() as tx:
        tx.insert("left_side", [(1,)])
        tx.insert("right_side", [(1,)])
        tx.insert("left_side", [(2,)])
    assert {r[-1] for n in ("left_side", "right_side") for r in map(tuple, wh.changes(n, 0).collect())} == {tx.tick}
    assert rows(wh, "left_side") == [(1,), (2,)]


def test_an_exception_inside_leaves_nothing(wh: Warehouse) -> None:
    wh.create_table("untouched", "id INT", key=["id"])
    before = wh.tick

    def stumble() -> None:
        with wh.transaction() as tx:
            tx.insert("untouched", [(1,)])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stumble()
    assert (wh.tick, rows(wh, "untouched")) == (before, [])


def test_one_bad_table_spoils_the_whole_transaction(wh: Warehouse) -> None:
    for name in ("good_one", "bad_one"):
        wh.create_table(name, "id INT", key=["id"])
    with wh.transaction() as tx:
        tx.insert("bad_one", [(1,)])
    before = wh.tick
    tx = wh.transaction()
    tx.insert("good_one", [(1,)])
    tx.insert("bad_one", [(1,)])
    with pytest.raises(rollview.BadInput, match="RV-DUPLICATE-KEY"), tx:
        pass
    assert wh.tick == before
    assert rows(wh, "good_one") == [] and rows(wh, "bad_one") == [(1,)]
    with wh.transaction() as tx:
        tx.insert("good_one", [(7,)])
    assert rows(wh, "good_one") == [(7,)]
    assert changes(wh, "good_one", 0) == {(7,): 1}


def test_a_transaction_without_operations_has_no_tick(wh: Warehouse) -> None:
    before = wh.tick
    with wh.transaction() as tx:
        pass
    assert tx.tick is None and wh.tick == before


def test_every_shape_of_data(wh: Warehouse) -> None:
    wh.create_table("shapes", "id BIGINT, Name STRING, price DECIMAL(10,2)", key=["id"])
    session = wh.spark
    with wh.transaction() as tx:
        tx.insert("shapes", [(1, "tuple", "1.10"), [2, "list", Decimal("2.20")]])
        tx.insert("shapes", [{"name": "dict", "ID": 3, "price": 3.3}])
        tx.insert("shapes", pd.DataFrame({"price": ["4.40"], "id": [4], "name": ["pandas"]}))
        tx.insert("shapes", pa.table({"id": [5], "name": ["arrow"], "price": pa.array([5], pa.int32())}))
        tx.insert("shapes", pa.record_batch({"id": [6], "name": ["batch"], "price": [Decimal("6.60")]}))
        tx.insert("shapes", ((i, "generator", None) for i in (7,)))
        tx.insert("shapes", session.createDataFrame([("spark", 8, 8.8)], "name STRING, id INT, price DOUBLE"))
    with wh.transaction() as tx:
        tx.insert("shapes", session.range(100, 103).selectExpr("id", "'frame' AS name", "id / 8 AS price"))
    with wh.transaction() as tx:
        tx.upsert("shapes", session.range(102, 104).selectExpr("id", "'upserted' AS name", "1 AS price"))
    found = {row[0]: row[1:] for row in rows(wh, "shapes")}
    names = ["tuple", "list", "dict", "pandas", "arrow", "batch", "generator", "spark"]
    prices = ["1.10", "2.20", "3.30", "4.40", "5.00", "6.60", None, "8.80"]
    assert [found[i + 1] for i in range(8)] == [
        (n, None if p is None else Decimal(p)) for n, p in zip(names, prices, strict=True)
    ]
    assert found[100] == ("frame", Decimal("12.50")) and found[103] == ("upserted", Decimal("1.00"))
    assert found[102] == ("upserted", Decimal("1.00")) and len(found) == 12


@pytest.mark.parametrize("limits", WAYS, ids=str)
def test_some_copies_of_a_row_are_deleted_from_a_bag(wh: Warehouse, limits: Limits) -> None:
    """A large delete once counted every copy as often as it was deleted."""
    name = f"bag_{limits.small_rows}_{limits.few_bytes}"
    other = rollview.open(wh.path, limits=limits)
    other.create_table(name, "a INT, b STRING")
    with other.transaction() as tx:
        tx.insert(name, [(1, "x")] * 3 + [(1, None)] * 2 + [(None, None)] * 2 + [(2, "y")])
    with other.transaction() as tx:  # 2 of 3, 1 of 2, all of 2, and one more of what was not touched
        tx.delete(name, where="a <=> 1 OR a IS NULL")
        tx.insert(name, [(1, "x"), (1, None), (2, "y")])
    assert Counter(rows(other, name)) == {(1, "x"): 1, (1, None): 1, (2, "y"): 2}
    with other.transaction() as tx:
        tx.update(name, set={"a": "3", "b": "'z'"})
    assert Counter(rows(other, name)) == {(3, "z"): 4}
    with other.transaction() as tx:
        tx.delete(name)
    assert rows(other, name) == []
    other.close()


def test_both_zeros_are_one_value_in_a_bag(wh: Warehouse) -> None:
    wh.create_table("zeros", "x DOUBLE")
    with wh.transaction() as tx:
        tx.insert("zeros", [(0.0,), (-0.0,), (0.0,), (float("nan"),), (1.0,)])
    with wh.transaction() as tx:
        tx.delete("zeros", where="x = 0")
    assert [str(x) for (x,) in rows(wh, "zeros")] == ["1.0", "nan"]


TYPED = {
    "id": ("INT", 1),
    "flag": ("BOOLEAN", True),
    "tiny": ("TINYINT", -5),
    "whole": ("BIGINT", 2**63 - 1),
    "real": ("FLOAT", 0.5),
    "wide": ("DOUBLE", 1e300),
    "exact": ("DECIMAL(38,18)", Decimal("12345678901234567890.123456789012345678")),
    "text": ("STRING", "O'Neil \\ `a` \n \u2028 \U0001f600 %s {x}"),
    "bytes": ("BINARY", b"\x00\xff"),
    "day": ("DATE", dt.date(1, 1, 1)),
    "moment": ("TIMESTAMP", dt.datetime(2020, 2, 29, 12, 30, 0, 123456, tzinfo=dt.UTC)),
    "local": ("TIMESTAMP_NTZ", dt.datetime(2020, 2, 29, 23, 59, 59)),  # noqa: DTZ001
    "list": ("ARRAY<INT>", [1, None, 3]),
    "record": ("STRUCT<a: INT, b: STRUCT<c: STRING>>", {"a": 1, "b": {"c": "x"}}),
    "mapping": ("MAP<STRING, INT>", [("k", 1)]),
}


def test_every_type_is_kept_exactly(wh: Warehouse) -> None:
    columns = ", ".join(f"`{name}` {kind}" for name, (kind, _) in TYPED.items())
    wh.create_table("typed", columns, key=["id"])
    full = tuple(value for _, value in TYPED.values())
    empty = (2, *(None for _ in full[1:]))
    with wh.transaction() as tx:
        tx.insert("typed", [full, empty])
    assert rows(wh, "typed") == [full, empty]
    with wh.transaction() as tx:
        tx.update("typed", set={"id": "id + 10"})
    assert rows(wh, "typed") == [(11, *full[1:]), (12, *empty[1:])]
    with wh.transaction() as tx:
        tx.upsert("typed", wh.table("typed").drop("tiny").selectExpr("*", "7 AS tiny").where("id = 11"))
    assert rows(wh, "typed")[0][2] == 7
    with wh.transaction() as tx:
        tx.delete("typed", where="mapping['k'] = 1")
    assert rows(wh, "typed") == [(12, *empty[1:])]


def test_keys_of_every_type_are_found_again(wh: Warehouse) -> None:
    kinds = {n: k for n, (k, _) in TYPED.items() if n not in ("list", "record", "mapping", "flag")}
    wh.create_table("by_all", ", ".join(f"`{n}` {k}" for n, k in kinds.items()) + ", v INT", key=list(kinds))
    key = tuple(TYPED[n][1] for n in kinds)
    with wh.transaction() as tx:
        tx.insert("by_all", [(*key, 1), (2, *key[1:], 1)])
    with wh.transaction() as tx:
        tx.upsert("by_all", [(*key, 2)])
    assert rows(wh, "by_all") == [(*key, 2), (2, *key[1:], 1)]
    with pytest.raises(rollview.BadInput, match="RV-DUPLICATE-KEY"), wh.transaction() as tx:
        tx.insert("by_all", [(*key, 3)])


def test_naive_times_mean_utc(wh: Warehouse) -> None:
    wh.create_table("times", "at TIMESTAMP")
    with wh.transaction() as tx:
        naive = dt.datetime(2020, 1, 1)  # noqa: DTZ001
        tx.insert("times", [("2020-01-01 00:00:00",), (naive,), ("2020-01-01T01:00:00+01:00",)])
    assert rows(wh, "times") == [(dt.datetime(2020, 1, 1, tzinfo=dt.UTC),)] * 3


def test_a_table_is_laid_out_by_its_key_or_as_the_user_says(wh: Warehouse) -> None:
    wh.create_table("laid", "id INT, city STRING", key=["id"], cluster=["city"])
    with wh.transaction() as tx:
        tx.insert("laid", [(i, f"c{i % 7}") for i in range(50)])
    cities = [r.city for r in wh.spark.sql("SELECT city FROM rollview.default.laid").collect()]
    assert cities == sorted(cities)


def test_rows_that_somebody_else_wrote_are_refused_with_the_way_out(wh: Warehouse) -> None:
    wh.create_table("ours", "id INT", key=["id"])
    with wh.transaction() as tx:
        tx.insert("ours", [(1,)])
    wh.spark.sql("INSERT INTO rollview.default.ours VALUES (2)")
    with pytest.raises(rollview.SourceError, match="RV-FOREIGN-WRITE") as refused, wh.transaction() as tx:
        tx.insert("ours", [(3,)])
    assert refused.value.hint is not None
    wh.spark.sql(refused.value.hint.removeprefix("undo it with ").split(", and")[0])
    with wh.transaction() as tx:
        tx.insert("ours", [(3,)])
    assert rows(wh, "ours") == [(1,), (3,)]


def test_a_compaction_does_not_lose_the_tick(wh: Warehouse) -> None:
    """Without its tick, the table was once folded anew from the beginning."""
    wh.create_table("compacted", "id INT, n INT", key=["id"])
    for i in range(5):
        with wh.transaction() as tx:
            tx.insert("compacted", [(i, i)])
    wh.spark.sql(
        "CALL rollview.system.rewrite_data_files('default.compacted', 'binpack', NULL, map('min-input-files','2'))"
    )
    with wh.transaction() as tx:
        tx.update("compacted", set={"n": "-n"}, where="id > 2")
    assert rows(wh, "compacted") == [(0, 0), (1, 1), (2, 2), (3, -3), (4, -4)]


def test_a_transaction_shows_itself(wh: Warehouse) -> None:
    wh.create_table("shown", "id INT")
    with wh.transaction() as tx:
        tx.insert("shown", [(1,)])
        assert "open" in repr(tx) and "1 operation" in repr(tx)
    assert f"tick {tx.tick}" in repr(tx)

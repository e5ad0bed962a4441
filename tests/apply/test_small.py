"""A small extent on the driver does what the refresh operator says (deltas/refresh.py)."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from rollview.algebra.scalar import Scalar
from rollview.apply.small import changed_rows, conformed, fits, merged_states, replaced_groups
from rollview.change import Applied
from rollview.deltas.change_table import Update
from rollview.deltas.refresh import aggregate_refresh, new, old
from rollview.names import COUNT

if TYPE_CHECKING:
    from rollview.algebra.interpreter import Bag

EXTENT = pa.schema(
    [
        ("g", pa.string()),
        ("h", pa.float64()),
        (COUNT, pa.int64()),
        ("s", pa.decimal128(38, 2)),
        ("x", pa.int64()),
        ("least", pa.date32()),
        ("most", pa.string()),
        ("held", pa.int32()),
    ]
)
KEY = ("g", "h")
UPDATES = {
    COUNT: Update.ADD,
    "s": Update.ADD,
    "x": Update.XOR,
    "least": Update.LEAST,
    "most": Update.GREATEST,
    "held": Update.REPLACE,
}
KEYS = [(g, h) for g in ("a", "b", None) for h in (0.0, 1.5, float("nan"), None)]


def table(rows: list[tuple[Any, ...]], schema: pa.Schema = EXTENT) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [[] for _ in schema]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def bag(rows: pa.Table) -> Bag:
    return Counter(tuple("nan" if v != v else v for v in row.values()) for row in rows.to_pylist())


def group(rng: Random, key: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    extreme = rng.choice([None, date(1, 1, 1), date(2024, 2, rng.randint(1, 9)), date(9999, 12, 31)])
    total = Decimal(rng.choice([0, 1, -7, 10**24])).scaleb(-2)
    return (*key, count, total, rng.getrandbits(8), extreme, rng.choice([None, "é", "z", "𝄞", ""]), rng.randint(0, 9))


@pytest.mark.parametrize("seed", range(40))
def test_states_are_refreshed(seed: int) -> None:
    rng = Random(seed)
    stored = {k: group(rng, k, rng.randint(1, 3)) for k in KEYS if rng.random() < 0.5}
    change = []
    for k in KEYS:
        if rng.random() < 0.5:
            there = stored[k][2] if k in stored else 0
            count = rng.randint(-there, 2)
            if k in stored or count > 0:
                change.append(group(rng, k, count))
    totals = tuple((s, Scalar(u.apply(old(s).tree, new(s).tree))) for s, u in UPDATES.items())
    operator = aggregate_refresh(KEY, totals, keep_empty=False)
    before, moved = table(list(stored.values())), table(change)

    after, applied = merged_states(before, moved, KEY, UPDATES, keep_empty=False)

    assert bag(after) == operator.apply(EXTENT.names, bag(before), bag(moved))
    assert after.schema == EXTENT
    assert before.num_rows + applied.inserted - applied.deleted == after.num_rows
    assert applied.inserted + applied.updated + applied.deleted == moved.num_rows


@pytest.mark.parametrize("seed", range(40))
def test_rows_come_and_go(seed: int) -> None:
    rng = Random(seed)
    schema = pa.schema([("g", pa.string()), ("h", pa.float64())])
    stored = [rng.choice(KEYS) for _ in range(rng.randint(0, 12))]
    total = Counter(stored)
    change = [(*k, c) for k in KEYS if (c := rng.randint(-total[k], 2))]
    before = table(stored, schema)
    signed = table(change, schema.append(pa.field(COUNT, pa.int64())))

    after, applied = changed_rows(before, signed, ("g", "h"))

    expected = bag(before)
    for g, h, n in change:
        expected[g, "nan" if h is not None and h != h else h] += n
    assert bag(after) == +expected
    assert applied == Applied(sum(n for *_, n in change if n > 0), 0, -sum(n for *_, n in change if n < 0))


def test_a_keyed_row_is_replaced_by_key() -> None:
    schema = pa.schema([("k", pa.int64()), ("v", pa.string())])
    signed = schema.append(pa.field(COUNT, pa.int64()))
    after, _ = changed_rows(table([(1, "a"), (2, "b")], schema), table([(1, "x", -1), (1, "c", 1)], signed), ["k"])
    assert bag(after) == {(1, "c"): 1, (2, "b"): 1}


def test_negative_zero_is_the_group_of_zero() -> None:
    schema = pa.schema([("h", pa.float64()), (COUNT, pa.int64())])
    after, _ = merged_states(
        table([(0.0, 1)], schema), table([(-0.0, 2)], schema), ["h"], {COUNT: Update.ADD}, keep_empty=False
    )
    assert after.to_pylist() == [{"h": 0.0, COUNT: 3}]


def test_a_global_group_stays_without_rows() -> None:
    schema = pa.schema([(COUNT, pa.int64()), ("s", pa.int64())])
    updates = {COUNT: Update.ADD, "s": Update.ADD}
    after, applied = merged_states(table([(1, 5)], schema), table([(-1, -5)], schema), [], updates, keep_empty=True)
    assert after.to_pylist() == [{COUNT: 0, "s": 0}]
    assert applied == Applied(0, 1, 0)


def test_null_is_no_state_and_no_change() -> None:
    schema = pa.schema([("k", pa.int64()), (COUNT, pa.int64()), ("s", pa.int64())])
    updates = {COUNT: Update.ADD, "s": Update.ADD}
    before, change = table([(1, 1, None), (2, 1, 4)], schema), table([(1, 1, 3), (2, 1, None)], schema)
    after, _ = merged_states(before, change, ["k"], updates, keep_empty=False)
    assert bag(after) == {(1, 2, 3): 1, (2, 2, 4): 1}


def test_groups_are_replaced() -> None:
    schema = pa.schema([("k", pa.int64()), (COUNT, pa.int64())])
    before, groups = table([(1, 1), (2, 1), (3, 1)], schema), table([(2, 0), (3, 5), (4, 1)], schema)
    after, applied = replaced_groups(before, groups, ["k"], keep_empty=False)
    assert bag(after) == {(1, 1): 1, (3, 5): 1, (4, 1): 1}
    assert applied == Applied(1, 1, 1)


@pytest.mark.parametrize(
    ("kind", "big"), [(pa.int64(), 2**63 - 1), (pa.decimal128(38, 0), Decimal(10**38 - 1)), (pa.int32(), 2**31 - 1)]
)
def test_an_overflow_is_never_written(kind: pa.DataType, big: Any) -> None:
    schema = pa.schema([(COUNT, pa.int64()), ("s", kind)])
    rows = table([(1, big)], schema)
    with pytest.raises(pa.ArrowInvalid):
        merged_states(rows, rows, [], {COUNT: Update.ADD, "s": Update.ADD}, keep_empty=True)


def test_a_change_that_does_not_fit_its_column_is_not_cut() -> None:
    with pytest.raises(pa.ArrowInvalid):
        conformed(pa.table({"s": pa.array([2**40])}), pa.schema([("s", pa.int32())]))


def test_what_arrow_sees_differently_is_left_to_spark() -> None:
    assert fits(EXTENT, UPDATES)
    assert not fits(EXTENT, {"h": Update.LEAST})
    assert not fits(pa.schema([("l", pa.list_(pa.int64()))]), {})

"""φ of stored view deltas, on the driver."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

from rollview.algebra.schema import Column
from rollview.plan.extent import Kind
from rollview.propagate.layout import Layout

SUMS = Layout(
    Kind.AGGREGATE,
    ("city",),
    (
        Column("city", "string"),
        Column("__count", "bigint"),
        Column("__sum_p", "decimal(20,2)"),
        Column("__x", "double"),
    ),
)
BAG = Layout(Kind.BAG, ("a", "b"), (Column("a", "int"), Column("b", "array<int>")))


def sums(*rows: tuple[str | None, int, str, float, int]) -> pa.Table:
    types = (pa.string(), pa.int64(), pa.decimal128(20, 2), pa.float64(), pa.int64())
    converted = [(c, n, Decimal(s), x, t) for c, n, s, x, t in rows]
    columns = zip(*converted, strict=True) if converted else ((),) * 5
    names = [c.name for c in SUMS.delta]
    return pa.table([pa.array(list(v), t) for v, t in zip(columns, types, strict=True)], names)


def values(rows: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(r.values()) for r in rows.to_pylist()), key=repr)


def test_states_of_a_group_add_up() -> None:
    rows = sums(("Oslo", 1, "2.50", 1.5, 3), (None, 1, "1.00", 0.0, 3), ("Oslo", -2, "-1.25", 0.5, 4))
    assert values(SUMS.net(rows)) == [("Oslo", -1, Decimal("1.25"), 2.0), (None, 1, Decimal("1.00"), 0.0)]
    assert values(SUMS.net(rows, -1)) == [("Oslo", 1, Decimal("-1.25"), -2.0), (None, -1, Decimal("-1.00"), 0.0)]


def test_what_adds_up_to_nothing_is_no_change() -> None:
    assert values(SUMS.net(sums(("Oslo", 1, "2.50", 1.5, 3), ("Oslo", -1, "-2.50", -1.5, 4)))) == []
    assert values(SUMS.net(sums())) == []


def test_a_change_of_the_sum_alone_is_one() -> None:
    assert len(values(SUMS.net(sums(("Oslo", 0, "0.01", 0.0, 3))))) == 1


def test_an_aggregate_without_groups_is_one_sum() -> None:
    layout = Layout(Kind.AGGREGATE, (), SUMS.columns[1:3])
    rows = sums(("x", 1, "2.50", 0.0, 3), ("x", 1, "1.00", 0.0, 4)).drop_columns(["city", "__x"])
    assert values(layout.net(rows)) == [(2, Decimal("3.50"))]
    assert values(layout.net(rows, -1)) == [(-2, Decimal("-3.50"))]


def test_rows_are_counted() -> None:
    names = [c.name for c in BAG.delta]
    given = [(1, [1], 1, 2), (1, [1], 1, 3), (2, None, 1, 3), (2, None, -1, 4), (3, [], -1, 4)]
    types = (pa.int32(), pa.list_(pa.int32()), pa.int64(), pa.int64())
    rows = pa.table([pa.array(list(v), t) for v, t in zip(zip(*given, strict=True), types, strict=True)], names)
    assert values(BAG.net(rows)) == [(1, [1], 2), (3, [], -1)]
    assert values(BAG.net(rows, -1)) == [(1, [1], -2), (3, [], 1)]


def test_a_layout_survives_as_plain_data() -> None:
    assert [Layout.of(x.plain()) for x in (SUMS, BAG)] == [SUMS, BAG]

"""Where the keys of a change lie: values, ranges split at wide gaps, NULLs."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import pyarrow as pa
import pytest

from rollview.lake.regions import FEW, RANGES, clusters, region, share
from rollview.plan.emit import column, sql

MANY = list(range(FEW + 1))
DAY = dt.date(2020, 1, 1)


def column_of(*values: object) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(list(values))])


def tested(*values: object) -> str | None:
    found = region(column_of(*values))
    return None if found is None else sql(found.test(column("t", "k").tree))


def test_few_values_are_listed() -> None:
    assert tested(3, 1, 3, None) == "(`t`.`k` IN (3, 1) OR `t`.`k` IS NULL)"
    assert tested("a") == "`t`.`k` IN ('a')"


def test_nothing_is_said_of_no_values_or_of_floats() -> None:
    assert tested(None) is None
    assert tested(1.5) is None


def test_a_join_needs_no_nulls() -> None:
    found = region(column_of(*MANY, None))
    assert found is not None and found.nulls
    assert sql(found.test(column("t", "k").tree, nulls=False)) == f"`t`.`k` BETWEEN 0 AND {FEW}"


@pytest.mark.parametrize(
    ("values", "ranges"),
    [
        ([*MANY, *(10_000 + i for i in MANY)], [(0, FEW), (10_000, 10_000 + FEW)]),
        ([-(2**63), *MANY, 2**63 - 1], [(-(2**63), -(2**63)), (0, FEW), (2**63 - 1, 2**63 - 1)]),
        ([*MANY, 5 + FEW], [(0, 5 + FEW)]),
        (
            [DAY + dt.timedelta(days=i + shift) for shift in (0, 900) for i in MANY],
            [(DAY, dt.date(2020, 4, 10)), (dt.date(2022, 6, 19), dt.date(2022, 9, 27))],
        ),
        ([f"{i:04}" for i in MANY] + ["x"], [("0000", "x")]),
        ([Decimal(i) for i in MANY] + [Decimal(10**9)], [(Decimal(0), Decimal(10**9))]),
    ],
    ids=["two clusters", "the whole domain", "a narrow gap", "dates", "strings", "decimals"],
)
def test_ranges_are_split_at_wide_gaps(values: list[object], ranges: list[tuple[object, object]]) -> None:
    assert clusters(column_of(*values)) == ranges


def test_every_value_is_in_a_range_and_ranges_are_few() -> None:
    seeded = random.Random(7)
    for _ in range(200):
        centres = [seeded.randrange(-(10**12), 10**12) for _ in range(seeded.randint(1, 40))]
        values = [c + seeded.randrange(seeded.choice([10, 10_000])) for c in centres for _ in range(30)]
        found = clusters(column_of(*values))
        assert len(found) <= RANGES
        assert all(any(low <= v <= high for low, high in found) for v in values)


def test_a_sorted_file_is_read_where_the_values_are() -> None:
    assert share([(100, 199)], 0, 999, groups=10) == pytest.approx(0.2), "a tenth, and where it begins a row group more"
    assert share([(100, 199), (5000, 6000)], 0, 999, groups=10) == pytest.approx(0.2), "what lies elsewhere is not read"
    assert share([(5, 5), (500, 500)], 0, 999, groups=100) == pytest.approx(0.022)
    assert share([(0, 999)], 0, 999, groups=10) == 1.0

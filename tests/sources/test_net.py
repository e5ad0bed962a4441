"""Netting against a dictionary of counts, over every kind of column."""

from __future__ import annotations

import random
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.sources.conftest import bag

from rollview.capture.net import net

CHOICES: dict[str, tuple[pa.DataType, list[object]]] = {
    "i": (pa.int32(), [1, 2, None]),
    "f": (pa.float64(), [0.0, float("nan"), None]),
    "s": (pa.string(), ["", "a", None]),
    "d": (pa.decimal128(10, 2), [Decimal("1.00"), None]),
    "b": (pa.bool_(), [True, False]),
    "n": (pa.null(), [None]),
    "struct": (pa.struct([("x", pa.string()), ("y", pa.int64())]), [None, {"x": None, "y": None}, {"x": "a", "y": 1}]),
    "list": (pa.list_(pa.struct([("x", pa.list_(pa.int64()))])), [None, [], [None], [{"x": None}], [{"x": [1, None]}]]),
    "map": (pa.map_(pa.string(), pa.int32()), [None, [], [("k", 1)], [("k", None)], [("k", 1), ("l", 1)]]),
}


def random_rows(rng: random.Random, names: list[str], count: int) -> pa.Table:
    rows = [{n: rng.choice(CHOICES[n][1]) for n in names} | {"__count": rng.choice([1, -1])} for _ in range(count)]
    schema = pa.schema([*((n, CHOICES[n][0]) for n in names), ("__count", pa.int64())])
    return pa.Table.from_pylist(rows, schema=schema)


@pytest.mark.parametrize("names", [[n] for n in CHOICES] + [list(CHOICES), []], ids=lambda n: "-".join(n) or "none")
def test_net_effect(names: list[str]) -> None:
    rows = random_rows(random.Random(7), names, 500)
    for part in (rows, rows.slice(3, 200), pa.concat_tables([rows.slice(10, 7), rows.slice(300)]), rows.slice(0, 0)):
        netted = net(part)
        assert bag(netted) == bag(part)
        assert netted.num_rows == sum(abs(n) for n in bag(part).values())
        assert set(netted.column("__count").to_pylist()) <= {1, -1}
        assert netted.schema == part.schema

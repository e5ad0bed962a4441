"""Key bounds: what a small change says about where its keys lie, as literals that prune files."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import (
    AlwaysTrue,
    And,
    BooleanExpression,
    GreaterThanOrEqual,
    IsNull,
    LessThanOrEqual,
    Or,
)

from rollview.lake.arrow import literal
from rollview.plan.merge import Bounds

ORDERED = (
    pa.types.is_integer,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_decimal,
)


def bounds(rows: pa.Table, key: Sequence[str]) -> dict[str, Bounds]:
    """Literals between which the keys of a small change lie."""
    return {k: Bounds(literal(low), literal(high), nulls) for k, (low, high, nulls) in ranges(rows, key).items()}


def ranges(rows: pa.Table, key: Sequence[str]) -> dict[str, tuple[object, object, bool]]:
    found = {}
    for name in key:
        values = rows.column(name)
        if not any(test(values.type) for test in ORDERED):
            continue
        extremes = pc.min_max(values).as_py()
        if extremes["min"] is not None:
            found[name] = (extremes["min"], extremes["max"], values.null_count > 0)
    return found


def file_filter(rows: pa.Table, key: Sequence[str]) -> BooleanExpression:
    """The same bounds as a filter that pyiceberg can prune files with."""
    tests: list[BooleanExpression] = []
    for name, (low, high, nulls) in ranges(rows, key).items():
        if pa.types.is_decimal(rows.column(name).type) or pa.types.is_timestamp(rows.column(name).type):
            continue
        between = And(GreaterThanOrEqual(name, low), LessThanOrEqual(name, high))
        tests.append(Or(between, IsNull(name)) if nulls else between)
    result: BooleanExpression = AlwaysTrue()
    for test in tests:
        result = And(result, test)
    return result

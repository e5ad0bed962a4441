"""Key bounds: what a small change says about where its keys lie, as literals that prune files."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rollview.lake.arrow import literal
from rollview.lake.predicates import Predicate, between, both, everything
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


def file_filter(rows: pa.Table, key: Sequence[str]) -> Predicate:
    """The same bounds as a filter that pyiceberg can prune files with."""
    result = everything()
    for name, (low, high, nulls) in ranges(rows, key).items():
        if not pa.types.is_decimal(rows.column(name).type) and not pa.types.is_timestamp(rows.column(name).type):
            result = both(result, between(name, low, high, nulls=nulls))
    return result

"""Recompute at the view's own tick, by time travel, and compare as bags both ways.

The recompute is the user's own text over the base tables at that tick, so it shares nothing with the compiler that is
judged. Only where that text leaves open which rows it means (RV-TIES) it is what the compiler made of it.
Floating-point columns may differ by rounding; rows that agree in all others and nearly in those are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from rollview.algebra.schema import Schema
from rollview.lake.lake import Lake
from rollview.names import COUNT
from rollview.plan.emit import ident
from rollview.report import Verification

LIMIT = 10_000
TOLERANCE = 1e-9


def audit(
    lake: Lake, view: str, tick: int, stored: exp.Expr, recomputed: exp.Query | str, output: Schema
) -> Verification:
    """Both queries deliver the view's columns; the difference is computed by Spark, the few rows of it are shown."""
    names = [c.name for c in output]
    left = lake.bind("__stored", stored)
    right = lake.bind("__recomputed", lake.run(recomputed).toDF(*names))
    try:
        rows = lake.fetch(exp.select(exp.Count(this=exp.Star())).from_(left.copy())).column(0)[0].as_py()
        found = lake.fetch(difference(left, right, output), limit=LIMIT)
    finally:
        lake.unbind(["__stored", "__recomputed"])
    extra, missing = split(found, names)
    floating = [i for i, c in enumerate(output) if c.type in ("double", "float")]
    if floating:
        extra, missing = without_rounding(extra, missing, floating)
    return Verification(view, tick, rows, missing, extra, tuple(names))


def difference(stored: exp.Table, recomputed: exp.Table, output: Schema) -> exp.Query:
    """Rows with how many more of them are stored than should be."""
    columns = [exp.Column(this=ident(c.name)) for c in output]

    def side(source: exp.Table, count: int) -> exp.Select:
        number = exp.cast(exp.Literal.number(count), "bigint")
        return exp.select(*(c.copy() for c in columns), exp.alias_(number, COUNT, quoted=True)).from_(source.copy())

    both = exp.Union(this=side(stored, 1), expression=side(recomputed, -1), distinct=False)
    total = exp.Sum(this=exp.Column(this=ident(COUNT)))
    return (
        exp.select(*(c.copy() for c in columns), exp.alias_(total, COUNT, quoted=True))
        .from_(exp.Subquery(this=both, alias=exp.TableAlias(this=ident("both"))))
        .group_by(*(c.copy() for c in columns))
        .having(exp.NEQ(this=total.copy(), expression=exp.Literal.number(0)))
    )


def split(found: pa.Table, names: Sequence[str]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    extra: list[tuple[Any, ...]] = []
    missing: list[tuple[Any, ...]] = []
    for row in found.to_pylist():
        values, count = tuple(row[n] for n in names), row[COUNT]
        (extra if count > 0 else missing).extend([values] * abs(count))
    return extra, missing


def without_rounding(
    extra: list[tuple[Any, ...]], missing: list[tuple[Any, ...]], floating: Sequence[int]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Pair rows that differ only by the rounding of a sum."""

    def rest(row: tuple[Any, ...]) -> str:
        return repr([v for i, v in enumerate(row) if i not in floating])

    waiting: dict[str, list[tuple[Any, ...]]] = {}
    for row in missing:
        waiting.setdefault(rest(row), []).append(row)
    unpaired = []
    for row in extra:
        partners = waiting.get(rest(row), [])
        partner = next((p for p in partners if near(row, p, floating)), None)
        if partner is None:
            unpaired.append(row)
        else:
            partners.remove(partner)
    return unpaired, [row for rows in waiting.values() for row in rows]


def near(a: tuple[Any, ...], b: tuple[Any, ...], floating: Sequence[int]) -> bool:
    for i in floating:
        if a[i] is None or b[i] is None:
            if a[i] is not b[i]:
                return False
        elif not math.isclose(a[i], b[i], rel_tol=TOLERANCE, abs_tol=TOLERANCE) and not (a[i] != a[i] and b[i] != b[i]):
            return False
    return True

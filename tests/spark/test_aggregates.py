"""Every aggregate function on Spark: random histories on one warehouse, verified after them, by every executor."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import rollview
from rollview import Limits
from rollview.propagate.versioned import Versioned

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview import Warehouse

COLUMNS = "id INT, g INT, i INT, l BIGINT, d DECIMAL(12,3), x DOUBLE, s STRING, b BOOLEAN"
FAMILIES = {
    "extremes": "MIN(i) AS a, MAX(d) AS b, MIN(s) AS c, MAX(x) AS d, MIN(b) AS e, MAX(i) FILTER (WHERE b) AS f, "
    "MAX(struct(i, s)) AS g, SUM(l) AS h, MIN(DISTINCT l) AS i",
    "truths": "BOOL_AND(b) AS a, BOOL_OR(b) AS b, EVERY(i > 1) AS c, SOME(i > 3) AS d, ANY(s = 'a') AS e, "
    "COUNT_IF(i > 2) AS f, COUNT_IF(b) FILTER (WHERE i > 2) AS g",
    "bits": "BIT_XOR(i) AS a, BIT_XOR(l) AS b, BIT_AND(i) AS c, BIT_OR(l) AS d",
    "parities": "BIT_XOR(i) AS a, BIT_XOR(l) FILTER (WHERE b) AS b",
    "variances": "VAR_POP(i) AS a, VAR_SAMP(d) AS b, VARIANCE(l) AS c, STDDEV(i) AS d, STDDEV_POP(d) AS e, "
    "STDDEV_SAMP(l) AS f, STD(i) FILTER (WHERE b) AS g",
    "variances_of_doubles": "VAR_POP(x) AS a, STDDEV(x) AS b, SKEWNESS(x) AS c, KURTOSIS(i) AS d, COVAR_POP(x, i) AS e",
    "pairs": "COVAR_POP(i, l) AS a, COVAR_SAMP(d, i) AS b, REGR_COUNT(i, d) AS c, REGR_AVGX(i, d) AS e, "
    "REGR_AVGY(i, x) AS f, REGR_SXX(i, d) AS g, REGR_SYY(i, d) AS h, REGR_SXY(i, d) AS i, REGR_SLOPE(i, d) AS j, "
    "REGR_INTERCEPT(i, d) AS k, REGR_R2(i, d) AS l, CORR(id, id * 2) FILTER (WHERE g = 1) AS m",
    "distinct": "COUNT(DISTINCT i) AS a, COUNT(DISTINCT i, s) AS b, SUM(DISTINCT d) AS c, AVG(DISTINCT i) AS d, "
    "COUNT(DISTINCT s) FILTER (WHERE b) AS e, APPROX_COUNT_DISTINCT(i) AS f, STDDEV(DISTINCT i) AS g",
    "percentiles": "MEDIAN(i) AS a, PERCENTILE(d, 0.3) AS b, PERCENTILE(i, array(0.1, 0.9)) AS c, "
    "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY i DESC) AS d, PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY x) AS e, "
    "MODE(i, true) AS f, MODE() WITHIN GROUP (ORDER BY s) AS g, MEDIAN(x) FILTER (WHERE b) AS h",
    "collections": "sort_array(COLLECT_LIST(i)) AS a, sort_array(COLLECT_SET(s), false) AS b, "
    "array_sort(ARRAY_AGG(d)) AS c, LISTAGG(s, ',') WITHIN GROUP (ORDER BY s) AS d, "
    "STRING_AGG(DISTINCT s, '-') WITHIN GROUP (ORDER BY s) AS e, LISTAGG(s) WITHIN GROUP (ORDER BY id DESC) AS f, "
    "MIN_BY(s, id) AS g, MAX_BY(x, id) AS h, TRY_SUM(l) AS j, TRY_AVG(i) AS k",
    "mixed": "MEDIAN(i) AS a, MIN(l) AS b, SUM(d) AS c, AVG(i) AS d, COUNT(*) AS e, VAR_POP(i) AS f",
}
OTHERS = {
    "determined": "SELECT id, FIRST(s) AS s, ANY_VALUE(x) AS x, LAST(i) AS i, COUNT(*) AS n FROM v GROUP BY id",
    "join_of_extremes": "SELECT w.name, MIN(v.i) AS low, MAX(v.d) AS high FROM v JOIN w ON v.g = w.g GROUP BY w.name",
    "below_a_join": "SELECT w.name, q.low, q.half FROM w JOIN (SELECT g, MIN(i) AS low, MEDIAN(i) AS half FROM v "
    "GROUP BY g) q ON w.g = q.g",
    "extreme_of_counts": "SELECT low, COUNT(*) AS n, MAX(m) AS most "
    "FROM (SELECT g, MIN(i) AS low, COUNT(DISTINCT s) AS m FROM v GROUP BY g) q GROUP BY low",
    "having": "SELECT g, MAX(i) AS m FROM v GROUP BY g HAVING MIN(i) < 2 AND COUNT(DISTINCT s) > 1",
    "rollup": "SELECT g, b, COUNT(*) AS n, MAX(i) AS m, GROUPING(b) AS k, GROUPING_ID() AS l FROM v "
    "GROUP BY ROLLUP (g, b)",
    "over": "SELECT a, COUNT(*) AS n FROM grouped_extremes GROUP BY a",
    "over_holistic": "SELECT d, MAX(e) AS m FROM grouped_mixed GROUP BY d",
}
WHOLE = ("extremes", "mixed")
"""the families that are also asked for without GROUP BY"""
VIEWS = {
    **{f"grouped_{name}": f"SELECT g AS grp, {calls} FROM v GROUP BY g" for name, calls in FAMILIES.items()},
    **{f"whole_{name}": f"SELECT {FAMILIES[name]} FROM v" for name in WHOLE},
    **OTHERS,
}
ONE_OF_EACH = (
    "grouped_extremes",
    "grouped_mixed",
    "grouped_pairs",
    "whole_mixed",
    "join_of_extremes",
    "below_a_join",
    "over",
)
"""views of every form that the executors tell apart"""
EXECUTORS = {
    "rewrite": (Limits(), tuple(VIEWS)),
    "branch": (Limits(rewrite_bytes=0, few_bytes=0), ONE_OF_EACH),
    "inside_spark": (Limits(small_rows=0, rewrite_bytes=0), ONE_OF_EACH),
}
STEPS = 2


def row(rng: Random, key: int) -> tuple[Any, ...]:
    def or_null(value: Any) -> Any:
        return None if rng.random() < 0.15 else value

    return (
        key,
        or_null(rng.randint(1, 4)),
        or_null(rng.randint(0, 5)),
        or_null(rng.randint(-3, 3) + 1000),
        or_null(Decimal(rng.randint(-5, 5)) / 8),
        or_null(rng.choice((0.5, 1.25, -2.0, 3.0))),
        or_null(rng.choice("abc")),
        or_null(rng.random() < 0.5),
    )


def change(rng: Random, wh: Warehouse, held: set[int], step: int) -> None:
    """Rows go, come and change; at the last step only insertions."""
    with wh.transaction() as tx:
        if step < STEPS:
            gone = [k for k in held if rng.random() < 0.4]
            if gone:
                tx.delete("v", where=f"id IN ({', '.join(map(str, gone))})")
            held.difference_update(gone)
            updated = [k for k in held if rng.random() < 0.3]
            if updated:
                tx.upsert("v", [row(rng, k) for k in updated])
        fresh = [max(held, default=0) + 1 + n for n in range(6)]
        tx.insert("v", [row(rng, k) for k in fresh])
        held.update(fresh)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_every_function_after_two_steps(spark: SparkSession, tmp_path: Path, executor: str) -> None:
    rng = Random(executor)
    limits, views = EXECUTORS[executor]
    with rollview.open(tmp_path, limits=limits) as wh:
        wh.create_table("v", COLUMNS, key=["id"])
        wh.create_table("w", "g INT, name STRING")
        held = set(range(20))
        with wh.transaction() as tx:
            tx.insert("v", [row(rng, k) for k in held])
            tx.insert("w", [(1, "one"), (2, "two"), (3, "two"), (None, "none")])
        for name in views:
            wh.create_view(name, VIEWS[name], policy="strict")
        for step in range(1, STEPS + 1):
            change(rng, wh, held, step)
            wh.refresh()
        for name in views:
            verification = wh.verify(name)
            assert verification.ok, f"{verification}\n{VIEWS[name]}\n{wh.explain(name)}"


def test_the_base_is_read_only_for_groups_that_lost_their_extreme(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, str]] = []
    bind = Versioned.bind
    monkeypatch.setattr(
        Versioned, "bind", lambda self, scan: (read.append((scan.table, scan.at.name)), bind(self, scan))[1]
    )
    with rollview.open(tmp_path) as wh:
        wh.create_table("v", "id INT, g INT, i INT", key=["id"])
        with wh.transaction() as tx:
            tx.insert("v", [(n, n % 5, n) for n in range(100)])
        wh.create_view("low", "SELECT g, MIN(i) AS i, COUNT(*) AS n FROM v GROUP BY g", policy="strict")

        def refreshed() -> tuple[int, set[tuple[str, str]]]:
            read.clear()
            report = wh.refresh("low")
            found = set(read)
            assert wh.verify("low").ok
            return report.rederived, found

        with wh.transaction() as tx:
            tx.delete("v", where="id IN (50, 61)")
            tx.insert("v", [(200, 1, -5)])
        assert refreshed() == (0, {("v", "DELTA")}), "no extreme was deleted"
        with wh.transaction() as tx:
            tx.delete("v", where="id = 2")
            tx.insert("v", [(201, 2, 1)])
        assert refreshed() == (0, {("v", "DELTA")}), "the deleted minimum was beaten"
        with wh.transaction() as tx:
            tx.delete("v", where="g = 3")
        assert refreshed() == (0, {("v", "DELTA")}), "the whole group is gone"
        with wh.transaction() as tx:
            tx.delete("v", where="id = 4")
        assert refreshed() == (1, {("v", "DELTA"), ("v", "AFTER")})
        assert {tuple(r) for r in wh.table("low").collect()} >= {(4, 9, 19)}

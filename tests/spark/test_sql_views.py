"""Sets, generators, windows, limits, pivots and subqueries on Spark: named views, refreshed and verified."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.law import Subject
from tests.property.random_tables import PARENTS_FIRST, history
from tests.property.test_dependent import IN_CONDITIONS, IN_GROUPS, LATERAL, REFUSED_BY_SPARK, SUBQUERIES
from tests.property.test_dependent import SPARK_ONLY as LATERAL_SPARK_ONLY
from tests.property.test_regressions import (
    LATERALS,
    QUANTIFIED,
    SCALAR_SUBQUERIES,
    SETS_AND_GENERATORS,
    SPARK_ONLY,
    TIES,
    WINDOWS,
)
from tests.rules.test_forms import SAID_PLAINLY
from tests.rules.test_forms import STATES as FORM_STATES
from tests.rules.test_forms import TABLES as FORM_TABLES
from tests.spark.histories import advance, create_tables

import rollview
from rollview.algebra.schema import BaseTable, Column
from rollview.plan import emit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

DEPENDENT = {**LATERAL_SPARK_ONLY, **IN_GROUPS, **IN_CONDITIONS, **SUBQUERIES, **LATERAL}
IN_VALUES = {
    "listed": "SELECT id, a IN (SELECT c FROM s) AS i, a NOT IN (SELECT c FROM s) AS n FROM r",
    "among_connectives": (
        "SELECT id, NOT (a IN (SELECT c FROM s) OR b = 1) AS g, NOT (a NOT IN (SELECT c FROM s)) AS h FROM r"
    ),
    "below_functions": (
        "SELECT id, COALESCE(a NOT IN (SELECT c FROM s), TRUE) AS c, (a IN (SELECT c FROM s)) IS NULL AS n FROM r"
    ),
    "of_several_columns": (
        "SELECT id, (a, b) NOT IN (SELECT c, id FROM s) AS n, (a, b) IN (SELECT c, id FROM s) AS i FROM r"
    ),
    "grouped_by": "SELECT a NOT IN (SELECT c FROM s) AS n, COUNT(*) AS c FROM r GROUP BY 1",
    "in_a_condition": "SELECT id FROM r WHERE NOT COALESCE(a IN (SELECT c FROM s WHERE s.r_id = r.id), FALSE)",
}
"""Spark has no NULL for IN where it can be seen"""
SAID_OTHERWISE = {
    "pipes": (
        "FROM r |> WHERE a > 0 |> SET b = a + 1, a = b |> DROP id |> AS q |> JOIN s ON s.id = q.a |> SELECT q.a, s.c"
    ),
    "a_join_with_a_name": "SELECT j.a, j.c FROM (r JOIN (SELECT r_id AS id, c FROM s) USING (id)) AS j",
    "columns_of_a_join_named": "SELECT p, t FROM (r CROSS JOIN s) AS j(p, q, x, y, z, t)",
    "values": "VALUES (1, 'a'), (2, NULL)",
    "aggregates_as_windows": (
        "SELECT id, MEDIAN(a) OVER (PARTITION BY b) AS m, PERCENTILE(a, 0.25) OVER (PARTITION BY b) AS p, "
        "PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY a) OVER (PARTITION BY b) AS c, "
        "REGR_SLOPE(a, id) OVER (PARTITION BY b) AS s FROM r"
    ),
    "maps": "SELECT id, map('x', a, 'y', b) AS m FROM r",
    "generators_of_left_joins": (
        "SELECT id, p, x FROM r LEFT JOIN LATERAL posexplode(array(a, b)) t(p, x) ON x > 1 AND p < id"
    ),
    "a_range_beside_each_row": "SELECT id, n FROM r, LATERAL range(1, 7, 2) g(n) WHERE n > a",
    "an_empty_range_beside_each_row": "SELECT COUNT(*) AS n FROM r, LATERAL range(0)",
    "lists_of_no_rows": "SELECT id, (SELECT sort_array(collect_list(c)) FROM s WHERE s.r_id = r.id) AS l FROM r",
    "lists_whose_order_means_nothing": (
        "SELECT a, size(collect_set(b)) AS n, array_contains(collect_list(b), 1) AS c, "
        "array_max(array_agg(b) FILTER (WHERE b > 0)) AS m FROM r GROUP BY a"
    ),
    "groups_of_maps": "SELECT map('x', a, 'y', 1) AS m, COUNT(*) AS n, SUM(b) AS b FROM r GROUP BY 1",
    "a_map_below_a_group": (
        "SELECT n, COUNT(*) AS c FROM (SELECT map(1, a) AS m, COUNT(*) AS n FROM r GROUP BY map(1, a)) GROUP BY n"
    ),
    "filters_with_subqueries": (
        "SELECT a, COUNT(*) FILTER (WHERE id IN (SELECT r_id FROM s)) AS n, "
        "SUM(b) FILTER (WHERE b > (SELECT MIN(c) FROM s)) AS t FROM r GROUP BY a"
    ),
    "stars_in_calls": "SELECT COALESCE(*) AS c, array(*) AS l, COALESCE(r.*, 1) AS d FROM r",
    "casts_that_fail": "SELECT array(a) AS l, TRY_CAST('x' AS INT) AS n FROM r",
    "casts_that_fail_in_groups": "SELECT a, COUNT(TRY_CAST('x' AS INT)) AS n FROM r GROUP BY a",
    "whole_names": "SELECT rollview.default.r.a, default.r.b AS c, default.r.* EXCEPT (a) FROM r",
    "pipes_after_a_limit": "FROM r |> ORDER BY id |> LIMIT 3 |> WHERE a > 0 |> SELECT DISTINCT a",
    "a_full_join_behind_a_comma": "SELECT r.a, s.c, q.b FROM r, s FULL JOIN r q ON s.c = q.a AND q.b > 1",
    "by_all": "SELECT a, b FROM r ORDER BY ALL LIMIT 3 OFFSET 1",
    "pipes_without_parentheses": "FROM r |> UNION ALL TABLE s |> EXCEPT SELECT id, 1, b FROM r",
    "intervals_of_several_units": (
        "SELECT id, t - INTERVAL 1 DAY 4 HOURS AS u, t - INTERVAL '1 02:03' DAY TO MINUTE AS w, "
        "COUNT(*) OVER (ORDER BY t RANGE BETWEEN INTERVAL 1 DAY 4 HOURS PRECEDING AND CURRENT ROW) AS n "
        "FROM (SELECT id, timestamp_seconds(a * 90000) AS t FROM r)"
    ),
}
GROUPS = {
    "in_values": IN_VALUES,
    "said_otherwise": SAID_OTHERWISE,
    "spark_only": {**SPARK_ONLY, **LATERALS},
    "windows": {**TIES, **dict(list(WINDOWS.items())[:14])},
    "quantified": QUANTIFIED,
    "sets": dict(list(SETS_AND_GENERATORS.items())[::2]),
    "subqueries": dict(list(SCALAR_SUBQUERIES.items())[::2]),
    "dependent": {n: q for n, q in list(DEPENDENT.items())[::2] if n not in REFUSED_BY_SPARK}
    | {n: SUBQUERIES[n] for n in ("in_a_case", "not_in_groups")},
}
COLLECTIONS = {
    "higher_order": "SELECT id, transform(xs, x -> x + id) AS ys, aggregate(xs, 0, (t, x) -> t + x) AS t FROM boxes",
    "structs_and_maps": "SELECT id, st.a AS a, m['k'] AS k, named_struct('p', st.b, 'q', id) AS s FROM boxes",
    "exploded_map": "SELECT id, key, value FROM boxes LATERAL VIEW explode(m) e",
    "exploded_with_place": "SELECT id, pos, col FROM boxes LATERAL VIEW OUTER posexplode(xs) e",
    "inlined": "SELECT id, inline(array(st, named_struct('a', 0, 'b', 'z'))) FROM boxes",
    "a_range": "SELECT r.id, COUNT(b.id) AS n FROM range(0, 5, 2) r LEFT JOIN boxes b ON b.id = r.id GROUP BY r.id",
    "an_empty_range": "SELECT COUNT(*) AS n FROM range(3, 3), boxes",
    "summed_elements": "SELECT x, COUNT(*) AS n FROM boxes LATERAL VIEW explode(xs) e AS x GROUP BY x",
}


@pytest.mark.parametrize("group", GROUPS)
def test_views_are_right_after_two_steps(spark: SparkSession, tmp_path: Path, group: str) -> None:
    rng = Random(7)
    tables = {t.name: t for t in PARENTS_FIRST}
    states = history(rng, 3)
    wh = rollview.open(tmp_path)
    create_tables(wh, tables)
    advance(rng, wh, tables, {}, states[0])
    for name, sql in GROUPS[group].items():
        wh.create_view(name, sql, policy="strict")
    for before, after in pairwise(states):
        advance(rng, wh, tables, before, after)
        wh.refresh()
    for name, sql in GROUPS[group].items():
        verified = wh.verify(name)
        assert verified.ok, f"{name}: {sql}\nmissing {verified.missing}\nextra {verified.extra}"
    wh.close()


def test_collections(spark: SparkSession, tmp_path: Path) -> None:
    wh = rollview.open(tmp_path)
    wh.create_table("boxes", "id INT, xs ARRAY<INT>, st STRUCT<a: INT, b: STRING>, m MAP<STRING, INT>", key=["id"])
    with wh.transaction() as tx:
        tx.insert("boxes", [(1, [1, 2], {"a": 1, "b": "x"}, {"k": 1}), (2, [], {"a": 2, "b": None}, {"k": 2, "l": 3})])
    for name, sql in COLLECTIONS.items():
        wh.create_view(name, sql, policy="strict")
    with wh.transaction() as tx:
        tx.insert("boxes", [(3, [2, None], None, {})])
        tx.update("boxes", set={"xs": "array(2, 3)"}, where="id = 1")
        tx.delete("boxes", where="id = 2")
    wh.refresh()
    for name in COLLECTIONS:
        assert wh.verify(name).ok, name
    wh.close()


def test_what_is_stored_beside_the_columns_must_be_storable(spark: SparkSession, tmp_path: Path) -> None:
    """The groups are told apart by intervals, which no table stores."""
    wh = rollview.open(tmp_path)
    wh.create_table("r", "id INT, a INT, b INT", key=["id"])
    ages = "SELECT a, timestamp_seconds(b) - timestamp_seconds(id) AS age FROM r"
    sql = f"SELECT a, COUNT(*) AS n FROM ({ages}) GROUP BY a, age"
    with pytest.raises(rollview.RecomputeRefused, match="RV-COLUMN-TYPE"):
        wh.create_view("v", sql, policy="strict")
    assert wh.create_view("v", sql).reason == "RV-COLUMN-TYPE"
    with wh.transaction() as tx:
        tx.insert("r", [(1, 1, 2), (2, 1, 3), (3, 1, 3)])
    assert wh.refresh("v").reason == "RV-COLUMN-TYPE"
    assert sorted(tuple(row) for row in wh.table("v").collect()) == [(1, 1), (1, 2)]
    wh.close()


def test_a_function_that_the_user_vouches_for(spark: SparkSession, tmp_path: Path) -> None:
    wh = rollview.open(tmp_path)
    wh.create_table("r", "id INT", key=["id"])
    wh.spark.udf.register("twice", lambda x: None if x is None else 2 * x, "int")
    with pytest.raises(rollview.UnsupportedView):
        wh.create_view("v", "SELECT id, twice(id) AS d FROM r")
    wh.trust_function("twice")
    wh.create_view("v", "SELECT id, twice(id) AS d FROM r", policy="strict")
    with wh.transaction() as tx:
        tx.insert("r", [(1,), (2,)])
    wh.refresh("v")
    assert {tuple(row) for row in wh.table("v").collect()} == {(1, 2), (2, 4)}
    wh.close()


def test_not_in_stays_a_hash_join(spark: SparkSession) -> None:
    """Spark knows it by the form of its predicate; in other words it would be a nested loop."""
    tables = {
        name: BaseTable(name, (Column("a", "bigint"), Column("b", "bigint"))) for name in ("not_in_l", "not_in_r")
    }
    for name in tables:
        spark.range(9).selectExpr("nullif(id, 1) AS a", "nullif(id, 2) AS b").createOrReplaceTempView(name)
    view = Subject.of("SELECT * FROM not_in_l WHERE a NOT IN (SELECT b FROM not_in_r)", tables).view
    text = emit.sql(emit.emit(view.definition, lambda scan: emit.table(scan.table)))
    (plan,) = spark.sql(f"EXPLAIN {text}").first() or ("",)
    assert "BroadcastHashJoin" in plan
    assert "BroadcastNestedLoopJoin" not in plan


VARIANTS = {
    "path_into_a_variant": "SELECT id, v:a.b[0], v:a.b[1]::INT AS second, CAST(v:c AS STRING) FROM notes",
    "path_in_a_condition": (
        "SELECT v:c::STRING AS c, COUNT(*) AS n FROM notes WHERE v:c IS NOT NULL GROUP BY v:c::STRING"
    ),
}


@pytest.fixture
def forms(spark: SparkSession, tmp_path: Path) -> Iterator[rollview.Warehouse]:
    wh = rollview.open(tmp_path)
    create_tables(wh, FORM_TABLES)
    advance(Random(1), wh, FORM_TABLES, {}, FORM_STATES[0])
    yield wh
    wh.close()


def test_forms_mean_what_they_mean_to_spark(forms: rollview.Warehouse) -> None:
    """Also the names of their columns."""
    views = dict(zip((f"v{n}" for n in range(len(SAID_PLAINLY))), SAID_PLAINLY, strict=True))
    for name, sql in views.items():
        forms.create_view(name, sql, policy="strict")
        assert forms.table(name).columns == forms.sql(sql).columns, sql
    for before, after in pairwise(FORM_STATES):
        advance(Random(1), forms, FORM_TABLES, before, after)
        forms.refresh()
        for name, sql in views.items():
            assert forms.verify(name).ok, sql


def test_paths_into_variants(spark: SparkSession, tmp_path: Path) -> None:
    wh = rollview.open(tmp_path)
    wh.create_table("texts", "id INT, j STRING", key=["id"])
    queries = {name: f"WITH notes AS (SELECT id, parse_json(j) AS v FROM texts) {q}" for name, q in VARIANTS.items()}
    with wh.transaction() as tx:
        tx.insert("texts", [(1, '{"a": {"b": [1, 2]}, "c": "x"}'), (2, '{"c": "y"}')])
    for name, sql in queries.items():
        wh.create_view(name, sql.replace("v:a.b[0]", "v:a.b[0]::STRING"), policy="strict")
    with wh.transaction() as tx:
        tx.update("texts", set={"j": """\'{"a": {"b": [3, 4]}, "c": "x"}\'"""}, where="id = 2")
        tx.insert("texts", [(3, None), (4, '{"a": {"b": []}}')])
    wh.refresh()
    for name in queries:
        assert wh.verify(name).ok, name
    wh.close()


TIME_WINDOWS = {
    "tumbling": "SELECT window.start, window.end, COUNT(*) AS n FROM clicks GROUP BY window(at, '10 minutes')",
    "sliding": (
        "SELECT window(at, '10 minutes', '4 minutes', '1 minute') AS w, who, SUM(n) AS n FROM clicks GROUP BY w, who"
    ),
    "by_itself": "SELECT id, window(at, '1 hour'), window(at, '1 hour').start AS hour FROM clicks WHERE n > 0",
    "of_dates": "SELECT window(CAST(at AS DATE), '2 days') AS days, MAX(n) AS most FROM clicks GROUP BY 1",
    "without_zone": "SELECT window(local, '1 day', '12 hours') AS w, COUNT(*) AS c FROM clicks GROUP BY ALL",
    "last_moment": (
        "SELECT window_time(window) AS t, n FROM (SELECT window, SUM(n) AS n FROM clicks "
        "GROUP BY window(at, '15 minutes')) WHERE n > 1"
    ),
    "windows_of_windows": (
        "SELECT window(t, '1 day').start AS day, MAX(n) AS most FROM (SELECT window_time(window) AS t, n FROM "
        "(SELECT window, COUNT(*) AS n FROM clicks GROUP BY window(at, '15 minutes'))) GROUP BY window(t, '1 day')"
    ),
    "sessions": "SELECT who, session_window.start, session_window.end, COUNT(*) AS n, SUM(n) AS total FROM clicks "
    "GROUP BY who, session_window(at, '10 minutes')",
    "sessions_of_all": "SELECT session_window(at, '5 minutes') AS s, COUNT(*) AS n FROM clicks GROUP BY 1",
    "sessions_of_several_lengths": (
        "SELECT who, session_window, MIN(id) AS least FROM clicks "
        "GROUP BY session_window(at, CASE WHEN n = 1 THEN '1 minute' WHEN n = 2 THEN '0 minutes' "
        "ELSE '20 minutes' END), who HAVING session_window.end > TIMESTAMP'2020-01-01 00:05:00'"
    ),
    "sessions_without_zone": (
        "SELECT session_window(local, '3 hours').start AS s, COUNT(*) AS n FROM clicks "
        "WHERE n IS NOT NULL GROUP BY session_window(local, '3 hours')"
    ),
}


def clicks(rng: Random, ids: Iterable[int]) -> list[tuple[int, str | None, datetime | None, datetime, int | None]]:
    """Many at the same moment, or exactly as far apart as a gap is."""
    start = datetime(2020, 1, 1, tzinfo=UTC)
    return [
        (
            i,
            rng.choice(("ann", "bob", None)),
            rng.choice((None, *[start + timedelta(minutes=5 * rng.randrange(30))] * 9)),
            (start + timedelta(hours=rng.randrange(60))).replace(tzinfo=None),
            rng.choice((None, 1, 2, 3)),
        )
        for i in ids
    ]


def test_time_windows(spark: SparkSession, tmp_path: Path) -> None:
    rng = Random(3)
    wh = rollview.open(tmp_path)
    wh.create_table("clicks", "id INT, who STRING, at TIMESTAMP, local TIMESTAMP_NTZ, n INT", key=["id"])
    with wh.transaction() as tx:
        tx.insert("clicks", clicks(rng, range(40)))
    for name, sql in TIME_WINDOWS.items():
        wh.create_view(name, sql, policy="strict")
        assert wh.table(name).schema.simpleString() == wh.sql(sql).schema.simpleString(), sql
        assert wh.verify(name).ok, name
    for step in range(4):
        with wh.transaction() as tx:
            tx.insert("clicks", clicks(rng, range(40 + 5 * step, 45 + 5 * step)))
            tx.upsert("clicks", clicks(rng, rng.sample(range(40), 5)))
            tx.delete("clicks", where=f"id % 9 = {step}")
        wh.refresh()
        for name in TIME_WINDOWS:
            found = wh.verify(name)
            assert found.ok, f"{name}\nmissing {found.missing}\nextra {found.extra}"
    wh.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, a FROM r QUALIFY row_number() OVER (ORDER BY a, id) <= 2",
        "SELECT id, a FROM r WHERE a >= ALL (SELECT a FROM r)",
    ],
    ids=["qualify", "quantified"],
)
def test_what_spark_cannot_read_is_read_at_any_tick(spark: SparkSession, tmp_path: Path, sql: str) -> None:
    """Also between two refreshes, where only the tables tell what the view was, and by views above."""
    wh = rollview.open(tmp_path)
    wh.create_table("r", "id INT, a INT", key=["id"])
    wh.create_view("v", sql)
    wh.create_view("above", "SELECT COUNT(*) AS n, MAX(a) AS most FROM v")
    expected = {}
    for step in range(1, 4):
        with wh.transaction() as tx:
            tx.insert("r", [(10 * step + i, step * i % 7) for i in range(4)])
        expected[tx.tick] = sorted(map(tuple, wh.snapshot(tx.tick).table("v").collect()))
    wh.refresh()
    for tick, rows in expected.items():
        assert sorted(map(tuple, wh.table("v", at=tick).collect())) == rows
        assert wh.table("above", at=tick).collect()[0].n == len(rows)
    assert expected[tick] == sorted(map(tuple, wh.table("v").collect())) and rows
    assert wh.verify("v").ok and wh.verify("above").ok
    wh.close()

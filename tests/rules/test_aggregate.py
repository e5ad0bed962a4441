"""□γ(R) = γ over ΔR with signs, at the top of a view; Δγ(R) by affected groups, below it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.law import Subject, check_delta, check_history, rows_of
from tests.rules.tables import BAGS, R, by_name, scalar, scan, table
from tests.steps import Step, rows

from rollview.algebra.relation import Aggregate, Filter, Function, Measure, Scan, State
from rollview.algebra.walking import walk
from rollview.plan.rederive import settled
from rollview.plan.stages import CHANGED, EXTENT, SUSPECT

STATES = [
    rows(r=[(1, 5), (1, 5), (1, None), (2, None), (None, 3)], s=[(1, 10), (2, 20), (2, None)]),
    rows(r=[(1, 5), (2, None), (2, 7), (None, None)], s=[(1, 10), (3, 20), (None, 1)]),
    rows(r=[(2, None), (3, 1)], s=[(1, 11)]),
    rows(r=[], s=[]),
    rows(r=[(1, 1)], s=[(1, 1), (1, 1)]),
]


@pytest.mark.parametrize(
    "measures",
    [
        "COUNT(*) AS n",
        "COUNT(b) AS n",
        "SUM(b) AS t",
        "AVG(b) AS v",
        "SUM(b) AS t, COUNT(b) AS n, AVG(b) AS v, COUNT(*) AS rows",
        "SUM(b) AS t, SUM(b) AS again, SUM(b + 0) AS other",
        "SUM(b) FILTER (WHERE b > 4) AS t, COUNT(*) FILTER (WHERE b IS NULL) AS n",
        "AVG(b) FILTER (WHERE a = 1) AS v",
        "COUNT(a, b) AS both",
        "COUNT(1) AS n, SUM(1) AS t, SUM(2) AS u, AVG(3) AS v, COUNT(NULL) AS none",
        "SUM(CASE WHEN b > 4 THEN 1 ELSE 0 END) AS big",
        "SUM(CAST(NULL AS INT)) AS nothing",
        "SUM(b) + COUNT(*) AS x, 10 * SUM(b) AS y",
        "1 AS one, COUNT(*) AS n",
    ],
)
@pytest.mark.parametrize(
    "grouping",
    [
        "",
        "GROUP BY a",
        "GROUP BY a, b",
        "GROUP BY a, a",
        "GROUP BY a + 1",
        "GROUP BY a, 'constant'",
        "GROUP BY b IS NULL, a",
        "GROUP BY CASE WHEN a > 1 THEN 1 END",
        "GROUP BY a = b",
    ],
)
def test_change_tables(measures: str, grouping: str) -> None:
    """NULL groups, empty groups, groups that empty and come back; SUM of only NULLs is NULL."""
    check_history(f"SELECT {measures} FROM r {grouping}", BAGS, STATES)


def test_the_sum_of_only_nulls_is_null() -> None:
    subject = Subject.of("SELECT a, SUM(b) AS t, AVG(b) AS v, COUNT(b) AS n FROM r GROUP BY a", BAGS)
    before, after = rows(r=[(1, 5), (1, None)], s=[]), rows(r=[(1, None)], s=[])
    stored = subject.stored(Step(BAGS, before, before))
    step = Step(BAGS, before, after)
    assert subject.read(step, subject.advance(step, stored, foreign_keys=True)) == {(1, None, None, 0): 1}


def test_an_emptied_group_disappears() -> None:
    subject = Subject.of("SELECT a, COUNT(b) AS n FROM r GROUP BY a", BAGS)
    before, after = rows(r=[(1, None), (2, 2)], s=[]), rows(r=[(2, 2)], s=[])
    step = Step(BAGS, before, after)
    stored = subject.stored(Step(BAGS, before, before))
    assert subject.read(step, subject.advance(step, stored, foreign_keys=True)) == {(2, 1): 1}


def test_a_group_whose_count_of_values_is_zero_stays() -> None:
    """Support is the count of rows, not of values."""
    check_history(
        "SELECT a, COUNT(b) AS n FROM r GROUP BY a", BAGS, [rows(r=[(1, 2)], s=[]), rows(r=[(1, None)], s=[])]
    )


def test_a_global_aggregate_over_no_rows_is_one_row() -> None:
    subject = Subject.of("SELECT COUNT(*) AS n, SUM(b) AS t, AVG(b) AS v FROM r", BAGS)
    before, after = rows(r=[(1, 1)], s=[]), rows(r=[], s=[])
    step = Step(BAGS, before, after)
    stored = subject.stored(Step(BAGS, before, before))
    assert subject.read(step, subject.advance(step, stored, foreign_keys=True)) == {(0, None, None): 1}


def test_a_group_without_keys_is_global() -> None:
    """Spark: GROUP BY ALL over nothing but aggregates is no grouping at all."""
    subject = check_history("SELECT COUNT(*) AS n FROM r GROUP BY ALL", BAGS, STATES)
    assert subject.view.extent.aggregate is not None
    assert not subject.view.extent.aggregate.grouped


def test_a_constant_group_is_a_group() -> None:
    """Over no rows it has no row, unlike a global aggregate."""
    subject = check_history("SELECT 'all' AS k, COUNT(*) AS n FROM r GROUP BY 'all'", BAGS, STATES)
    empty = Step(BAGS, STATES[3], STATES[3])
    assert not subject.meant(empty)


def test_changes_that_cancel_leave_no_row_in_the_change_table() -> None:
    before, after = rows(r=[(1, 2), (1, 3), (2, 9)], s=[]), rows(r=[(1, 3), (1, 2), (2, 8)], s=[])
    subject = Subject.of("SELECT a, SUM(b) AS t, COUNT(*) AS n FROM r GROUP BY a", BAGS)
    step = Step(BAGS, before, after)
    plan = subject.maintenance(step, foreign_keys=True)
    assert plan.change is not None
    assert [row[0] for row in rows_of(plan.change, step)] == [2]


@pytest.mark.parametrize(
    "having",
    [
        "COUNT(*) > 1",
        "SUM(b) > 5",
        "SUM(b) IS NULL",
        "a > 1 AND COUNT(b) = 0",
        "AVG(b) >= 5 OR a IS NULL",
        "n = 1",
        "TRUE",
    ],
)
def test_having(having: str) -> None:
    """HAVING is the reader's: the states of groups that it hides are kept all the same."""
    check_history(f"SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING {having}", BAGS, STATES)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM r HAVING COUNT(*) > 2",
        "SELECT SUM(b) AS t FROM r HAVING SUM(b) IS NULL",
        "SELECT 1 AS one FROM r HAVING TRUE",
        "SELECT 1 AS one FROM r HAVING COUNT(b) = 0",
        "SELECT 7 AS seven FROM (SELECT COUNT(*) AS n FROM r) x",
        "SELECT n FROM (SELECT COUNT(*) AS n, SUM(b) AS t FROM r) x WHERE t > 3",
    ],
)
def test_global_aggregates_with_having(sql: str) -> None:
    check_history(sql, BAGS, STATES)


@pytest.mark.parametrize(
    "node",
    [
        Aggregate(
            scan(R), (("k", scalar("r_a")),), (Measure("n", Function.COUNT), Measure("t", Function.SUM, scalar("r_b")))
        ),
        Aggregate(scan(R), (("k", scalar("r_a + 1")), ("l", scalar("r_b"))), ()),
        Aggregate(scan(R), (("k", scalar("r_a = r_b")),), (Measure("v", Function.AVG, scalar("r_b")),)),
        Aggregate(
            scan(R), (), (Measure("n", Function.COUNT), Measure("t", Function.SUM, scalar("r_b"))), grouped=False
        ),
    ],
)
def test_affected_groups(node: Aggregate) -> None:
    for before in STATES:
        for after in STATES:
            check_delta(node, Step(BAGS, before, after))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT s.c, x.n FROM s JOIN (SELECT a, COUNT(*) AS n FROM r GROUP BY a) x ON s.b = x.a",
        "SELECT s.c, x.n FROM s JOIN (SELECT a, COUNT(*) AS n FROM r GROUP BY a) x ON s.b = x.n",
        "SELECT n, COUNT(*) AS groups FROM (SELECT a, COUNT(*) AS n FROM r GROUP BY a) x GROUP BY n",
        "SELECT a, n FROM (SELECT a, COUNT(*) AS n FROM r GROUP BY a) x WHERE n > 1 AND a IS NOT NULL",
        "SELECT s.b, x.n, x.t FROM s CROSS JOIN (SELECT COUNT(*) AS n, SUM(b) AS t FROM r) x",
        "SELECT x.n, y.t FROM (SELECT COUNT(*) AS n FROM r) x CROSS JOIN (SELECT SUM(c) AS t FROM s) y",
        "SELECT a, COUNT(*) AS n FROM r GROUP BY a UNION ALL SELECT b, SUM(c) FROM s GROUP BY b",
        "SELECT AVG(n) AS v FROM (SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING COUNT(*) > 1) x",
        "SELECT p.a, q.n FROM r p JOIN (SELECT a, COUNT(*) AS n FROM r GROUP BY a) q ON p.a = q.a",
        "SELECT k, SUM(n) AS t FROM (SELECT a AS k, b, COUNT(*) AS n FROM r GROUP BY a, b) x GROUP BY k "
        "HAVING SUM(n) > 1",
    ],
)
def test_aggregates_below_other_operators(sql: str) -> None:
    check_history(sql, BAGS, STATES)


MERGED = [
    "SELECT k, SUM(t) AS t FROM (SELECT a AS k, b, SUM(b) AS t FROM r GROUP BY a, b) x GROUP BY k",
    "SELECT SUM(n) AS n FROM (SELECT a, COUNT(*) AS n FROM r GROUP BY a) x",
    "SELECT SUM(n) AS n FROM (SELECT a, COUNT(b) AS n FROM r GROUP BY a) x",
    "SELECT s.c, SUM(x.t) AS t FROM s JOIN (SELECT a, SUM(b) AS t FROM r GROUP BY a) x ON s.b = x.a GROUP BY s.c",
    "SELECT x.a + 1 AS k, SUM(x.n) AS n FROM s JOIN (SELECT a, COUNT(*) AS n FROM r GROUP BY a) x "
    "ON s.b = x.a AND x.a > 1 GROUP BY x.a + 1",
    "SELECT x.a FROM (SELECT a, COUNT(*) AS n FROM r GROUP BY a) x GROUP BY x.a",
    "SELECT k, SUM(t) AS t FROM (SELECT k, l, SUM(t) AS t FROM (SELECT a AS k, b AS l, a + b AS m, SUM(b) AS t FROM r "
    "GROUP BY a, b, a + b) x GROUP BY k, l) y GROUP BY k",
]
KEPT_APART = [
    "SELECT COUNT(*) AS n FROM (SELECT a, SUM(b) AS t FROM r GROUP BY a) x",
    "SELECT SUM(t + 1) AS t FROM (SELECT a, SUM(b) AS t FROM r GROUP BY a) x",
    "SELECT AVG(t) AS v FROM (SELECT a, SUM(b) AS t FROM r GROUP BY a) x",
    "SELECT SUM(v) AS t FROM (SELECT a, AVG(b) AS v FROM r GROUP BY a) x",
    "SELECT t, SUM(t) AS tt FROM (SELECT a, SUM(b) AS t FROM r GROUP BY a) x GROUP BY t",
    "SELECT SUM(t) AS tt FROM (SELECT a, SUM(b) AS t FROM r GROUP BY a) x WHERE t > 4",
    "SELECT SUM(t) AS tt FROM (SELECT SUM(b) AS t FROM r) x",
    "SELECT SUM(x.t) AS p, SUM(y.t) AS q FROM (SELECT a, SUM(b) AS t FROM r GROUP BY a) x "
    "JOIN (SELECT b, SUM(c) AS t FROM s GROUP BY b) y ON x.a = y.b",
    "SELECT SUM(x.t) AS p, SUM(s.c) AS q FROM (SELECT a, SUM(b) AS t FROM r GROUP BY a) x JOIN s ON x.a = s.b",
]


@pytest.mark.parametrize("sql", MERGED)
def test_sums_of_sums_are_merged(sql: str) -> None:
    """One sum over the rows: the change never re-derives a group."""
    subject = check_history(sql, BAGS, STATES)
    aggregate = subject.view.extent.aggregate
    assert aggregate is not None
    plan = subject.maintenance(Step(BAGS, STATES[0], STATES[1]), foreign_keys=True)
    assert {s.at for s in plan.scans if s.table == "r"} <= {State.DELTA, State.AFTER, State.BEFORE}
    assert not any(isinstance(n, Aggregate) for n in inner(aggregate))


@pytest.mark.parametrize("sql", KEPT_APART)
def test_other_aggregates_of_aggregates_are_kept_apart(sql: str) -> None:
    subject = check_history(sql, BAGS, STATES)
    assert subject.view.extent.aggregate is not None
    assert any(isinstance(n, Aggregate) for n in inner(subject.view.extent.aggregate))


def inner(node: Aggregate) -> list[object]:
    return list(walk(node.source))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING a > 1",
        "SELECT a, n FROM (SELECT a, SUM(b) AS n FROM r GROUP BY a) x WHERE a > 1",
        "SELECT s.c, x.n FROM s JOIN (SELECT a, MIN(b) AS n FROM r GROUP BY a) x ON s.b = x.n AND x.a > 1",
    ],
)
def test_a_selection_on_a_group_key_goes_below(sql: str) -> None:
    subject = check_history(sql, BAGS, STATES)
    selected = [n.source for n in walk(subject.view.definition) if isinstance(n, Filter)]
    assert any(isinstance(n, Scan) and n.table == "r" for n in selected)
    assert not any(isinstance(n, Aggregate) for n in selected)


def test_below_the_top_a_sum_is_looked_up_once_and_an_extreme_twice() -> None:
    step = Step(BAGS, STATES[0], STATES[1])
    for function, states in (("SUM", {State.AFTER}), ("AVG", {State.AFTER}), ("MAX", {State.BEFORE, State.AFTER})):
        sql = f"SELECT v, COUNT(*) AS n FROM (SELECT a, {function}(b) AS v FROM r GROUP BY a) x GROUP BY v"
        for naive in (False, True):
            plan = Subject.of(sql, BAGS).maintenance(step, foreign_keys=not naive)
            wanted = states if not naive else {State.BEFORE, State.AFTER}
            assert {s.at for s in plan.scans} - {State.DELTA} == wanted, (function, naive)


def test_only_groups_that_lose_their_extreme_are_suspect() -> None:
    """Group 1 loses its minimum, 2 another value, 3 its minimum but gains a lower one, 4 everything; 5 is new."""
    before = rows(r=[(1, 1), (1, 7), (2, 1), (2, 9), (3, 4), (3, 5), (4, 2)], s=[])
    after = rows(r=[(1, 7), (2, 1), (3, 3), (3, 5), (5, 5)], s=[])
    subject = Subject.of("SELECT a, MIN(b) AS m, SUM(b) AS t FROM r GROUP BY a", BAGS)
    step = Step(BAGS, before, after)
    plan = subject.maintenance(step, foreign_keys=True)
    assert plan.change is not None
    bound = {
        EXTENT: (subject.view.extent.columns, subject.stored(Step(BAGS, before, before))),
        CHANGED: (plan.change.names, rows_of(plan.change, step)),
    }
    found = settled(subject.view.extent)
    place = found.names.index(SUSPECT)
    assert [row[0] for row in rows_of(found, step, bound) if row[place]] == [1]
    assert {s.at for s in plan.scans} == {State.DELTA}


def test_decimals_stay_exact() -> None:
    tables = by_name(table("pay", "who string, amount decimal(10,2)"))
    cents = [Decimal("0.10"), Decimal("0.20"), Decimal("1234567.89"), None]
    before = rows(pay=[("a", c) for c in cents] * 3)
    after = rows(pay=[("a", Decimal("0.30")), ("b", Decimal("-0.10"))])
    check_history(
        "SELECT who, SUM(amount) AS t, AVG(amount) AS v FROM pay GROUP BY who", tables, [before, after, before]
    )


def test_a_column_shown_twice_and_a_key_not_shown() -> None:
    check_history("SELECT a AS k, a AS again, COUNT(*) AS n, COUNT(*) AS m FROM r GROUP BY a, b", BAGS, STATES)

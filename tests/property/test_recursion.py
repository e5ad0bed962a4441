"""WITH RECURSIVE: each by interpreter, and by DuckDB on the user's own text."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.duck import check_on_duckdb
from tests.law import Subject
from tests.property.cases import check_states
from tests.property.random_tables import PARENTS_FIRST, history
from tests.pure_typer import PureTyper
from tests.steps import Step, rows

from rollview.algebra.interpreter import RecursionLimit
from rollview.algebra.relation import Recursion, State
from rollview.algebra.walking import walk
from rollview.errors import RollviewError
from rollview.plan.compile import compile_view
from rollview.plan.maintain import maintain
from rollview.rules.dispatch import Shape

if TYPE_CHECKING:
    from rollview.algebra.relation import Scan

TABLES = {t.name: t for t in PARENTS_FIRST}
STAFF = (
    "WITH RECURSIVE h(id, z, lvl) AS (SELECT id, z, 1 FROM e WHERE boss IS NULL "
    "UNION ALL SELECT e.id, e.z, h.lvl + 1 FROM e JOIN h ON e.boss = h.id WHERE h.lvl < 4) "
)
LINEAR = {
    "rows": f"{STAFF}SELECT id, z, lvl FROM h",
    "some_columns": f"{STAFF}SELECT z FROM h WHERE lvl > 1",
    "groups": f"{STAFF}SELECT lvl, COUNT(*) AS n, SUM(z) AS s FROM h GROUP BY lvl",
    "joined": f"{STAFF}SELECT h.lvl, s.c FROM h JOIN s ON s.r_id = h.id",
    "with_itself": f"{STAFF}SELECT a.id, b.lvl FROM h a JOIN h b ON a.z = b.id",
    "looked_for": f"{STAFF}SELECT r.id FROM r WHERE NOT EXISTS (SELECT 1 FROM h WHERE h.id = r.a)",
    "first_rows": f"{STAFF}SELECT id, lvl FROM h ORDER BY lvl DESC, id LIMIT 2",
    "from_everybody": (
        "WITH RECURSIVE up(id, boss, n) AS (SELECT id, boss, 0 FROM e "
        "UNION ALL SELECT up.id, e.boss, n + 1 FROM up JOIN e ON up.boss = e.id WHERE n < 3) SELECT id, boss, n FROM up"
    ),
    "two_tables": (
        "WITH RECURSIVE o(k, n) AS (SELECT a, 0 FROM r UNION ALL SELECT s.c, n + 1 FROM o JOIN s ON s.r_id = o.k "
        "JOIN u ON u.x = s.c WHERE n < 3) SELECT k, n FROM o"
    ),
    "semi_join": (
        "WITH RECURSIVE o(k, n) AS (SELECT a, 0 FROM r UNION ALL SELECT e.z, n + 1 FROM o JOIN e ON e.boss = o.k "
        "WHERE n < 3 AND EXISTS (SELECT 1 FROM u WHERE u.x = e.z)) SELECT k, n FROM o"
    ),
    "anti_join": (
        "WITH RECURSIVE o(k, n) AS (SELECT a, 0 FROM r UNION ALL SELECT e.z, n + 1 FROM o JOIN e ON e.boss = o.k "
        "WHERE n < 3 AND NOT EXISTS (SELECT 1 FROM u WHERE u.x = o.k)) SELECT k, n FROM o"
    ),
    "mark": (
        "WITH RECURSIVE o(k, n) AS (SELECT a, 0 FROM r UNION ALL SELECT e.z, n + 1 FROM o JOIN e ON e.boss = o.k "
        "WHERE n < 3 AND (e.z > 1 OR EXISTS (SELECT 1 FROM u WHERE u.x = o.k))) SELECT k, n FROM o"
    ),
    "outer_join": (
        "WITH RECURSIVE o(k, n) AS (SELECT a, 0 FROM r UNION ALL SELECT e.z, n + 1 FROM o LEFT JOIN e ON e.boss = o.k "
        "WHERE n < 3) SELECT k, n FROM o"
    ),
    "outer_join_on_the_right": (
        "WITH RECURSIVE o(k, n) AS (SELECT a, 0 FROM r UNION ALL SELECT e.z, n + 1 FROM e RIGHT JOIN o ON e.boss = o.k "
        "WHERE n < 3) SELECT k, n FROM o"
    ),
    "groups_looked_up": (
        "WITH RECURSIVE o(k, n) AS (SELECT a, 0 FROM r UNION ALL SELECT q.m, n + 1 FROM o "
        "JOIN (SELECT boss, MAX(z) AS m FROM e GROUP BY boss) q ON q.boss = o.k WHERE n < 3) SELECT k, n FROM o"
    ),
    "groups_first": (
        "WITH RECURSIVE o(k, n) AS (SELECT MAX(a), COUNT(*) FROM r GROUP BY b "
        "UNION ALL SELECT e.z, n + 1 FROM o JOIN e ON e.boss = o.k WHERE n < 4) SELECT k, n FROM o"
    ),
    "both_ways": (
        "WITH RECURSIVE o(k, n) AS (SELECT a, 0 FROM r UNION ALL (SELECT e.id, n + 1 FROM o JOIN e ON e.boss = o.k "
        "WHERE n < 2 UNION ALL SELECT e.boss, n + 1 FROM e JOIN o ON e.id = o.k WHERE n < 2)) SELECT k, n FROM o"
    ),
    "distinct_above": f"{STAFF}SELECT DISTINCT z FROM h",
    "another_inside": (
        "WITH RECURSIVE o(k, n) AS (SELECT a, 0 FROM r UNION ALL SELECT e.z, n + 1 FROM o JOIN e ON e.boss = o.k "
        "WHERE n < 2), q(k, n) AS (SELECT k, n FROM o UNION ALL SELECT s.c, n + 1 FROM q JOIN s ON s.r_id = q.k "
        "WHERE n < 4) SELECT k, n FROM q"
    ),
    "in_from": f"SELECT q.n, r.a FROM ({STAFF}SELECT z, COUNT(*) AS n FROM h GROUP BY z) q JOIN r ON r.id = q.z",
    "numbers": (
        "WITH RECURSIVE t(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM t WHERE n < 3) "
        "SELECT n, COUNT(r.id) AS c FROM t LEFT JOIN r ON r.a = n GROUP BY n"
    ),
    "not_recursive": "WITH RECURSIVE q AS (SELECT a FROM r UNION ALL SELECT c FROM s) SELECT a FROM q",
}
SINGULAR = {
    "a_round_with_itself": (
        "WITH RECURSIVE o(k, n) AS (SELECT a, 0 FROM r UNION ALL SELECT e.z, x.n + 1 FROM o x JOIN o y ON x.k = y.k "
        "JOIN e ON e.boss = x.k WHERE x.n < 2) SELECT k, n FROM o"
    ),
    "a_step_of_two": (
        "WITH RECURSIVE o(k, n) AS (SELECT a, 0 FROM r UNION ALL (SELECT s.c, n + 1 FROM o JOIN s ON s.r_id = o.k "
        "WHERE n < 2 UNION ALL SELECT x, 9 FROM u WHERE x > 99)) SELECT k, n FROM o"
    ),
}
VIEWS = {**LINEAR, **SINGULAR}


def histories() -> list[list[object]]:
    rng = Random(11)
    return [history(rng, 4) for _ in range(6)]


@pytest.mark.parametrize("sql", VIEWS.values(), ids=VIEWS)
def test_interpreted(sql: str) -> None:
    subject = Subject.of(sql, TABLES)
    for states in histories():
        check_states(subject, states)


@pytest.mark.long
@pytest.mark.parametrize("sql", VIEWS.values(), ids=VIEWS)
def test_on_duckdb(sql: str) -> None:
    subject = Subject.of(sql, TABLES)
    for states in histories()[:2]:
        check_on_duckdb(subject, states, [*pairwise(range(4)), (0, 3)], interpreted=True)


@pytest.mark.parametrize("sql", VIEWS.values(), ids=VIEWS)
def test_what_is_singular_is_said(sql: str) -> None:
    assert ("RV-RECURSION-WHOLE" in Subject.of(sql, TABLES).view.notes) is (sql in SINGULAR.values())


def read(sql: str) -> set[Scan]:
    """The states that the change of a view reads when e changes, its own rows among them."""
    plan = maintain(Subject.of(sql, TABLES).view, {"e": Shape()}, TABLES, own="itself")
    return {s for s in plan.scans if not s.at.signed}


def test_the_change_begins_with_the_rows_that_are_stored() -> None:
    found = read(LINEAR["rows"])
    assert {(s.table, s.at) for s in found} == {("itself", State.BEFORE), ("e", State.AFTER)}
    before = next(s for s in found if s.table == "itself")
    assert [column for column, _ in before.columns] == ["id", "z", "lvl"]


def test_only_all_of_its_rows_are_stored_rows() -> None:
    assert "itself" not in {s.table for s in read(LINEAR["some_columns"])}


def test_rows_of_a_change_have_the_types_of_the_recursion() -> None:
    view = Subject.of(LINEAR["rows"], TABLES).view
    change = maintain(view, {"e": Shape()}, TABLES).change
    assert change is not None
    assert [type_ for _, type_ in PureTyper(TABLES).types(change).items()] == ["int", "int", "int", "bigint"]
    rounds = [n for n in walk(change) if isinstance(n, Recursion)]
    assert all(PureTyper(TABLES).types(n.step).values() for n in rounds)


BARE = (
    "WITH RECURSIVE h AS (SELECT id FROM e WHERE boss IS NULL UNION ALL SELECT e.id FROM e JOIN h ON e.boss = h.id) "
    "SELECT id FROM h"
)


def staff(*people: tuple[int, int | None, int]) -> dict[str, object]:
    return rows(**{t: [] for t in TABLES} | {"e": list(people)})


def test_lost_rows_may_lead_into_a_cycle() -> None:
    """Both states end, but the change has no end; a refresh recomputes then (tests/spark/test_recursion)."""
    view = Subject.of(BARE, TABLES)
    before, after = staff((1, None, 0), (2, 1, 0), (3, 2, 0)), staff((1, None, 0), (2, 3, 0), (3, 2, 0))
    step = Step(TABLES, before, after)
    assert view.stored(step) == {(1,): 1}
    with pytest.raises(RecursionLimit):
        view.advance(step, view.stored(Step(TABLES, before, before)), foreign_keys=False)


def test_two_recursions_with_one_step() -> None:
    """They differ in their anchors alone, before and after; the step of neither can be said once for both."""
    sql = (
        "WITH RECURSIVE o(k, n) AS (SELECT a, 0 FROM r UNION ALL SELECT o.k, n + 1 FROM o SEMI JOIN t ON t.l = o.k "
        "WHERE n < 2) SELECT k, RANK() OVER (PARTITION BY n ORDER BY k) AS p FROM o"
    )
    before = rows(**{name: [] for name in TABLES} | {"r": [(1, 1, 0), (2, 2, 0)], "t": [(1, 1, 0), (1, 2, 0)]})
    after = {**before, "r": rows(r=[(1, 1, 0), (3, 2, 0), (4, 1, 0)])["r"]}
    check_on_duckdb(Subject.of(sql, TABLES), [before, after], [(0, 1)], interpreted=True)


def test_a_limit_of_rounds() -> None:
    chain = staff(*((i, i - 1 or None, 0) for i in range(1, 121)))
    step = Step(TABLES, chain, chain)
    with pytest.raises(RecursionLimit):
        Subject.of(BARE, TABLES).stored(step)
    more = Subject.of(BARE.replace("h AS", "h MAX RECURSION LEVEL 130 AS"), TABLES)
    assert sum(more.stored(step).values()) == 120
    grown = Step(TABLES, chain, staff(*((i, i - 1 or None, 0) for i in range(1, 123))))
    assert sum(more.advance(grown, more.stored(step), foreign_keys=True).values()) == 122


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("WITH RECURSIVE h AS (SELECT id FROM e UNION SELECT h.id FROM h) SELECT id FROM h", "RV-RECURSION-FORM"),
        ("WITH RECURSIVE h AS (SELECT id FROM h) SELECT id FROM h", "RV-RECURSION-FORM"),
        ("WITH RECURSIVE h AS (SELECT id FROM e UNION ALL SELECT id, 1 FROM h) SELECT id FROM h", "RV-UNION-COLUMNS"),
        ("WITH RECURSIVE h(a, b) AS (SELECT id FROM e UNION ALL SELECT a FROM h) SELECT a FROM h", "RV-ALIAS-COLUMNS"),
        ("WITH RECURSIVE h AS (SELECT id FROM e UNION ALL SELECT nope FROM h) SELECT id FROM h", "RV-UNKNOWN-COLUMN"),
    ],
)
def test_refused(sql: str, code: str) -> None:
    with pytest.raises(RollviewError) as caught:
        compile_view(sql, TABLES, PureTyper(TABLES))
    assert caught.value.code == code and caught.value.position is not None

"""Views with time filters, over histories in which the clock moves together with the tables or without them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.duck import check_on_duckdb
from tests.law import Subject, check_history
from tests.property.cases import batches, check_states, spans
from tests.property.random_tables import PARENTS_FIRST, declared, history
from tests.property.random_views.scope import INT
from tests.property.random_views.views import Views
from tests.rules.tables import table
from tests.steps import rows

from rollview.algebra.clock import is_time_filter
from rollview.algebra.walking import walk
from rollview.names import CLOCK

if TYPE_CHECKING:
    from tests.property.random_views.scope import Scope
    from tests.steps import Rows

CLOCK_OF_INTS = {CLOCK: table(CLOCK, "now, today")}
TABLES = {t.name: t for t in PARENTS_FIRST} | CLOCK_OF_INTS
BATCH = 25

VIEWS = {
    "a_window": "SELECT x, y FROM u WHERE x >= current_date - 1 AND x <= current_date",
    "between": "SELECT x, y FROM u WHERE x BETWEEN current_date() - 1 AND current_date AND p",
    "between_a_constant_and_the_clock": "SELECT x, y FROM u WHERE x BETWEEN 1 AND current_date",
    "the_clock_between_columns": "SELECT id, a FROM r WHERE now() BETWEEN a AND b",
    "a_column_on_both_sides": "SELECT id FROM r WHERE a + b > current_date - a",
    "a_comparison_without_columns": "SELECT id FROM r WHERE current_timestamp() > 2",
    "two_grains": "SELECT x FROM u WHERE x < curdate() AND y >= now() - 1",
    "by_key": "SELECT id, a FROM r WHERE a >= current_date",
    "an_aggregate": "SELECT y, COUNT(*) AS n, SUM(x) AS s, MIN(x) AS m FROM u WHERE x >= current_date - 1 GROUP BY y",
    "a_global_aggregate": "SELECT COUNT(*) AS n, MAX(y) AS m FROM u WHERE x < current_date",
    "an_aggregate_over_an_aggregate": (
        "SELECT n, COUNT(*) AS m FROM (SELECT y, COUNT(*) AS n FROM u WHERE x < current_date GROUP BY y) q GROUP BY n"
    ),
    "having_beside_it": "SELECT y, SUM(x) AS s FROM u WHERE x <> 2 AND x <= current_date GROUP BY y HAVING SUM(x) > 1",
    "a_value_that_the_group_determines": (
        "SELECT r.id, FIRST(r.a) AS a, COUNT(*) AS n FROM s JOIN r ON s.r_id = r.id "
        "WHERE s.c >= current_date - 1 GROUP BY r.id"
    ),
    "a_join_along_a_foreign_key": "SELECT s.id, r.a FROM s JOIN r ON s.r_id = r.id WHERE s.c >= current_date - 1",
    "on_of_an_inner_join": "SELECT s.id, r.a FROM s JOIN r ON s.r_id = r.id AND s.c >= current_date AND r.a < now()",
    "a_join_of_two_time_filters": (
        "SELECT q.id, z.a FROM (SELECT id, r_id FROM s WHERE c >= current_date) q "
        "JOIN (SELECT id, a FROM r WHERE b < current_date) z ON q.r_id = z.id WHERE a > now() - 2"
    ),
    "a_filter_of_computed_columns": "SELECT d FROM (SELECT x + y AS d FROM u) q WHERE d >= current_date",
    "a_cte_that_is_read_twice": (
        "WITH q AS (SELECT id, a, b FROM r WHERE a >= current_date) SELECT q.id, z.id AS i FROM q JOIN q z ON q.a = z.b"
    ),
    "below_a_left_join": (
        "SELECT r.id, q.c FROM r LEFT JOIN (SELECT r_id, c FROM s WHERE c >= current_date - 1) q ON q.r_id = r.id"
    ),
    "below_a_full_join": (
        "SELECT r.id, q.c FROM r FULL JOIN (SELECT r_id, c FROM s WHERE c >= current_date) q ON q.r_id = r.id"
    ),
    "above_a_left_join": "SELECT r.id, s.c FROM r LEFT JOIN s ON s.r_id = r.id WHERE r.a >= current_date - 1",
    "above_a_left_join_by_its_right_side": (
        "SELECT r.id, s.c FROM r LEFT JOIN s ON s.r_id = r.id WHERE s.c >= current_date - 1"
    ),
    "an_aggregate_over_a_left_join": (
        "SELECT r.id, COUNT(q.c) AS n FROM r LEFT JOIN (SELECT r_id, c FROM s WHERE c < now()) q ON q.r_id = r.id "
        "GROUP BY r.id"
    ),
    "exists": "SELECT id FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.r_id = r.id AND s.c >= current_date)",
    "not_exists": "SELECT id FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.r_id = r.id AND s.c >= current_date)",
    "beside_exists": (
        "SELECT id FROM r WHERE a >= current_date - 1 AND EXISTS (SELECT 1 FROM s WHERE s.r_id = r.id AND s.c > 0)"
    ),
    "not_in": "SELECT x FROM u WHERE x NOT IN (SELECT a FROM r WHERE b < current_date) AND y <= current_date",
    "a_scalar_subquery": "SELECT x, (SELECT MAX(a) FROM r WHERE b <= current_date) AS m FROM u",
    "distinct": "SELECT DISTINCT y FROM u WHERE x >= current_date - 1",
    "a_union": "SELECT x FROM u WHERE x < current_date UNION ALL SELECT a FROM r WHERE a >= current_date",
    "except_all": "SELECT x FROM u WHERE x < now() EXCEPT ALL SELECT a FROM r WHERE a < current_date",
    "a_window_function": "SELECT x, ROW_NUMBER() OVER (PARTITION BY y ORDER BY x) AS n FROM u WHERE x < current_date",
    "the_first_rows": "SELECT id, a FROM r WHERE a >= current_date - 1 ORDER BY a, id LIMIT 2",
    "lateral_view": "SELECT x, e FROM u LATERAL VIEW explode(array(x, y)) g AS e WHERE e >= current_date",
}


def moving(rng: Random, states: list[Rows]) -> list[Rows]:
    """The clock goes on, stands still, and sometimes goes back."""
    today, found = rng.randint(0, 2), []
    for state in states:
        found.append({**state, **rows(**{CLOCK: [(today + rng.randint(0, 1), today)]})})
        today += rng.choice((0, 1, 1, 2, -1))
        if rng.random() < 0.4:
            found.append({**state, **rows(**{CLOCK: [(today + 1, today)]})})
    return found


@pytest.mark.parametrize("sql", VIEWS.values(), ids=VIEWS.keys())
def test_time_filters_keep_the_law(sql: str) -> None:
    for seed in range(8):
        rng = Random(seed)
        check_history(sql, TABLES, moving(rng, history(rng, 4)))


@pytest.mark.long
@pytest.mark.parametrize("sql", VIEWS.values(), ids=VIEWS.keys())
def test_emitted_sql_keeps_the_law(sql: str) -> None:
    rng = Random(1)
    states = moving(rng, history(rng, 3))
    check_on_duckdb(Subject.of(sql, TABLES), states, spans(states), interpreted=True)


class TimelyViews(Views):
    """Random views whose WHERE clauses often have a time filter."""

    def restriction(self, scope: Scope) -> str:
        usual = super().restriction(scope)
        if not scope.of(INT) or self.chance(0.3):
            return usual
        tested = self.expression(scope, INT, 1)
        clock = self.rng.choice(("current_date", "current_date - 1", "now()", "current_timestamp() + 1"))
        sign = self.rng.choice(("=", "<", "<=", ">", ">="))
        timely = f"({tested}) {sign} {clock}" if self.chance(0.8) else f"({tested}) BETWEEN {clock} AND now()"
        return f"({usual}) AND {timely}"


@pytest.mark.parametrize("batch", batches(4 * BATCH, BATCH))
def test_random_views(batch: int) -> None:
    filtered = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        rng = Random(seed)
        tables = declared(rng)
        sql = TimelyViews(rng, tables, shared=seed % 2 == 0).view()
        states = moving(rng, history(rng, 3))
        try:
            subject = Subject.of(sql, {**tables, **CLOCK_OF_INTS})
            check_states(subject, states)
            if seed % 10 == 0:
                check_on_duckdb(subject, states, spans(states), interpreted=True)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {sql}") from error
        filtered += any(is_time_filter(n) for n in walk(subject.view.definition))
    assert filtered > BATCH / 3

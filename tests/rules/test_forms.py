"""Forms of SQL that are other operators in disguise: each keeps the law, and means what a plainer query means."""

from __future__ import annotations

import pytest
from tests.law import Subject, check_history
from tests.rules.tables import by_name, table
from tests.steps import Step, rows

from rollview.algebra.schema import BaseTable, Column

TABLES = by_name(
    table("r", "g, h, x, y"),
    BaseTable("s", (Column("id", "int"), Column("st", "struct<p:int,q:int>"), Column("g", "int")), ("id",)),
)
STATES = [
    rows(r=[(1, 1, 5, 6), (1, 1, 5, 6), (1, 2, None, 3), (None, 2, 4, None), (2, 1, None, None)], s=[(1, (1, 2), 1)]),
    rows(r=[(1, 1, 5, 6), (2, 2, 7, None), (None, 2, 4, 4), (2, 1, 3, None)], s=[(1, (3, None), 1), (2, None, None)]),
    rows(r=[(2, 1, None, 1), (2, 1, None, 1), (None, None, None, None)], s=[(2, (None, 4), 2)]),
    rows(r=[], s=[]),
]
SAID_PLAINLY = {
    "SELECT g, k, v, w FROM r UNPIVOT ((v, w) FOR k IN ((x, y) AS a, (y, x) AS b))": (
        "SELECT g, 'a' AS k, x AS v, y AS w FROM r WHERE NOT (x IS NULL AND y IS NULL) "
        "UNION ALL SELECT g, 'b', y, x FROM r WHERE NOT (x IS NULL AND y IS NULL)"
    ),
    "SELECT g, k, v, w FROM r UNPIVOT INCLUDE NULLS ((v, w) FOR k IN ((x, y), (y, x)))": (
        "SELECT g, 'x_y' AS k, x AS v, y AS w FROM r UNION ALL SELECT g, 'y_x', y, x FROM r"
    ),
    "SELECT r.g, k, v FROM r UNPIVOT ((v) FOR k IN ((x), (Y)))": (
        "SELECT g, 'x' AS k, x AS v FROM r WHERE x IS NOT NULL UNION ALL SELECT g, 'Y', y FROM r WHERE y IS NOT NULL"
    ),
    "SELECT id, k, v FROM s LEFT JOIN r ON s.g = r.g UNPIVOT (v FOR k IN (x, y))": (
        "SELECT id, 'x' AS k, x AS v FROM s JOIN r ON s.g = r.g WHERE x IS NOT NULL "
        "UNION ALL SELECT id, 'y', y FROM s JOIN r ON s.g = r.g WHERE y IS NOT NULL"
    ),
    "SELECT * FROM r PIVOT (SUM(x) FOR (g, h) IN ((1, 1) AS a, (NULL, 2) AS b))": (
        "SELECT y, SUM(x) FILTER (WHERE g = 1 AND h = 1) AS a, SUM(x) FILTER (WHERE g IS NULL AND h = 2) AS b "
        "FROM r GROUP BY y"
    ),
    "SELECT g, `1_sum(x)` AS s1, null_n AS n0 FROM (SELECT g, h, x FROM r) "
    "PIVOT (SUM(x), COUNT(*) AS n FOR h IN (1, NULL))": (
        "SELECT g, SUM(x) FILTER (WHERE h = 1) AS s1, CASE WHEN COUNT(*) FILTER (WHERE h IS NULL) > 0 THEN "
        "COUNT(*) FILTER (WHERE h IS NULL) END AS n0 FROM r GROUP BY g"
    ),
    "SELECT * FROM (SELECT g, h, x FROM r) PIVOT (COUNT(x) FILTER (WHERE x > 4) + 1 AS n FOR h IN (1 AS a))": (
        "SELECT g, CASE WHEN COUNT(*) FILTER (WHERE h = 1) > 0 THEN COUNT(*) FILTER (WHERE h = 1 AND x > 4) "
        "+ 1 END AS a "
        "FROM r GROUP BY g"
    ),
    "SELECT * FROM (SELECT g, h, CAST(x AS STRING) AS t FROM r) PIVOT (MAX(t) AS m, COUNT(*) AS n FOR h IN (1 AS a))": (
        "SELECT g, MAX(CAST(x AS STRING)) FILTER (WHERE h = 1) AS a_m, COUNT(*) FILTER (WHERE h = 1) AS a_n "
        "FROM r GROUP BY g"
    ),
    "SELECT * FROM s JOIN (SELECT g AS g2, h, x FROM r) q ON s.g = g2 PIVOT (SUM(x) FOR h IN (1 AS a))": (
        "SELECT id, st, g, g2, SUM(x) FILTER (WHERE h = 1) AS a FROM s JOIN (SELECT g AS g2, h, x FROM r) q "
        "ON s.g = g2 "
        "GROUP BY id, st, g, g2"
    ),
    "SELECT st.* FROM (SELECT id, g FROM s) AS st": "SELECT id, g FROM s",
    "TABLE r": "SELECT * FROM r",
    "WITH q AS (TABLE r) TABLE q UNION ALL TABLE r": "SELECT * FROM r UNION ALL SELECT * FROM r",
    "SELECT id FROM s WHERE EXISTS (TABLE r)": "SELECT id FROM s WHERE EXISTS (SELECT 1 FROM r)",
    "SELECT g, e FROM r LEFT JOIN LATERAL explode(array_repeat(x, h - 1)) AS l(e) ON TRUE": (
        "SELECT g, e FROM r LATERAL VIEW OUTER explode(array_repeat(x, h - 1)) l AS e"
    ),
    "SELECT g, e FROM r LEFT JOIN LATERAL explode(array(x, y)) AS l(e) ON h > 1": (
        "SELECT g, e FROM r LATERAL VIEW OUTER explode(CASE WHEN h > 1 THEN array(x, y) END) l AS e"
    ),
    "SELECT id, g FROM s ORDER BY id LIMIT ALL": "SELECT id, g FROM s",
    "SELECT id, g FROM s ORDER BY id LIMIT 7 % (2 + 3) - 1 OFFSET CAST('1' AS INT)": (
        "SELECT id, g FROM s ORDER BY id LIMIT 1 OFFSET 1"
    ),
    "SELECT x FROM (SELECT CAST(x AS BIGINT), g FROM r)": "SELECT CAST(x AS BIGINT) AS x FROM r",
}


@pytest.mark.parametrize("sql", SAID_PLAINLY)
def test_a_form_and_what_it_means(sql: str) -> None:
    subject = check_history(sql, TABLES, STATES)
    plain = Subject.of(SAID_PLAINLY[sql], TABLES)
    assert [c.type for c in subject.view.output] == [c.type for c in plain.view.output]
    for state in STATES:
        step = Step(TABLES, state, state)
        assert subject.meant(step) == plain.meant(step)

"""What random views are made of: an operator that the generator never reaches is not tested by any number of cases."""

from __future__ import annotations

from random import Random

import pytest
from tests.law import Subject
from tests.property.cases import Case
from tests.property.long_run import depth
from tests.property.random_tables import PARENTS_FIRST
from tests.property.random_views.views import Views

TABLES = {t.name: t for t in PARENTS_FIRST}
AGGREGATES = [
    "COUNT(*)",
    "SUM(",
    "COUNT(DISTINCT ",
    "MIN(",
    "MAX(",
    "AVG(",
    "VAR_",
    "STDDEV",
    "COVAR_",
    "REGR_",
    "MEDIAN(",
]
OUTER_JOINS = [" LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ", " USING (", " NATURAL "]
SUBQUERIES = [
    " SEMI JOIN ",
    " ANTI JOIN ",
    "NOT IN (SELECT ",
    "EXISTS (",
    " JOIN LATERAL ",
    "> (SELECT ",
    "SELECT (SELECT ",
]
SETS = [" UNION SELECT ", " INTERSECT ", " INTERSECT ALL ", " EXCEPT ", " EXCEPT ALL ", "SELECT DISTINCT "]
OTHERS = [" OVER (", " QUALIFY ", " LIMIT ", " OFFSET ", " LATERAL VIEW ", "(VALUES ", " GROUPING SETS (", "GROUPING("]
ROUNDS = ["WITH RECURSIVE "]
WIDE = [*SUBQUERIES, *SETS, *OTHERS, *ROUNDS]
SPARK_S_OWN = [
    "ROLLUP (",
    "CUBE (",
    " PIVOT (",
    " UNPIVOT ",
    "COLLECT_LIST",
    "LISTAGG",
    "PERCENTILE",
    "MODE(",
    "MAX_BY(",
]
EVERYWHERE = [" WHERE ", " GROUP BY ", " HAVING ", " FILTER (", " UNION ALL ", "WITH ", *AGGREGATES, *OUTER_JOINS]


def texts(**options: bool) -> list[str]:
    return [Views(Random(seed), TABLES, **options).view() for seed in range(600)]


@pytest.mark.parametrize(
    ("options", "reached", "left_out"),
    [
        ({}, [*EVERYWHERE, *WIDE, *SPARK_S_OWN], []),
        ({"shared": True}, [*EVERYWHERE, *WIDE], SPARK_S_OWN),
        ({"narrow": True}, EVERYWHERE, WIDE),
    ],
    ids=["all", "shared", "narrow"],
)
def test_every_operator_is_reached(options: dict[str, bool], reached: list[str], left_out: list[str]) -> None:
    found = texts(**options)
    assert [w for w in reached if not any(w in text for text in found)] == []
    assert [w for w in left_out if any(w in text for text in found)] == []


def test_operators_lie_six_deep() -> None:
    assert max(depth(Subject.of(c.sql, c.tables).view.definition) for c in map(Case.of, range(20))) >= 6

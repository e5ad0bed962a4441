"""Every aggregate function, at the top of a view and below it, by interpreter and, where it has it, on DuckDB."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from tests.duck import Duck, bag, check_on_duckdb
from tests.law import Subject, check_history
from tests.rules.tables import by_name, table
from tests.steps import Step, rows

TABLES = by_name(table("r", "k, x, y, p boolean"), table("s", "k, c"))
STATES = [
    rows(
        r=[
            (1, 1, 4, True),
            (1, 3, 5, False),
            (1, 3, None, None),
            (2, 7, 2, True),
            (None, 2, 2, None),
            (3, None, 1, True),
        ],
        s=[(1, 10), (2, 20), (None, 1)],
    ),
    rows(r=[(1, 3, 5, False), (1, 3, None, None), (2, None, 2, True), (2, 5, 5, False), (3, 1, 1, True)], s=[(1, 10)]),
    rows(
        r=[(1, 9, 1, True), (1, 0, 8, False), (1, 3, 5, False), (3, 1, 1, True), (3, 1, 1, True)], s=[(1, 10), (3, 2)]
    ),
    rows(r=[], s=[(1, 1)]),
    rows(r=[(1, 4, 4, True)], s=[(1, 1), (4, 4)]),
]
EVERYWHERE = {
    "min": "MIN(x)",
    "max": "MAX(x)",
    "both": "MIN(x) + MAX(y)",
    "min_filter": "MIN(x) FILTER (WHERE p)",
    "min_distinct": "MIN(DISTINCT x)",
    "min_of_booleans": "MIN(p)",
    "extremes_and_sums": "MAX(x) - MIN(x) + SUM(y) + COUNT(*)",
    "bool_and": "BOOL_AND(p)",
    "bool_or": "BOOL_OR(x > 2 OR p) FILTER (WHERE y > 1)",
    "bit_xor": "BIT_XOR(x)",
    "bit_and": "BIT_AND(x)",
    "bit_or": "BIT_OR(x)",
    "var_pop": "VAR_POP(x)",
    "var_samp": "VAR_SAMP(x)",
    "variance_filter": "VARIANCE(x) FILTER (WHERE p)",
    "stddev": "STDDEV(x)",
    "stddev_pop": "STDDEV_POP(x)",
    "covar_pop": "COVAR_POP(x, y)",
    "covar_samp": "COVAR_SAMP(x, y) FILTER (WHERE y > 1)",
    "regr_count": "REGR_COUNT(y, x)",
    "regr_avgx": "REGR_AVGX(y, x)",
    "regr_avgy": "REGR_AVGY(y, x)",
    "regr_sxx": "REGR_SXX(y, x)",
    "regr_syy": "REGR_SYY(y, x)",
    "regr_sxy": "REGR_SXY(y, x)",
    "count_distinct": "COUNT(DISTINCT x)",
    "sum_distinct": "SUM(DISTINCT x)",
    "avg_distinct": "AVG(DISTINCT x)",
    "distinct_filter": "COUNT(DISTINCT x) FILTER (WHERE p)",
    "median": "MEDIAN(x)",
    "median_filter": "MEDIAN(x) FILTER (WHERE p)",
    "mixed": "MEDIAN(x) + MIN(y) + SUM(x) + COUNT(*)",
}
NOT_ON_DUCKDB = {
    "sorted_list": "SORT_ARRAY(COLLECT_LIST(x))",
    "count_if_filter": "COUNT_IF(x > 2) FILTER (WHERE p)",
    "count_if": "COUNT_IF(x > 2)",
    "every": "EVERY(p)",
    "some": "SOME(p)",
    "any": "ANY(p)",
    "mean": "MEAN(x)",
    "std": "STD(x)",
    "regr_slope": "REGR_SLOPE(y, x)",
    "regr_intercept": "REGR_INTERCEPT(y, x)",
    "regr_r2": "REGR_R2(y, x)",
    "count_distinct_pairs": "COUNT(DISTINCT x, y)",
    "percentile": "PERCENTILE(x, 0.25)",
    "percentile_cont": "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x)",
    "percentile_cont_desc": "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x DESC)",
    "percentile_disc": "PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY x)",
    "mode": "MODE(x, TRUE)",
    "mode_ordered": "MODE() WITHIN GROUP (ORDER BY x)",
    "listagg": "LISTAGG(x, ',') WITHIN GROUP (ORDER BY x)",
    "listagg_distinct": "STRING_AGG(DISTINCT x, '-') WITHIN GROUP (ORDER BY x)",
    "sorted_set": "SORT_ARRAY(COLLECT_SET(x), FALSE)",
    "array_agg": "ARRAY_SORT(ARRAY_AGG(x)) ",
    "approx_count_distinct": "APPROX_COUNT_DISTINCT(x)",
    "max_by_the_same": "MAX_BY(x + 1, x)",
}
FORMS = {
    "grouped": "SELECT k, {} AS v FROM r GROUP BY k",
    "global": "SELECT {} AS v FROM r",
    "over_a_join": "SELECT c, {} AS v FROM r JOIN s ON r.k = s.k GROUP BY c",
    "having": "SELECT k, COUNT(*) AS n FROM r GROUP BY k HAVING {} IS NOT NULL",
    "below_a_join": "SELECT c, v FROM s JOIN (SELECT k AS l, {} AS v FROM r GROUP BY k) q ON s.k = q.l",
    "below_an_aggregate": "SELECT v, COUNT(*) AS n FROM (SELECT k, {} AS v FROM r GROUP BY k) q GROUP BY v",
    "global_below": "SELECT c, v FROM s CROSS JOIN (SELECT {} AS v FROM r) q",
}


@pytest.mark.parametrize(
    "form", [pytest.param(f, id=n, marks=() if n == "grouped" else pytest.mark.long) for n, f in FORMS.items()]
)
@pytest.mark.parametrize("call", [*EVERYWHERE.values(), *NOT_ON_DUCKDB.values()], ids=[*EVERYWHERE, *NOT_ON_DUCKDB])
def test_interpreted(call: str, form: str) -> None:
    check_history(form.format(call), TABLES, STATES)


@pytest.mark.long
@pytest.mark.parametrize("call", EVERYWHERE.values(), ids=EVERYWHERE)
def test_on_duckdb(call: str) -> None:
    spans = [*pairwise(range(len(STATES))), (len(STATES) - 1, 0)]
    for form in ("grouped", "global", "below_a_join"):
        subject = Subject.of(FORMS[form].format(call), TABLES)
        check_on_duckdb(subject, STATES, spans, interpreted=True)


def test_variances_of_decimals_are_exact_in_hundredths() -> None:
    tables = by_name(table("pay", "who string, amount decimal(10,2), hours int"))
    large = [Decimal("12345678.90"), Decimal("12345678.91"), Decimal("12345678.93"), None]
    before = rows(pay=[("a", c, i) for i, c in enumerate(large)] * 2)
    after = rows(pay=[("a", Decimal("0.10"), 1), ("a", Decimal("0.30"), 2), ("b", Decimal("-0.10"), None)])
    for call in ("VAR_POP(amount)", "VAR_SAMP(amount)", "COVAR_POP(amount, hours)", "REGR_SXX(hours, amount)"):
        sql = f"SELECT who, {call} AS v FROM pay GROUP BY who"
        subject = check_history(sql, tables, [before, after, before])
        duck = Duck(subject, [before, after])
        for i, state in enumerate((before, after)):
            duck.stored(i)
            assert duck.read() == bag(subject.meant(Step(tables, state, state)).elements())

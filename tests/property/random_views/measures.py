"""Random aggregate calls and window functions."""

from __future__ import annotations

from tests.property.random_views.scalars import Scalars
from tests.property.random_views.scope import BOOL, COMPARABLE, DRIFT, INT, LIST, REAL, Scope

EDGES = ("UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING")
MOMENTS = ("VAR_POP", "VAR_SAMP", "STDDEV", "STDDEV_POP")
PAIRED = ("COVAR_POP", "COVAR_SAMP", "REGR_SXX", "REGR_SYY", "REGR_SXY")
PAIRED_IN_SPARK = ("REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2")


class Measures(Scalars):
    # --- aggregates

    def measure(self, scope: Scope, kind: str = INT) -> str:
        """An aggregate that yields a value of the kind."""
        calls = {INT: self.integers, BOOL: self.truths, REAL: self.reals, DRIFT: self.drifts, LIST: self.lists}
        call = self.rng.choice(calls[kind](scope))
        return f"{call} FILTER (WHERE {self.predicate(scope, 1)})" if self.chance(0.15) and kind != LIST else call

    def integers(self, scope: Scope) -> list[str]:
        argument, other = self.expression(scope, INT, 1), self.expression(scope, INT, 0)
        counted = self.reference(scope, self.rng.choice(scope.columns))
        common = [
            *("COUNT(*)", f"COUNT({counted})", "COUNT(1)", "SUM(2)"),
            *(f"SUM({argument})", f"SUM({argument})", f"MIN({argument})", f"MAX({argument})"),
            *(f"MAX(DISTINCT {argument})", f"COUNT(DISTINCT {argument})", f"SUM(DISTINCT {argument})"),
            *(f"BIT_XOR({argument})", f"BIT_OR({argument})", f"BIT_AND({argument})"),
            f"REGR_COUNT({argument}, {other})",
        ]
        columns = scope.of(INT)
        if self.shared or not columns:
            return common
        column = self.full(self.rng.choice(columns))
        return [
            *common,
            f"COUNT_IF({self.predicate(scope, 1)})",
            f"COUNT(DISTINCT {argument}, {other})",
            f"MODE({argument}, TRUE)",
            f"MAX_BY({column} - 1, {column})",
            f"MIN_BY({column} * 2, {column})",
        ]

    def truths(self, scope: Scope) -> list[str]:
        test = self.predicate(scope, 1)
        return [f"BOOL_AND({test})", f"BOOL_OR({test})", f"MIN({test})", f"MAX({test})"]

    def reals(self, scope: Scope) -> list[str]:
        argument, other = self.expression(scope, INT, 1), self.expression(scope, INT, 0)
        common = [
            *(f"AVG({argument})", f"AVG({argument})", f"AVG(DISTINCT {argument})", f"MEDIAN({argument})"),
            *(f"REGR_AVGX({argument}, {other})", f"REGR_AVGY({argument}, {other})"),
        ]
        if self.shared:
            return common
        return [
            *common,
            f"PERCENTILE({argument}, 0.25)",
            f"PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY {argument})",
            f"PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY {argument} DESC)",
        ]

    def drifts(self, scope: Scope) -> list[str]:
        argument, other = self.expression(scope, INT, 1), self.expression(scope, INT, 0)
        paired = PAIRED if self.shared else PAIRED + PAIRED_IN_SPARK
        return [*(f"{f}({argument})" for f in MOMENTS), *(f"{f}({argument}, {other})" for f in paired)]

    def lists(self, scope: Scope) -> list[str]:
        """Spark only: DuckDB has other orders and other types."""
        argument = self.expression(scope, INT, 1)
        return [
            f"SORT_ARRAY(COLLECT_LIST({argument}))",
            f"SORT_ARRAY(COLLECT_SET({argument}), FALSE)",
            f"LISTAGG({argument}, ',') WITHIN GROUP (ORDER BY {argument})",
        ]

    # --- window functions

    def window(self, scope: Scope) -> str:
        """A window function that yields an integer; mostly over an order that leaves nothing open."""
        value = self.expression(scope, INT, 1)
        by = self.partition(scope)
        some = [self.sorting(self.expression(scope, INT, 1)) for _ in range(self.rng.choice((1, 1, 2)))]
        comparable = scope.of(*COMPARABLE)
        every = [self.sorting(self.reference(scope, c)) for c in self.rng.sample(comparable, len(comparable))]
        order = ", ".join(every if every and self.chance(0.85) else some)
        aggregate = self.rng.choice((f"SUM({value})", f"COUNT({value})", "COUNT(*)", f"MIN({value})", f"MAX({value})"))
        form = self.rng.random()
        if form < 0.2:
            return f"{aggregate} OVER ({by})"
        if form < 0.35:
            return f"{self.rng.choice(('RANK', 'DENSE_RANK'))}() OVER ({by} ORDER BY {', '.join(some)})"
        if form < 0.55:
            return f"{aggregate} OVER ({by} ORDER BY {self.framed(some)})"
        placed = self.rng.choice(
            (
                "ROW_NUMBER()",
                "ROW_NUMBER()",
                f"NTILE({self.rng.randint(1, 3)})",
                f"LAG({value}, {self.rng.randint(1, 2)}, 9)",
                f"LEAD({value})",
                f"FIRST_VALUE({value})",
            )
        )
        if form < 0.8:
            return f"{placed} OVER ({by} ORDER BY {order})"
        call = self.rng.choice((aggregate, f"LAST_VALUE({value})", f"NTH_VALUE({value}, 2)"))
        low = self.rng.randint(0, 4)
        frame = f"ROWS BETWEEN {EDGES[low]} AND {EDGES[self.rng.randint(max(low, 1), 5)]}"
        return f"{call} OVER ({by} ORDER BY {order} {frame})"

    def share(self, scope: Scope) -> str:
        """A window function that yields a fraction."""
        order = self.sorting(self.expression(scope, INT, 1))
        call = self.rng.choice(("PERCENT_RANK()", "CUME_DIST()", f"AVG({self.expression(scope, INT, 1)})"))
        return f"{call} OVER ({self.partition(scope)} ORDER BY {order})"

    def over_groups(self, scope: Scope, keys: list[str]) -> str:
        """A window function over the rows of an aggregate."""
        by = f"PARTITION BY {self.rng.choice(keys)}" if keys and self.chance(0.6) else ""
        measure = self.measure(scope)
        if self.chance(0.4):
            return f"RANK() OVER ({by} ORDER BY {measure} DESC NULLS LAST)"
        return f"{self.rng.choice(('SUM', 'COUNT', 'MAX'))}({measure}) OVER ({by})"

    def partition(self, scope: Scope) -> str:
        kinds = [self.rng.choice((INT, BOOL)) for _ in range(self.rng.choice((0, 1, 1, 2)))]
        listed = ", ".join(self.expression(scope, kind, 1) for kind in kinds)
        return f"PARTITION BY {listed}" if listed else ""

    def framed(self, order: list[str]) -> str:
        """RANGE: by default, by peers, or by distance, which allows one key."""
        text = ", ".join(order)
        if self.chance(0.4):
            return text
        ends = ["CURRENT ROW", "UNBOUNDED FOLLOWING", *(["2 FOLLOWING"] if len(order) == 1 else [])]
        starts = ["CURRENT ROW", "UNBOUNDED PRECEDING", *(["1 PRECEDING"] if len(order) == 1 else [])]
        return f"{text} RANGE BETWEEN {self.rng.choice(starts)} AND {self.rng.choice(ends)}"

"""Random scalar expressions over the columns in scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.property.random_views.scope import BOOL, INT, Named, Scope

if TYPE_CHECKING:
    from random import Random

    from rollview.algebra.schema import Tables


class Scalars:
    """`shared` leaves out what DuckDB lacks or spells in another way than Spark."""

    def __init__(self, rng: Random, tables: Tables, *, shared: bool = False) -> None:
        self.rng = rng
        self.tables = tables
        self.shared = shared
        self.fresh = 0

    def expression(self, scope: Scope, kind: str, depth: int) -> str:
        if kind == BOOL:
            return self.predicate(scope, depth)
        if kind != INT:
            return self.reference(scope, self.rng.choice(scope.of(kind)))
        columns = scope.of(INT)
        if columns and (depth == 0 or self.chance(0.5)):
            return self.reference(scope, self.rng.choice(columns))
        if depth == 0 or self.chance(0.2):
            return self.rng.choice(("0", "1", "2", "3", "-1", "CAST(NULL AS INT)"))
        a, b = self.expression(scope, INT, depth - 1), self.expression(scope, INT, depth - 1)
        return self.rng.choice(
            (
                f"{a} + {b}",
                f"({a} - {b})",
                f"{a} - ({b})",
                f"({a}) * {self.rng.randint(-1, 2)}",
                f"-({a})",
                f"COALESCE({a}, {b})",
                f"CASE WHEN {self.predicate(scope, depth - 1)} THEN {a} ELSE {b} END",
                f"CASE {a} WHEN 1 THEN {b} WHEN 2 THEN 0 END",
            )
        )

    def predicate(self, scope: Scope, depth: int) -> str:
        truths = scope.of(BOOL)
        if depth == 0 or self.chance(0.5):
            if truths and self.chance(0.3):
                return self.reference(scope, self.rng.choice(truths))
            column = self.reference(scope, self.rng.choice(scope.columns))
            if self.chance(0.25):
                return f"{column} IS {self.rng.choice(('', 'NOT ', 'NOT '))}NULL"
            left = self.expression(scope, INT, 0)
            if self.chance(0.7):
                return self.rng.choice((f"{left} <> 0", f"{left} > 0", f"{left} <= 2", f"{left} < 2", f"{left} = 1"))
            return self.comparison(left, self.expression(scope, INT, 0))
        a, b = self.predicate(scope, depth - 1), self.predicate(scope, depth - 1)
        e, f = self.expression(scope, INT, depth - 1), self.expression(scope, INT, depth - 1)
        return self.rng.choice(
            (
                f"({a} AND {b})",
                f"({a} OR {b})",
                f"{a} OR {b} AND {a}",
                f"NOT ({a})",
                f"({e}) IN (0, 1)",
                f"({e}) BETWEEN 0 AND ({f})",
                f"({e}) IS NOT DISTINCT FROM ({f})",
                self.comparison(e, f),
            )
        )

    def comparison(self, left: str, right: str) -> str:
        return f"({left} {self.rng.choice(('=', '=', '<>', '<', '<=', '>', '>='))} {right})"

    def sorting(self, text: str) -> str:
        return f"({text}){self.rng.choice(('', ' DESC'))} NULLS {self.rng.choice(('FIRST', 'LAST'))}"

    def reference(self, scope: Scope, column: Named) -> str:
        if column.name in scope.merged and sum(c.name == column.name for c in scope.columns) == 2:
            return column.name
        if scope.unique(column) and self.chance(0.4):
            return self.cased(column.name)
        return self.full(column)

    def full(self, column: Named) -> str:
        return f"{column.alias}.{self.cased(column.name)}"

    def cased(self, name: str) -> str:
        return name.upper() if self.chance(0.1) else name

    def name(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

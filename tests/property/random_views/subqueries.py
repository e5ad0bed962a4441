"""Random subqueries inside expressions: EXISTS, IN, and scalar ones."""

from __future__ import annotations

from tests.property.random_views.scope import INT, Item, Scope
from tests.property.random_views.sources import Sources


class Subqueries(Sources):
    def restriction(self, scope: Scope) -> str:
        """A predicate; sometimes with a subquery as a conjunct, or below OR or NOT."""
        plain = self.predicate(scope, 2)
        if self.scans_left <= 0 or not self.widely(0.4):
            return plain
        found = self.subquery(scope)
        return self.rng.choice(
            (
                found,
                found,
                f"{plain} AND {found}",
                f"({found} OR {plain})",
                f"NOT ({plain} AND {found})",
            )
        )

    def subquery(self, scope: Scope) -> str:
        if self.chance(0.4):
            return self.comparison(self.expression(scope, INT, 1), self.scalar(scope))
        inner, where = self.inner(scope)
        own = [c for c in inner.columns if c.kind == INT]
        negation = self.rng.choice(("", "NOT "))
        if self.chance(0.5) or not own:
            return f"({negation}{self.exists(inner, where)})"
        tested = self.expression(scope, INT, 1)
        if self.chance(0.5):
            where = f" WHERE {self.predicate(Scope([inner]), 1)}" if self.chance(0.5) else ""
        return f"(({tested}) {negation}IN (SELECT {self.full(self.rng.choice(own))} FROM {inner.sql}{where}))"

    def inner(self, scope: Scope) -> tuple[Item, str]:
        """What a subquery reads, and mostly how it is tied to the query around it."""
        inner = self.item(self.rng.choice((0, 0, 1)), beside=scope)
        both = Scope([*scope.items, inner], scope.merged)
        return inner, f" WHERE {self.condition(both, inner)}" if self.chance(0.8) else ""

    def exists(self, inner: Item, where: str) -> str:
        if self.widely(0.15) and (own := [c for c in inner.columns if c.kind == INT]):
            groups = f" GROUP BY {self.full(self.rng.choice(own))} HAVING COUNT(*) > 1"
            return f"EXISTS (SELECT COUNT(*) FROM {inner.sql}{where}{groups})"
        return f"EXISTS (SELECT 1 FROM {inner.sql}{where})"

    def scalar(self, scope: Scope) -> str:
        """A subquery that is one group."""
        inner, where = self.inner(scope)
        if self.chance(0.2):
            value = self.expression(Scope([inner]), INT, 1)
            order = f"1 {self.rng.choice(('', 'DESC '))}NULLS {self.rng.choice(('FIRST', 'LAST'))}"
            return f"(SELECT {value} AS {self.name('c')} FROM {inner.sql}{where} ORDER BY {order} LIMIT 1)"
        value = self.measure(Scope([inner]))
        form = self.rng.choice((value, value, f"COALESCE({value}, 1) + COUNT(*)"))
        having = f" HAVING COUNT(*) > {self.rng.randint(0, 1)}" if self.chance(0.1) else ""
        return f"(SELECT {form} FROM {inner.sql}{where}{having})"

    def unrelated_scalar(self) -> str:
        inner = self.base(self.rng.choice(list(self.tables)), self.name("t"))
        return f"(SELECT {self.measure(Scope([inner]))} FROM {inner.sql})"

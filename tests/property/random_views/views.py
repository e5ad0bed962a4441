"""Random views as SQL text that combine all operators; `shared` ones are read alike by Spark and DuckDB."""

from __future__ import annotations

from tests.property.random_views.groups import Groups
from tests.property.random_views.scope import BOOL, COMPARABLE, DRIFT, INT, REAL, SIMPLE, Query, Scope

SET_OPERATIONS = (
    *("UNION ALL", "UNION ALL", "UNION ALL", "UNION", "UNION"),
    *("INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"),
)


class Views(Groups):
    """Generates one view."""

    @property
    def deepest(self) -> int:
        return 5 if self.narrow else 6

    def view(self) -> str:
        for _ in range(self.rng.choice((0, 0, 0, 1, 2))):
            body = self.query(self.rng.randint(0, 2))
            self.ctes.append((self.name("w"), body))
        text = self.query(min(self.rng.randint(0, self.deepest) for _ in range(2)), top=True).sql
        if self.ctes:
            text = "WITH " + ", ".join(f"{name} AS ({q.sql})" for name, q in self.ctes) + " " + text
        return text

    def query(self, depth: int, *, top: bool = False) -> Query:
        if self.chance(0.15) and depth > 0:
            return self.set_operation(depth)
        return self.select(depth, top=top)

    def set_operation(self, depth: int) -> Query:
        """A chain, without parentheses or with some: INTERSECT binds more tightly than the others."""
        first = self.select(depth - 1, plain=True)
        kinds = [kind for _, kind in first.columns]
        text = first.sql
        for _ in range(self.rng.choice((1, 1, 2))):
            side = self.select(depth - 1, wanted=kinds).sql
            operation = "UNION ALL" if self.narrow else self.rng.choice(SET_OPERATIONS)
            text += f" {operation} " + (f"({side})" if self.chance(0.3) else side)
        if self.widely(0.05):
            text += self.top(first.columns)
        return Query(text, first.columns)

    def select(self, depth: int, *, top: bool = False, plain: bool = False, wanted: list[str] | None = None) -> Query:
        """`plain` allows integers and truths only; `wanted` fixes the kinds of the columns."""
        scope, source = self.from_clause(depth)
        where = f" WHERE {self.restriction(scope)}" if self.chance(0.4) else ""
        if self.chance(0.5 if top or self.narrow else 0.3):
            found = self.grouped(scope, source + where, wanted, plain=plain)
        elif wanted is None and self.chance(0.15) and (starred := self.star(scope, plain)):
            return Query(f"SELECT {starred[0]} FROM {source}{where}", starred[1])
        else:
            found = self.listed(scope, source + where, wanted, plain=plain)
        if wanted is None and not plain and self.widely(0.05):
            found.sql += self.top(found.columns)
        return found

    def listed(self, scope: Scope, source: str, wanted: list[str] | None, *, plain: bool) -> Query:
        among = SIMPLE if plain else (*COMPARABLE, DRIFT)
        kinds = wanted or [self.kind(scope, among) for _ in range(self.rng.randint(1, 4))]
        columns: list[tuple[str, str]] = []
        items: list[str] = []
        usable: list[str] = []
        for wish in kinds:
            kind = REAL if wish == INT and wanted is None and not plain and self.widely(0.02) else wish
            name, text = self.name("c"), self.column(scope, kind, usable)
            items.append(f"{text} AS {name}")
            columns.append((name, kind))
            if kind == INT and not (self.shared and "SELECT" in text):  # DuckDB has no alias of a subquery
                usable.append(name)
        distinct = "DISTINCT " if self.widely(0.1) and DRIFT not in kinds else ""
        text = f"SELECT {distinct}{', '.join(items)} FROM {source}"
        if self.widely(0.04):
            text += f" QUALIFY {self.comparison(self.window(scope), str(self.rng.randint(0, 2)))}"
        return Query(text, columns)

    def column(self, scope: Scope, kind: str, usable: list[str]) -> str:
        if kind == REAL and not scope.of(REAL):
            return self.share(scope)
        if kind == INT and self.widely(0.07):
            return self.window(scope)
        if kind == INT and self.scans_left > 0 and self.widely(0.04):
            return self.rng.choice(("{}", "COALESCE({}, 0) + 1")).format(self.scalar(scope))
        if kind == BOOL and self.scans_left > 0 and self.widely(0.1):
            return self.exists(*self.inner(scope))
        if kind == INT and self.chance(0.1) and usable:
            return f"{self.rng.choice(usable)} * 2"  # an alias of the same list
        return self.expression(scope, kind, 2)

    def top(self, columns: list[tuple[str, str]]) -> str:
        """ORDER BY all columns LIMIT: then rows that tie are equal. Sometimes fewer, which leaves a choice."""
        names = [name for name, kind in columns if kind != DRIFT]
        order = self.rng.sample(names, len(names) if self.chance(0.85) else len(names) // 2)
        keys = [f"{n}{self.rng.choice(('', ' DESC'))} NULLS {self.rng.choice(('FIRST', 'LAST'))}" for n in order]
        offset = f" OFFSET {self.rng.randint(0, 2)}" if self.chance(0.3) else ""
        by = f" ORDER BY {', '.join(keys)}" if keys else ""
        return f"{by} LIMIT {self.rng.randint(1, 4)}{offset}"

    def star(self, scope: Scope, plain: bool) -> tuple[str, list[tuple[str, str]]] | None:
        if scope.merged or any(not scope.unique(c) for c in scope.columns):
            return None
        if plain and any(c.kind not in SIMPLE for c in scope.columns):
            return None
        if self.chance(0.5):
            return "*", [(c.name, c.kind) for c in scope.columns]
        item = self.rng.choice(scope.items)
        return f"{item.alias}.*", [(c.name, c.kind) for c in item.columns]

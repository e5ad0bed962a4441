"""Random FROM clauses: tables, subqueries, CTEs, constants, pivots, generators, and joins of every kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from tests.property.random_views.measures import Measures
from tests.property.random_views.scope import BOOL, INT, Item, Named, Query, Scope

if TYPE_CHECKING:
    from random import Random

    from rollview.algebra.schema import Tables

OUTER = ("LEFT ", "LEFT ", "RIGHT ", "FULL ")


class Sources(Measures, ABC):
    """`narrow` leaves nothing but aggregates and outer joins over selections, projections, joins and UNION ALL."""

    def __init__(self, rng: Random, tables: Tables, *, shared: bool = False, narrow: bool = False) -> None:
        super().__init__(rng, tables, shared=shared)
        self.narrow = narrow
        self.scans_left = rng.choice((1, 2, 2, 3, 3, 4, 5))
        self.ctes: list[tuple[str, Query]] = []

    @abstractmethod
    def query(self, depth: int, *, top: bool = False) -> Query: ...

    def widely(self, probability: float) -> bool:
        """A chance of what a narrow view does without."""
        return self.chance(probability) and not self.narrow

    def from_clause(self, depth: int) -> tuple[Scope, str]:
        first = self.item(depth)
        scope, text = Scope([first]), first.sql
        for _ in range(self.rng.choice((0, 1, 1, 2) if self.narrow else (0, 0, 1, 1, 2))):
            if self.scans_left <= 0:
                break
            text = self.joined(scope, text, depth)
        if self.widely(0.08):
            text += self.lateral_view(scope)
        return scope, text

    # --- items

    def item(self, depth: int, beside: Scope | None = None) -> Item:
        alias = self.name("t")
        if beside and self.chance(0.5) and (related := self.related(beside)):
            return self.base(self.rng.choice(related), alias)
        if self.widely(0.04):
            return self.constants(alias)
        if not self.shared and self.widely(0.03):
            return self.pivot(alias)
        if self.scans_left > 1 and self.widely(0.04):
            return self.rounds(alias)
        if self.ctes and self.chance(0.3):
            name, body = self.rng.choice(self.ctes)
            self.scans_left -= 1
            return Item(f"{name} AS {alias}", alias, [Named(alias, n, k) for n, k in body.columns])
        if depth > 0 and self.chance(0.6 if beside else 0.75):
            return self.query(depth - 1).item(alias)
        return self.base(self.rng.choice(list(self.tables)), alias)

    def base(self, name: str, alias: str) -> Item:
        self.scans_left -= 1
        table = self.tables[name]
        columns = [Named(alias, c.name, BOOL if c.type == "boolean" else INT) for c in table.columns]
        return Item(f"{self.cased(table.name)} {alias}", alias, columns, table.name)

    def constants(self, alias: str) -> Item:
        names = [self.name("x") for _ in range(self.rng.randint(1, 2))]
        if self.chance(0.3):
            text = "(SELECT " + ", ".join(f"{self.rng.randint(0, 3)} AS {n}" for n in names) + f") AS {alias}"
        else:
            rows = [", ".join(self.rng.choice(("0", "1", "2", "3", "NULL")) for _ in names) for _ in range(2)]
            rows.append(", ".join("1" for _ in names))
            text = f"(VALUES {', '.join(f'({r})' for r in rows)}) AS {alias}({', '.join(names)})"
        return Item(text, alias, [Named(alias, n, INT) for n in names])

    def pivot(self, alias: str) -> Item:
        inner = self.base(self.rng.choice([n for n in self.tables if n != "u"]), self.name("t"))
        kept, by, value = (self.name("x") for _ in range(3))
        listed = zip(self.rng.sample(inner.columns, 3), (kept, by, value), strict=True)
        body = f"(SELECT {', '.join(f'{self.full(c)} AS {n}' for c, n in listed)} FROM {inner.sql})"
        one, two, three = (self.name("x") for _ in range(3))
        call, nulls = self.rng.choice(("SUM", "COUNT", "MIN")), self.rng.choice(("", "INCLUDE NULLS "))
        clause, names = self.rng.choice(
            [
                (f"PIVOT ({call}({value}) FOR {by} IN (1 AS {one}, NULL AS {two}))", [kept, one, two]),
                (f"PIVOT ({call}({value}) FOR ({kept}, {by}) IN ((1, 2) AS {one}, (2, NULL) AS {two}))", [one, two]),
                (f"UNPIVOT {nulls}({one} FOR {two} IN ({by}, {value}))", [kept, one]),
                (f"UNPIVOT {nulls}(({one}, {two}) FOR {three} IN (({by}, {value}), ({kept}, {by})))", [one, two]),
            ]
        )
        text = f"{body} {clause}"
        return Query(f"SELECT {', '.join(names)} FROM {text}", [(n, INT) for n in names]).item(alias)

    def rounds(self, alias: str) -> Item:
        """A recursion of at most three rounds; its step looks a table up, some join or other."""
        name, x, n = self.name("w"), self.name("x"), self.name("n")
        first, looked_up = (self.base(self.rng.choice(list(self.tables)), self.name("t")) for _ in range(2))
        before = Item(name, name, [Named(name, x, INT), Named(name, n, INT)])
        starts, (value, key) = (
            self.rng.choice(Scope([first]).of(INT)),
            self.rng.choices(Scope([looked_up]).of(INT), k=2),
        )
        tests = f"{name}.{n} < 2"
        if self.chance(0.4):
            tests += f" AND ({self.predicate(Scope([before, looked_up]), 1)})"
        kind = self.rng.choice(("", "", "LEFT ", "SEMI ", "ANTI "))
        if kind in ("SEMI ", "ANTI "):
            value, tests = Named(name, x, INT), f"{name}.{n} < 2"
        anchor = f"SELECT {self.full(starts)}, 0 FROM {first.sql}" + (" WHERE TRUE" if self.chance(0.3) else "")
        step = (
            f"SELECT {self.full(value)}, {name}.{n} + 1 FROM {name} {kind}JOIN {looked_up.sql} "
            f"ON {self.full(key)} = {name}.{x} WHERE {tests}"
        )
        text = f"(WITH RECURSIVE {name}({x}, {n}) AS ({anchor} UNION ALL {step}) SELECT {x}, {n} FROM {name})"
        return Item(f"{text} AS {alias}", alias, [Named(alias, x, INT), Named(alias, n, INT)])

    def lateral_view(self, scope: Scope) -> str:
        alias, outer = self.name("g"), self.rng.choice(("", "", "OUTER "))
        a, b = self.expression(scope, INT, 1), self.expression(scope, INT, 0)
        calls = [
            (f"explode(array({a}, {b}))", 1),
            (f"explode(array_repeat({a}, CAST({b} AS INT)))", 1),
            (f"posexplode(array({a}, {b}, 7))", 2),
            (f"stack(2, CAST({a} AS INT), CAST({b} AS INT), CAST({b} AS INT), 5)", 2),
        ]
        call, width = self.rng.choice(calls)
        columns = [Named(alias, self.name("x"), INT) for _ in range(width)]
        scope.items.append(Item("", alias, columns))
        return f" LATERAL VIEW {outer}{call} {alias} AS {', '.join(c.name for c in columns)}"

    # --- joins

    def joined(self, scope: Scope, text: str, depth: int) -> str:
        """The FROM clause with one more item; the scope becomes that of both."""
        if self.widely(0.05):
            return self.lateral(scope, text)
        right = self.item(depth, beside=scope)
        both = Scope([*scope.items, right], scope.merged)
        kind = self.rng.choice(OUTER if self.narrow and self.chance(0.6) else ("", "", "", *OUTER))
        shared = self.mergeable(scope, right)
        style = self.rng.random()
        if self.widely(0.1):
            kept = self.rng.choice(("SEMI", "ANTI"))
            return f"{text} {kept} JOIN {right.sql} ON {self.condition(both, right)}"
        if style < 0.1:
            text = f"{text} CROSS JOIN {right.sql}"
        elif style < 0.2 and shared:
            name = self.rng.choice(shared)
            both.merged.add(name)
            text = f"{text} {kind}JOIN {right.sql} USING ({name})"
        elif style < 0.23 and shared and set(shared) == self.common(scope, right):
            both.merged.update(shared)
            text = f"{text} NATURAL {kind}JOIN {right.sql}"
        elif style < 0.3 and self.scans_left > 0:
            inner = self.item(0, beside=Scope([right]))
            nested = Scope([right, inner])
            both.items.append(inner)
            text = (
                f"{text} {kind}JOIN ({right.sql} {self.rng.choice(('', 'LEFT ', 'FULL '))}JOIN {inner.sql}"
                f" ON {self.condition(nested, inner)})"
                f" ON {self.condition(both, right)}"
            )
        else:
            text = f"{text} {kind}JOIN {right.sql} ON {self.condition(both, right)}"
        scope.items, scope.merged = both.items, both.merged
        return text

    def lateral(self, scope: Scope, text: str) -> str:
        alias = self.name("t")
        names = [self.name("c") for _ in range(self.rng.randint(1, 2))]
        body = self.dependent(scope, names)
        if self.scans_left > 0 and self.chance(0.15):
            # DuckDB loses rows around that have NULL
            operations = ("UNION ALL",) if self.shared else ("UNION ALL", "UNION", "EXCEPT", "INTERSECT ALL")
            body += f" {self.rng.choice(operations)} {self.dependent(scope, names)}"
        scope.items.append(Item("", alias, [Named(alias, n, INT) for n in names]))
        kind = self.rng.choice(("", "LEFT "))
        return f"{text} {kind}JOIN LATERAL ({body}) AS {alias} ON TRUE"

    def dependent(self, scope: Scope, names: list[str]) -> str:
        """A query that reads what is around it."""
        inner = self.item(0, beside=scope)
        own, both = Scope([inner]), Scope([*scope.items, inner], scope.merged)
        source = f"FROM {inner.sql} WHERE {self.condition(both, inner)}"
        form = self.rng.choice(("rows", "rows", "distinct", "top", "one group", "one group", "groups"))
        if form == "one group":
            listed = ", ".join(f"{self.measure(both if self.chance(0.2) else own)} AS {n}" for n in names)
            return f"SELECT {listed} {source}" + (" HAVING COUNT(*) > 1" if self.chance(0.2) else "")
        first, *rest = [f"{self.expression(own, INT, 1)} AS {n}" for n in names]
        if form == "groups":
            listed = ", ".join([first, *(f"{self.measure(own)} AS {n}" for n in names[1:])])
            return f"SELECT {listed} {source} GROUP BY 1"
        listed = ", ".join([first, *rest])
        if form == "top":  # in the order of all columns, so that rows that tie are equal
            order = ", ".join(f"{n} NULLS {self.rng.choice(('FIRST', 'LAST'))}" for n in names)
            first_rows = f"SELECT {listed} {source} ORDER BY {order} LIMIT {self.rng.randint(1, 2)}"
            return f"SELECT * FROM ({first_rows}) {self.name('q')}"
        return f"SELECT {'DISTINCT ' if form == 'distinct' else ''}{listed} {source}"

    def mergeable(self, scope: Scope, right: Item) -> list[str]:
        """The names of integers that both sides have, and the left side once."""
        left = [c.name for c in scope.columns]
        ints = {c.name for c in scope.of(INT)}
        return [c.name for c in right.columns if c.kind == INT and c.name in ints and left.count(c.name) == 1]

    def common(self, scope: Scope, right: Item) -> set[str]:
        return {c.name for c in right.columns} & {c.name for c in scope.columns}

    def related(self, scope: Scope) -> list[str]:
        """Tables that a foreign key ties to one in scope."""
        here = {i.table for i in scope.items}
        ties = [(t.name, fk.table) for t in self.tables.values() for fk in t.foreign_keys]
        return [a for a, b in ties if b in here] + [b for a, b in ties if a in here]

    def condition(self, scope: Scope, right: Item) -> str:
        """Mostly an equality between the new item and an earlier one; where a foreign key leads, mostly that."""
        left = [c for i in scope.items if i.alias != right.alias for c in i.columns if c.kind == INT]
        mine = [c for c in right.columns if c.kind == INT]
        key = self.along_foreign_key(scope, right)
        if key and self.chance(0.7):
            return key if self.chance(0.7) else f"{key} AND {self.predicate(scope, 1)}"
        if not left or not mine or self.chance(0.15):
            return self.predicate(scope, 2)
        a, b = self.full(self.rng.choice(left)), self.full(self.rng.choice(mine))
        if self.chance(0.3):
            return f"{a} = {b} AND {self.predicate(scope, 1)}"
        return self.rng.choice(
            (f"{a} = {b}", f"{b} = {a}", f"{a} <> {b}", f"{a} IS NOT DISTINCT FROM {b}", f"{a} < {b}")
        )

    def along_foreign_key(self, scope: Scope, right: Item) -> str | None:
        for other in scope.items:
            for child, parent in ((other, right), (right, other)):
                if child is parent or child.table is None or parent.table is None:
                    continue
                for fk in self.tables[child.table].foreign_keys:
                    if fk.table == parent.table:
                        pairs = zip(fk.columns, fk.referenced, strict=True)
                        return " AND ".join(f"{child.alias}.{c} = {parent.alias}.{p}" for c, p in pairs)
        return None

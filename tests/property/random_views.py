"""Random views as SQL text, in the part of the language that Spark, DuckDB and the interpreter read alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from rollview.algebra.schema import Tables

SET_OPERATIONS = (
    *("UNION ALL", "UNION ALL", "UNION ALL", "UNION", "UNION"),
    *("INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"),
)
EDGES = ("UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING")
INT, BOOL, REAL = "int", "bool", "real"
"""REAL columns (averages) are carried, compared with NULL, counted and grouped, but not computed with."""


@dataclass(frozen=True)
class Named:
    """A column in scope."""

    alias: str
    name: str
    kind: str


@dataclass
class Query:
    sql: str
    columns: list[tuple[str, str]]
    """name, kind"""


@dataclass
class Item:
    """Something in FROM."""

    sql: str
    alias: str
    columns: list[Named]
    table: str | None = None


@dataclass
class Scope:
    items: list[Item]
    merged: set[str] = field(default_factory=set)
    """names that USING made one"""

    @property
    def columns(self) -> list[Named]:
        return [c for i in self.items for c in i.columns]

    def of(self, *kinds: str) -> list[Named]:
        return [c for c in self.columns if c.kind in kinds]

    def unique(self, column: Named) -> bool:
        return sum(c.name == column.name for c in self.columns) == 1


class Views:
    """Generates one view."""

    def __init__(self, rng: Random, tables: Tables) -> None:
        self.rng = rng
        self.tables = tables
        self.fresh = 0
        self.scans_left = rng.choice((1, 2, 2, 3, 3, 4, 5))
        self.ctes: list[tuple[str, Query]] = []

    def view(self) -> str:
        for _ in range(self.rng.choice((0, 0, 0, 1, 2))):
            body = self.query(self.rng.randint(0, 2))
            self.ctes.append((self.name("w"), body))
        text = self.query(self.rng.randint(0, 6), top=True).sql
        if self.ctes:
            text = "WITH " + ", ".join(f"{name} AS ({q.sql})" for name, q in self.ctes) + " " + text
        return text

    # --- queries

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
            text += f" {self.rng.choice(SET_OPERATIONS)} " + (f"({side})" if self.chance(0.3) else side)
        return Query(text, first.columns)

    def select(self, depth: int, *, top: bool = False, plain: bool = False, wanted: list[str] | None = None) -> Query:
        """`plain` allows no averages; `wanted` fixes the kinds of the columns."""
        scope, source = self.from_clause(depth)
        where = f" WHERE {self.restriction(scope)}" if self.chance(0.4) else ""
        kinds = wanted or [self.kind(scope, plain) for _ in range(self.rng.randint(1, 4))]
        if self.chance(0.5 if top else 0.3):
            return self.grouped(scope, source + where, kinds, plain=plain or wanted is not None)
        if wanted is None and self.chance(0.15) and (starred := self.star(scope, plain)):
            return Query(f"SELECT {starred[0]} FROM {source}{where}", starred[1])
        items: list[str] = []
        columns: list[tuple[str, str]] = []
        for kind in kinds:
            if kind == INT and self.chance(0.07):
                expression = self.window(scope)
            elif kind == INT and self.chance(0.1) and (earlier := [n for n, k in columns if k == INT]):
                expression = f"{self.rng.choice(earlier)} * 2"  # an alias of the same list
            else:
                expression = self.expression(scope, kind, 2)
            name = self.name("c")
            items.append(f"{expression} AS {name}")
            columns.append((name, kind))
        distinct = "DISTINCT " if self.chance(0.1) else ""
        text = f"SELECT {distinct}{', '.join(items)} FROM {source}{where}"
        if self.chance(0.04):
            text += f" QUALIFY {self.comparison(self.window(scope), str(self.rng.randint(0, 2)))}"
        if wanted is None and not plain and self.chance(0.05):
            text += self.top(columns)
        return Query(text, columns)

    def window(self, scope: Scope) -> str:
        """A window function that yields an integer, over an order that leaves nothing open or to which ties are one."""
        kinds = [self.rng.choice((INT, BOOL)) for _ in range(self.rng.choice((0, 1, 1, 2)))]
        partition = [self.expression(scope, kind, 1) for kind in kinds]
        value = self.expression(scope, INT, 1)
        by = f"PARTITION BY {', '.join(partition)}" if partition else ""
        some = [self.sorting(self.expression(scope, INT, 1)) for _ in range(self.rng.choice((1, 1, 2)))]
        every = [self.sorting(self.reference(scope, c)) for c in self.rng.sample(scope.columns, len(scope.columns))]
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
            return f"{placed} OVER ({by} ORDER BY {', '.join(every)})"
        call = self.rng.choice((aggregate, f"LAST_VALUE({value})", f"NTH_VALUE({value}, 2)"))
        low = self.rng.randint(0, 4)
        frame = f"ROWS BETWEEN {EDGES[low]} AND {EDGES[self.rng.randint(max(low, 1), 5)]}"
        return f"{call} OVER ({by} ORDER BY {', '.join(every)} {frame})"

    def sorting(self, text: str) -> str:
        return f"({text}){self.rng.choice(('', ' DESC'))} NULLS {self.rng.choice(('FIRST', 'LAST'))}"

    def framed(self, order: list[str]) -> str:
        """RANGE: by default, by peers, or by distance, which allows one key."""
        text = ", ".join(order)
        if self.chance(0.4):
            return text
        ends = ["CURRENT ROW", "UNBOUNDED FOLLOWING", *(["2 FOLLOWING"] if len(order) == 1 else [])]
        starts = ["CURRENT ROW", "UNBOUNDED PRECEDING", *(["1 PRECEDING"] if len(order) == 1 else [])]
        return f"{text} RANGE BETWEEN {self.rng.choice(starts)} AND {self.rng.choice(ends)}"

    def top(self, columns: list[tuple[str, str]]) -> str:
        """ORDER BY all columns LIMIT: then rows that tie are equal."""
        names = self.rng.sample([name for name, _ in columns], len(columns))
        keys = [f"{n}{self.rng.choice(('', ' DESC'))} NULLS {self.rng.choice(('FIRST', 'LAST'))}" for n in names]
        offset = f" OFFSET {self.rng.randint(0, 2)}" if self.chance(0.3) else ""
        return f" ORDER BY {', '.join(keys)} LIMIT {self.rng.randint(1, 4)}{offset}"

    def kind(self, scope: Scope, plain: bool) -> str:
        choices = [INT, INT, INT, INT, BOOL]
        if not plain and scope.of(REAL):
            choices.append(REAL)
        return self.rng.choice(choices)

    def star(self, scope: Scope, plain: bool) -> tuple[str, list[tuple[str, str]]] | None:
        if scope.merged or any(not scope.unique(c) for c in scope.columns):
            return None
        if plain and scope.of(REAL):
            return None
        if self.chance(0.5):
            return "*", [(c.name, c.kind) for c in scope.columns]
        item = self.rng.choice(scope.items)
        return f"{item.alias}.*", [(c.name, c.kind) for c in item.columns]

    # --- FROM

    def from_clause(self, depth: int) -> tuple[Scope, str]:
        first = self.item(depth)
        scope, text = Scope([first]), first.sql
        for _ in range(self.rng.choice((0, 0, 1, 1, 2))):
            if self.scans_left <= 0:
                break
            text = self.joined(scope, text, depth)
        if self.chance(0.08):
            text += self.lateral_view(scope)
        return scope, text

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

    def constants(self, alias: str) -> Item:
        names = [self.name("x") for _ in range(self.rng.randint(1, 2))]
        if self.chance(0.3):
            text = "(SELECT " + ", ".join(f"{self.rng.randint(0, 3)} AS {n}" for n in names) + f") AS {alias}"
        else:
            rows = [", ".join(self.rng.choice(("0", "1", "2", "3", "NULL")) for _ in names) for _ in range(2)]
            rows.append(", ".join("1" for _ in names))
            text = f"(VALUES {', '.join(f'({r})' for r in rows)}) AS {alias}({', '.join(names)})"
        return Item(text, alias, [Named(alias, n, INT) for n in names])

    def item(self, depth: int, beside: Scope | None = None) -> Item:
        alias = self.name("t")
        if beside and self.chance(0.5) and (related := self.related(beside)):
            return self.base(self.rng.choice(related), alias)
        if self.chance(0.04):
            return self.constants(alias)
        if self.ctes and self.chance(0.3):
            name, body = self.rng.choice(self.ctes)
            self.scans_left -= 1
            return Item(f"{name} AS {alias}", alias, [Named(alias, n, k) for n, k in body.columns])
        if depth > 0 and self.chance(0.6):
            body = self.query(depth - 1)
            return Item(f"({body.sql}) AS {alias}", alias, [Named(alias, n, k) for n, k in body.columns])
        return self.base(self.rng.choice(list(self.tables)), alias)

    def related(self, scope: Scope) -> list[str]:
        """Tables that a foreign key ties to one in scope."""
        here = {i.table for i in scope.items}
        ties = [(t.name, fk.table) for t in self.tables.values() for fk in t.foreign_keys]
        return [a for a, b in ties if b in here] + [b for a, b in ties if a in here]

    def base(self, name: str, alias: str) -> Item:
        self.scans_left -= 1
        table = self.tables[name]
        columns = [Named(alias, c.name, BOOL if c.type == "boolean" else INT) for c in table.columns]
        return Item(f"{self.cased(table.name)} {alias}", alias, columns, table.name)

    def joined(self, scope: Scope, text: str, depth: int) -> str:
        right = self.item(depth, beside=scope)
        both = Scope([*scope.items, right], scope.merged)
        shared = [
            c.name
            for c in right.columns
            if c.kind == INT
            and any(o.name == c.name and o.kind == INT for o in scope.columns)
            and sum(o.name == c.name for o in scope.columns) == 1
        ]
        style = self.rng.random()
        kind = self.rng.choice(("", "", "", "LEFT ", "LEFT ", "RIGHT ", "FULL "))
        if self.chance(0.1):
            kept = self.rng.choice(("SEMI", "ANTI"))
            return f"{text} {kept} JOIN {right.sql} ON {self.condition(both, right)}"
        if style < 0.1:
            text = f"{text} CROSS JOIN {right.sql}"
        elif style < 0.2 and shared:
            name = self.rng.choice(shared)
            both.merged.add(name)
            text = f"{text} {kind}JOIN {right.sql} USING ({name})"
        elif style < 0.25 and self.scans_left > 0:
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

    # --- WHERE

    def restriction(self, scope: Scope) -> str:
        """A predicate; sometimes with a subquery as a conjunct, or below OR or NOT."""
        plain = self.predicate(scope, 2)
        if self.scans_left <= 0 or self.chance(0.6):
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
        inner = self.item(self.rng.choice((0, 0, 1)), beside=scope)
        negation = self.rng.choice(("", "NOT "))
        both = Scope([*scope.items, inner], scope.merged)
        where = f" WHERE {self.condition(both, inner)}" if self.chance(0.8) else ""
        own = [c for c in inner.columns if c.kind == INT]
        if self.chance(0.4):
            return self.comparison(self.expression(scope, INT, 1), self.scalar(inner, where))
        if self.chance(0.5) or not own:
            return f"({negation}EXISTS (SELECT 1 FROM {inner.sql}{where}))"
        tested = self.expression(scope, INT, 1)
        if self.chance(0.5):
            where = f" WHERE {self.predicate(Scope([inner]), 1)}" if self.chance(0.5) else ""
        return f"(({tested}) {negation}IN (SELECT {self.full(self.rng.choice(own))} FROM {inner.sql}{where}))"

    def scalar(self, inner: Item, where: str) -> str:
        """A subquery that is one group."""
        value = self.measure(Scope([inner]))
        form = self.rng.choice((value, value, f"COALESCE({value}, 1) + COUNT(*)"))
        having = f" HAVING COUNT(*) > {self.rng.randint(0, 1)}" if self.chance(0.1) else ""
        return f"(SELECT {form} FROM {inner.sql}{where}{having})"

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

    # --- grouping

    def grouped(self, scope: Scope, source: str, kinds: list[str], *, plain: bool) -> Query:
        keys: dict[str, str] = {}
        for _ in range(self.rng.choice((0, 1, 1, 1, 2, 3))):
            kind = self.kind(scope, plain)
            keys[self.key(scope, kind)] = kind
        items: list[tuple[str, str, bool]] = []
        for kind in kinds:
            text, pure = self.output(scope, keys, kind, plain)
            items.append((text, self.name("c"), pure))
        listed = ", ".join(f"{text} AS {name}" for text, name, _ in items)
        having = f" HAVING {self.having(scope, keys)}" if self.chance(0.2) else ""
        columns = [(name, kind) for (_, name, _), kind in zip(items, kinds, strict=True)]
        return Query(f"SELECT {listed} FROM {source}{self.group_by(keys, items)}{having}", columns)

    def key(self, scope: Scope, kind: str) -> str:
        columns = scope.of(kind)
        if columns and self.chance(0.8):
            return self.reference(scope, self.rng.choice(columns))
        if kind == INT and self.chance(0.2):
            return f"(0 + {self.rng.randint(-1, 3)})"  # a bare number would be a position
        return f"({self.expression(scope, kind, 1)} {'+ 0' if kind == INT else ''})"

    def output(self, scope: Scope, keys: dict[str, str], kind: str, plain: bool) -> tuple[str, bool]:
        """An output column, and whether it is a key and nothing else."""
        fitting = [k for k, found in keys.items() if found == kind]
        if fitting and self.chance(0.5 if kind == INT else 1.0):
            return self.rng.choice(fitting), True
        if kind == BOOL:
            if self.chance(0.5):
                return f"{self.rng.choice(('BOOL_AND', 'BOOL_OR', 'MIN'))}({self.predicate(scope, 1)})", False
            return self.comparison(self.measure(scope), self.measure(scope)), False
        if kind == REAL:
            return f"{self.rng.choice(('AVG', 'MEDIAN'))}({self.expression(scope, INT, 1)})", False
        if fitting and self.chance(0.2):
            return f"{self.rng.choice(fitting)} + {self.measure(scope)}", False
        if self.chance(0.1):
            return f"{self.measure(scope)} - {self.measure(scope)}", False
        return self.measure(scope), False

    def group_by(self, keys: dict[str, str], items: list[tuple[str, str, bool]]) -> str:
        if not keys:
            return ""
        shown = {text for text, _, pure in items if pure}
        mixed = any(not pure and any(k in text for k in keys) for text, _, pure in items)
        # DuckDB does not count constants as groups, Spark does
        columns = not any(k.startswith("(") for k in keys)
        if shown == set(keys) and columns and not mixed and self.chance(0.2):
            return " GROUP BY ALL"
        if len(keys) > 1 and columns and self.chance(0.25):
            # never the empty set: over no rows it has no row in Spark, and one in DuckDB
            sets = [self.rng.sample(list(keys), self.rng.randint(1, len(keys))) for _ in range(self.rng.randint(1, 3))]
            listed = [list(keys), *sets]
            return " GROUP BY GROUPING SETS (" + ", ".join(f"({', '.join(found)})" for found in listed) + ")"
        parts = []
        for key in keys:
            places = [i for i, (text, _, pure) in enumerate(items) if pure and text == key]
            form = self.rng.random()
            if places and form < 0.2:
                parts.append(str(places[0] + 1))
            elif places and form < 0.4:
                parts.append(items[places[0]][1])
            else:
                parts.append(key)
        if self.chance(0.05):
            parts.append(parts[0])
        return " GROUP BY " + ", ".join(parts)

    def measure(self, scope: Scope) -> str:
        """An aggregate that yields an integer."""
        argument = self.expression(scope, INT, 1)
        counted = [self.reference(scope, c) for c in scope.columns]
        call = self.rng.choice(
            (
                "COUNT(*)",
                f"COUNT({self.rng.choice(counted)})",
                f"SUM({argument})",
                f"SUM({argument})",
                "SUM(2)",
                "COUNT(1)",
                f"MIN({argument})",
                f"MAX({argument})",
                f"MAX(DISTINCT {argument})",
                f"COUNT(DISTINCT {argument})",
                f"SUM(DISTINCT {argument})",
                f"BIT_XOR({argument})",
                f"BIT_OR({argument})",
            )
        )
        return f"{call} FILTER (WHERE {self.predicate(scope, 1)})" if self.chance(0.15) else call

    def having(self, scope: Scope, keys: dict[str, str]) -> str:
        ints = [k for k, kind in keys.items() if kind == INT]
        left = self.rng.choice(ints) if ints and self.chance(0.2) else self.measure(scope)
        if self.scans_left > 0 and self.chance(0.1):
            inner = self.base(self.rng.choice(list(self.tables)), self.name("t"))
            own = next(c for c in inner.columns if c.kind == INT)
            return f"{left} {self.rng.choice(('', 'NOT '))}IN (SELECT {self.full(own)} FROM {inner.sql})"
        return self.comparison(left, str(self.rng.randint(0, 3)))

    # --- scalars

    def expression(self, scope: Scope, kind: str, depth: int) -> str:
        if kind == REAL:
            return self.reference(scope, self.rng.choice(scope.of(REAL)))
        if kind == BOOL:
            return self.predicate(scope, depth)
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

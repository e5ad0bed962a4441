"""The same steps on DuckDB, through the emitter: the interpreter cannot see a wrong parenthesis, a database can."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache, partial, reduce
from typing import TYPE_CHECKING, Any

import duckdb
from sqlglot import exp, parse_one
from tests.apply_bags import Bound, rolled
from tests.steps import Step

from rollview.algebra.clock import NOW, TODAY
from rollview.algebra.relation import State
from rollview.algebra.schema import Column
from rollview.frontend.time_filters import at_reading
from rollview.names import CLOCK, COUNT
from rollview.plan.emit import emit, sql, table
from rollview.plan.group_reserve import CROWDED
from rollview.plan.stages import CHANGED, EXTENT, FRESH, SETTLED, SUSPECTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.law import Subject
    from tests.steps import Rows

    from rollview.algebra.interpreter import Bag
    from rollview.algebra.relation import Relation, Scan


FAULTY = ("top_n_window_elimination", "compressed_materialization")
"""The first loses rows whose order is NULL, the second columns beside an anti join ("Failed to bind column")."""


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One for all cases: opening costs more than a case."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute(f"SET disabled_optimizers = '{','.join(FAULTY)}'")
    return connection


@dataclass
class Duck:
    """A database that holds a view's base tables in several states, one schema for each."""

    subject: Subject
    states: Sequence[Rows]
    through_spark: bool = True
    """emit for Spark and let sqlglot read that again: then a parenthesis that is missing there is missed here"""
    connection: duckdb.DuckDBPyConnection = field(default_factory=database)
    made: list[tuple[Bag, str]] = field(default_factory=list)
    """what later stages may read: rows, and the table that holds them"""

    def __post_init__(self) -> None:
        statements = ["USE main"]
        for i, state in enumerate(self.states):
            statements += [f"DROP SCHEMA IF EXISTS s{i} CASCADE", f"CREATE SCHEMA s{i}"]
            for name in self.tables():
                statements += fill(f"s{i}", name, self.subject.tables[name].columns, state[name])
        self.connection.execute("; ".join(statements))

    def tables(self) -> list[str]:
        """Those that the view reads, and those that its text names although nothing of them is needed."""
        text, reads = self.subject.sql, self.subject.view.reads
        return [n for n in self.subject.tables if n in reads or re.search(rf"\b{re.escape(n)}\b", text, re.IGNORECASE)]

    def rows(self, node: Relation, since: int, upto: int) -> Bag:
        return self.run(self.text(node, since, upto))

    def text(self, node: Relation, since: int, upto: int) -> str:
        text = emitted(node, through_spark=self.through_spark)
        return text.replace(f'"{BEFORE}"', f"s{since}").replace(f'"{AFTER}"', f"s{upto}")

    def run(self, text: str) -> Bag:
        return bag(self.connection.execute(text).fetchall())

    def kept(self, name: str, text: str) -> Bag:
        """The rows of a query, which a later one may read under the bag's identity."""
        self.connection.execute(f"CREATE OR REPLACE TABLE main.{quoted(name)} AS {text}")
        rows = self.run(f"SELECT * FROM main.{quoted(name)}")
        self.made.append((rows, name))
        return rows

    def stored(self, at: int) -> Bag:
        """The extent, recomputed and put where readers look."""
        rows = self.kept(f"{EXTENT}{at}", self.text(self.subject.view.extent.rows, at, at))
        self.show(EXTENT, f"{EXTENT}{at}")
        return rows

    def read(self) -> Bag:
        """What a reader of the extent sees."""
        self.connection.execute("USE main")
        return self.rows(self.subject.view.extent.reader, 0, 0)

    def meant(self, at: int) -> Bag:
        """The user's own text."""
        self.connection.execute(f"USE s{at}")
        text = self.subject.sql
        if CLOCK in self.subject.view.reads:
            ((now, today),) = self.states[at][CLOCK]
            text = at_reading(text, {NOW: exp.convert(now), TODAY: exp.convert(today)})
        if "LATERAL VIEW" in text or "REGR_COUNT" in text:
            text = sql(for_duck(parse_one(text, read="spark")), "duckdb")
        return self.run(text)

    def advance(self, since: int, upto: int, stored: Bag, *, foreign_keys: bool) -> Bag:
        step = Step(self.subject.tables, self.states[since], self.states[upto])
        plan = self.subject.maintenance(step, foreign_keys=foreign_keys)
        if plan.change is None:
            return stored
        statements = []
        for scan in {(s.table, s.at) for s in plan.scans} - {(t, s) for t in step.tables for s in KEPT}:
            name, state = scan
            columns = [*step.tables[name].columns, *([Column(COUNT, "bigint")] if state.signed else [])]
            statements += fill("main", f"{name}__{state.value}", columns, step.part(name, state))
        self.connection.execute("; ".join(statements))
        return rolled(self.subject.view.extent, plan, stored, lambda node, bound: self.bound(node, bound, since, upto))

    def shown(self, rows: Bag, at: int) -> Bag:
        """What is comparable of stored rows: all, or, where a reserve depends on what came before, what readers see."""
        if self.subject.view.extent.group_reserve is None:
            return rows
        return bag(self.subject.read(Step(self.subject.tables, self.states[at], self.states[at]), rows).elements())

    def bound(self, node: Relation, bound: Bound, since: int, upto: int) -> Bag:
        """The rows of a stage; what earlier stages delivered is where it looks for it."""
        for name, (_, rows) in bound.items():
            self.show(name, next(t for made, t in self.made if made is rows))
        return self.kept(f"stage{len(self.made)}", self.text(node, since, upto))

    def show(self, name: str, as_: str) -> None:
        self.connection.execute(f"CREATE OR REPLACE VIEW main.{quoted(name)} AS SELECT * FROM main.{quoted(as_)}")


KEPT = (State.BEFORE, State.AFTER)
BEFORE, AFTER = "__before", "__after"
"""stand for the schemas that hold the two states of a span"""


@lru_cache(maxsize=256)
def emitted(node: Relation, *, through_spark: bool) -> str:
    def bind(scan: Scan) -> exp.Table:
        if scan.table in (EXTENT, CHANGED, SETTLED, SUSPECTS, FRESH, CROWDED):
            return table("main", scan.table)
        if scan.at in KEPT:
            return table(AFTER if scan.at is State.AFTER else BEFORE, scan.table)
        return table("main", f"{scan.table}__{scan.at.value}")

    tree = emit(node, bind)
    if not through_spark:
        return sql(for_duck(tree), "duckdb")
    return sql(for_duck(parse_one(sql(tree), read="spark")), "duckdb")


def check_on_duckdb(
    subject: Subject,
    states: Sequence[Rows],
    spans: Sequence[tuple[int, int]],
    *,
    through_spark: bool = True,
    interpreted: bool = False,
    decimals: int | None = None,
    limit: int = 0,
) -> None:
    """The law on DuckDB: maintenance against definition, and readers against the user's own text.

    Foreign keys are used on every span, and left unused on the last. `decimals`: how many of them readers and text must
    have in common, where DuckDB's division and average are not Spark's. `limit`: where fewer rows are found, rows that
    tie are all among them, so the text has one meaning.
    """
    duck = Duck(subject, states, through_spark=through_spark)
    right = []
    for i in range(len(states)):
        right.append(duck.stored(i))
        meant = duck.meant(i)
        if not subject.has_one_meaning and meant.total() >= limit:
            continue
        assert rounded(duck.read(), decimals) == rounded(meant, decimals), (
            "readers see something else than the user's text says"
        )
        if interpreted:
            found = subject.meant(Step(subject.tables, states[i], states[i]))
            assert bag(found.elements()) == meant, "the interpreter and DuckDB read the view differently"
    for since, upto, foreign_keys in [*((*span, True) for span in spans), (*spans[-1], False)]:
        rolled_on = duck.advance(since, upto, right[since], foreign_keys=foreign_keys)
        assert duck.shown(rolled_on, upto) == duck.shown(right[upto], upto), f"{since}..{upto}, {foreign_keys=}"


def for_duck(tree: exp.Expr) -> exp.Expr:
    """What DuckDB lacks in its own words: LATERAL VIEW is a join with a subquery that reads what stands before it."""
    tree = tree.copy()
    for select in list(tree.find_all(exp.Select)):
        for lateral in select.args.get("laterals") or ():
            kind = {"side": "LEFT", "on": exp.true()} if lateral.args.get("outer") else {"kind": "CROSS"}
            names = [c.name for c in lateral.args["alias"].columns]
            alias = exp.TableAlias(this=exp.to_identifier(lateral.alias, quoted=True))
            rows = exp.Lateral(this=exp.Subquery(this=generated(lateral.this, names)), alias=alias)
            select.append("joins", exp.Join(this=rows, **kind))
        select.set("laterals", None)
    return tree.transform(in_duck_words)


def generated(call: exp.Expr, names: list[str]) -> exp.Query:
    name = call.name.lower() if isinstance(call, exp.Anonymous) else call.key
    arguments = [a for a in call.iter_expressions() if isinstance(a, exp.Expr)]
    unnest = partial(exp.func, "UNNEST", dialect="duckdb")
    match name:
        case "explode":
            return exp.select(exp.alias_(unnest(arguments[0]), names[0], quoted=True))
        case "posexplode":
            places = exp.func("RANGE", exp.func("LEN", arguments[0].copy()))
            values = [unnest(places), unnest(arguments[0])]
            return exp.select(*(exp.alias_(v, n, quoted=True) for v, n in zip(values, names, strict=True)))
        case "stack":
            width = len(names)
            rows = [arguments[i : i + width] for i in range(1, len(arguments), width)]
            parts = [
                exp.select(*(exp.alias_(v, n, quoted=True) for v, n in zip(row, names, strict=True))) for row in rows
            ]
            return reduce(lambda a, b: exp.union(a, b, distinct=False), parts)
    raise NotImplementedError(name)


def in_duck_words(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Anonymous) and node.name.lower() == "raise_error":
        return exp.Anonymous(this="error", expressions=node.expressions)
    if isinstance(node, exp.Anonymous) and node.name.lower() == "array_repeat":
        value, times = node.expressions
        return exp.Anonymous(this="REPEAT", expressions=[exp.Array(expressions=[value]), times])
    if isinstance(node, exp.RegrCount):  # DuckDB's is unsigned, and NULL over no rows in a correlated subquery
        both = exp.and_(*(a.is_(exp.null()).not_() for a in (node.this, node.expression)))
        return exp.Count(this=exp.case().when(both, exp.Literal.number(1)))
    return node


def fill(schema: str, name: str, columns: Sequence[Column], rows: Bag) -> list[str]:
    target = f"{schema}.{quoted(name)}"
    shape = ", ".join(f"{quoted(c.name)} {duck_type(c.type)}" for c in columns)
    statements = [f"CREATE OR REPLACE TABLE {target} ({shape})"]
    values = ", ".join("(" + ", ".join(map(constant, row)) + ")" for row in rows.elements())
    return [*statements, f"INSERT INTO {target} VALUES {values}"] if values else statements


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def duck_type(spark: str) -> str:
    struct = re.fullmatch(r"struct<(.*)>", spark)
    if struct:
        fields = (f.split(":") for f in struct[1].split(","))
        return "struct(" + ", ".join(f"{quoted(n)} {duck_type(t)}" for n, t in fields) + ")"
    return "varchar" if spark == "string" else spark


def constant(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"'{value}'::DOUBLE"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(k)}: {constant(v)}" for k, v in value.items()) + "}"
    if isinstance(value, bool | int | Decimal):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def bag(rows: Iterable[tuple[Any, ...]]) -> Bag:
    return Counter(tuple(comparable(v) for v in row) for row in rows)


DUST = 1e-15
"""a covariance that DuckDB finds where there is none"""


def comparable(value: Any) -> Any:
    """Numbers compare by value, whatever their type: fractions to twelve digits, dust as 0, and NaN as itself."""
    if isinstance(value, Decimal | Fraction | float):
        if isinstance(value, float) and not math.isfinite(value):
            return "NaN" if math.isnan(value) else value
        return Decimal(0) if abs(value) < DUST else Decimal(f"{float(value):.12g}")
    return tuple(map(comparable, value)) if isinstance(value, list | tuple) else value


def rounded(rows: Bag, decimals: int | None) -> Bag:
    if decimals is None:
        return rows
    return bag(tuple(round(v, decimals) if isinstance(v, Decimal) else v for v in row) for row in rows.elements())

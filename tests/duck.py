"""The same steps on DuckDB, through the emitter: the interpreter cannot see a wrong parenthesis, a database can."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
from sqlglot import parse_one
from tests.apply_bags import apply_change
from tests.steps import Step

from rollview.algebra.relation import State
from rollview.algebra.schema import Column
from rollview.names import COUNT
from rollview.plan.emit import emit, sql, table
from rollview.plan.extent import EXTENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlglot import exp
    from tests.law import Subject
    from tests.steps import Rows

    from rollview.algebra.interpreter import Bag
    from rollview.algebra.relation import Relation, Scan


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One for all cases: opening costs more than a case."""
    return duckdb.connect(":memory:", config={"threads": 1})


@dataclass
class Duck:
    """A database that holds a view's base tables in several states, one schema for each."""

    subject: Subject
    states: Sequence[Rows]
    through_spark: bool = True
    """emit for Spark and let sqlglot read that again: then a parenthesis that is missing there is missed here"""
    connection: duckdb.DuckDBPyConnection = field(default_factory=database)

    def __post_init__(self) -> None:
        statements = ["USE main"]
        for i, state in enumerate(self.states):
            statements += [f"DROP SCHEMA IF EXISTS s{i} CASCADE", f"CREATE SCHEMA s{i}"]
            for name in self.subject.view.reads:
                statements += fill(f"s{i}", name, self.subject.tables[name].columns, state[name])
        self.connection.execute("; ".join(statements))

    def rows(self, node: Relation, since: int, upto: int) -> Bag:
        return self.run(self.text(node, since, upto))

    def text(self, node: Relation, since: int, upto: int) -> str:
        def bind(scan: Scan) -> exp.Table:
            if scan.table == EXTENT:
                return table(EXTENT)
            if scan.at in (State.BEFORE, State.AFTER):
                return table(f"s{upto if scan.at is State.AFTER else since}", scan.table)
            return table("main", f"{scan.table}__{scan.at.value}")

        tree = emit(node, bind)
        if not self.through_spark:
            return sql(tree, "duckdb")
        return parse_one(sql(tree, "spark"), read="spark").sql("duckdb")

    def run(self, text: str) -> Bag:
        return bag(self.connection.execute(text).fetchall())

    def stored(self, at: int) -> Bag:
        """The extent, recomputed and put where readers look."""
        text = self.text(self.subject.view.extent.rows, at, at)
        self.connection.execute(f"CREATE OR REPLACE TABLE main.{EXTENT} AS {text}")
        return self.run(f"SELECT * FROM main.{EXTENT}")

    def read(self) -> Bag:
        """What a reader of the extent sees."""
        self.connection.execute("USE main")
        return self.rows(self.subject.view.extent.reader, 0, 0)

    def meant(self, at: int) -> Bag:
        """The user's own text."""
        self.connection.execute(f"USE s{at}")
        return self.run(self.subject.sql)

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
        change = self.rows(plan.change, since, upto)
        return apply_change(self.subject.view.extent, stored, change, inserts_only=plan.inserts_only)


KEPT = (State.BEFORE, State.AFTER)


def check_on_duckdb(
    subject: Subject,
    states: Sequence[Rows],
    spans: Sequence[tuple[int, int]],
    *,
    through_spark: bool = True,
    interpreted: bool = False,
) -> None:
    """The law on DuckDB: maintenance against definition, and readers against the user's own text.

    Foreign keys are used on every span, and left unused on the last.
    """
    duck = Duck(subject, states, through_spark=through_spark)
    right = []
    for i in range(len(states)):
        right.append(duck.stored(i))
        meant = duck.meant(i)
        assert duck.read() == meant, "readers see something else than the user's text says"
        if interpreted:
            found = subject.meant(Step(subject.tables, states[i], states[i]))
            assert bag(found.elements()) == meant, "the interpreter and DuckDB read the view differently"
    for since, upto in spans:
        assert duck.advance(since, upto, right[since], foreign_keys=True) == right[upto], f"{since}..{upto}"
    since, upto = spans[-1]
    assert duck.advance(since, upto, right[since], foreign_keys=False) == right[upto], f"{since}..{upto}, naive"


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


def comparable(value: Any) -> Any:
    """Numbers of any type compare by value, fractions to twelve digits, and NaN as itself."""
    if isinstance(value, Decimal | Fraction):
        return int(value) if value == int(value) else float(f"{float(value):.12g}")
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value if math.isinf(value) else float(f"{value:.12g}")
    return value

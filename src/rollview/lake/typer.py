"""Types from Spark: the compiler's Typer over a lake."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from sqlglot import exp

from rollview.algebra.clock import as_called
from rollview.algebra.relation import Relation
from rollview.algebra.scalar import Scalar
from rollview.algebra.schema import Schema
from rollview.lake.lake import Lake
from rollview.lake.refs import user_table
from rollview.plan.emit import emit, ident


class SparkTyper:
    """Asks Spark's analyser; no job runs."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.trusted: set[str] = set()
        """functions of the user's own that he vouches for"""

    def query(self, sql: str) -> Schema:
        with self.lake.in_warehouse():
            return self.lake.schema(sql)

    def relation(self, node: Relation) -> Schema:
        return self.lake.schema(self.emitted(node))

    def generated(self, node: Relation, generator: Scalar) -> tuple[str, ...]:
        source = exp.Subquery(this=self.emitted(node), alias=exp.TableAlias(this=ident("source")))
        query = exp.Select(expressions=[generator.tree.copy()], from_=exp.From(this=source))
        return tuple(c.name for c in self.lake.schema(query))

    def pivoted(self, columns: Sequence[tuple[str, str]], pivot: exp.Pivot) -> Schema:
        nulls = [exp.alias_(exp.cast(exp.null(), type_, dialect="spark"), ident(name)) for name, type_ in columns]
        source = exp.Subquery(this=exp.Select(expressions=nulls), pivots=[pivot.copy()])
        return self.lake.schema(exp.Select(expressions=[exp.Star()], from_=exp.From(this=source)))

    def emitted(self, node: Relation) -> exp.Query:
        return emit(as_called(node), lambda scan: user_table(scan.table).tree(), fragment=True)

    def is_builtin(self, function: str) -> bool:
        return function in self.builtins or function in self.trusted

    @cached_property
    def builtins(self) -> frozenset[str]:
        rows = self.lake.run("SHOW SYSTEM FUNCTIONS").toArrow()
        return frozenset(str(name).lower() for name in rows.column(0).to_pylist())

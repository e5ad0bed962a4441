"""The form of a stored view delta: the columns of the view's extent, a count for rows, and the tick.

Law (net effect, φ): changes of one row add up by `__count`, changes of one group by every state; what adds up to
nothing is no change. So the sum of a view delta over (a, b] carries the extent from tick a to tick b, and its negation
carries it back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from rollview.algebra.schema import Column, Schema
from rollview.capture.net import counted, row_codes
from rollview.names import COUNT, PREFIX, SIZE, TICK
from rollview.plan.emit import ident
from rollview.plan.extent import Extent, Kind, adds_up
from rollview.plan.images import image_columns

CODE, PLACE = f"{PREFIX}code", f"{PREFIX}place"


@dataclass(frozen=True, slots=True)
class Layout:
    """How the rows of an extent are kept and matched, and so how its changes add up."""

    kind: Kind
    key: tuple[str, ...]
    columns: Schema

    @classmethod
    def for_extent(cls, extent: Extent, columns: Schema) -> Self:
        """The layout for the changes of an extent whose stored columns are given."""
        if adds_up(extent):
            return cls(extent.kind, extent.key, columns)
        called = image_columns(tuple(c.name for c in columns))
        return cls(Kind.KEYED, extent.key, tuple(Column(n, c.type) for n, c in zip(called, columns, strict=True)))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    @property
    def images(self) -> bool:
        """Are these rows the groups of an aggregate, as they were and as they are (plan/images.py)?"""
        return SIZE in self.names

    @property
    def keeps_states(self) -> bool:
        return self.kind is Kind.AGGREGATE

    @property
    def states(self) -> tuple[str, ...]:
        """What adds up: the states of a group, or the count of a row."""
        return tuple(n for n in self.names if n not in self.key) if self.keeps_states else (COUNT,)

    @property
    def matched(self) -> tuple[str, ...]:
        """What changes are matched by."""
        return self.key if self.keeps_states else self.names

    @property
    def delta(self) -> Schema:
        """The columns of the stored view delta."""
        counted = () if self.keeps_states else (Column(COUNT, "bigint"),)
        return (*self.columns, *counted, Column(TICK, "bigint"))

    def plain(self) -> dict[str, Any]:
        return {"kind": self.kind.value, "key": list(self.key), "columns": [[c.name, c.type] for c in self.columns]}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        columns = tuple(Column(name, type_) for name, type_ in plain["columns"])
        return cls(Kind(plain["kind"]), tuple(plain["key"]), columns)

    # --- φ on the driver ------------------------------------------------------------------------------

    def net(self, rows: pa.Table, sign: int = 1) -> pa.Table:
        """φ of small changes: the matched columns and what adds up, without ticks."""
        if not rows.num_rows:
            return rows.drop_columns([TICK])
        if self.keeps_states:
            return self.summed(rows, sign)
        net = counted(rows.select([*self.names, COUNT]))
        counts = net.column(COUNT).to_numpy() * sign
        return net.set_column(len(self.names), COUNT, pa.array(counts, pa.int64())).filter(pa.array(counts != 0))

    def summed(self, rows: pa.Table, sign: int) -> pa.Table:
        codes = row_codes(rows.select(list(self.key))) if self.key else np.zeros(rows.num_rows, dtype=np.int64)
        _, first = np.unique(codes, return_index=True)
        table = rows.select(list(self.states)).append_column(CODE, pa.array(codes))
        totals = table.group_by(CODE).aggregate([(s, "sum") for s in self.states]).sort_by(CODE)
        found = {k: rows.column(k).take(pa.array(first)) for k in self.key}
        moved = np.zeros(len(first), dtype=bool)
        for state in self.states:
            total = totals.column(f"{state}_sum").cast(rows.schema.field(state).type)
            found[state] = pc.negate(total) if sign < 0 else total
            moved |= pc.not_equal(pc.sign(total), 0).to_numpy()
        return pa.table(found).select(list(self.names)).filter(pa.array(moved))

    def groups(self, rows: pa.Table) -> pa.Table:
        """Net changes of groups as the rows that take their places; a count of zero where none does."""
        gained = rows.column(COUNT).to_numpy() > 0
        codes = row_codes(rows.select(list(self.key))) if self.key else np.zeros(rows.num_rows, dtype=np.int64)
        order = np.lexsort((~gained, codes))
        _, first = np.unique(codes[order], return_index=True)
        taken = rows.take(pa.array(order[first]))
        left = pc.if_else(pa.array(gained[order[first]]), taken.column(SIZE), 0)
        place = taken.column_names.index(SIZE)
        return taken.drop_columns([COUNT]).set_column(place, COUNT, left.cast(pa.int64()))

    # --- φ in Spark -----------------------------------------------------------------------------------

    def net_query(self, changes: exp.Query, sign: int = 1) -> exp.Select:
        """φ of any number of changes, as a query over them."""
        added = [exp.alias_(self.total(s, sign), s, quoted=True) for s in self.states]
        moved = [exp.NEQ(this=self.total(s, sign), expression=exp.Literal.number(0)) for s in self.states]
        query = exp.select(*(column(c) for c in self.matched), *added)
        query = query.from_(exp.Subquery(this=changes, alias=exp.TableAlias(this=ident("d"))))
        if self.matched:
            query = query.group_by(*(column(c) for c in self.matched))
        return query.having(exp.or_(*moved))

    def total(self, state: str, sign: int = 1) -> exp.Expr:
        total: exp.Expr = exp.Sum(this=column(state))
        total = exp.Neg(this=total) if sign < 0 else total
        return exp.cast(total, self.type_of(state), dialect="spark")

    def type_of(self, state: str) -> str:
        return next((c.type for c in self.columns if c.name == state), "bigint")

    def rolled(self, extent: exp.Expr, changes: exp.Query, sign: int) -> exp.Query:
        """The extent's rows after the changes, or, with -1, before them."""
        moved = signed(changes, self.matched, self.states, sign)
        if self.keeps_states:
            here = exp.select(*(column(c) for c in (*self.key, *self.states))).from_(extent.copy())
            query = self.net_query(exp.Union(this=here, expression=moved, distinct=False))
            support = exp.GT(this=self.total(COUNT), expression=exp.Literal.number(0))
            query.set("having", exp.Having(this=support) if self.key else None)
            return query
        one = exp.alias_(exp.cast(exp.Literal.number(1), "bigint"), COUNT, quoted=True)
        here = exp.select(*self.logged(), one).from_(extent.copy())
        net = self.net_query(exp.Union(this=here, expression=moved, distinct=False))
        if self.images:
            source = exp.Subquery(this=net, alias=exp.TableAlias(this=ident("e")))
            return exp.select(*self.stored()).from_(source)
        copies = exp.Anonymous(this="ARRAY_REPEAT", expressions=[exp.Literal.number(1), exp.cast(column(COUNT), "int")])
        repeated = exp.alias_(exp.Explode(this=copies), COUNT, quoted=True)
        source = exp.Subquery(this=net, alias=exp.TableAlias(this=ident("e")))
        return exp.select(*(column(c) for c in self.names), repeated).from_(source)

    def logged(self) -> list[exp.Expr]:
        """The extent's columns as changes call them, and back."""
        return [exp.alias_(column(COUNT), SIZE, quoted=True) if n == SIZE else column(n) for n in self.names]

    def stored(self) -> list[exp.Expr]:
        return [exp.alias_(column(SIZE), COUNT, quoted=True) if n == SIZE else column(n) for n in self.names]

    def groups_query(self, net: exp.Table) -> exp.Query:
        """`groups` in Spark."""
        order = exp.Order(expressions=[exp.Ordered(this=column(COUNT), desc=True)])
        place = exp.Window(this=exp.RowNumber(), partition_by=[column(k) for k in self.key], order=order)
        numbered = exp.select(*(column(n) for n in self.names), column(COUNT)).select(
            exp.alias_(place, PLACE, quoted=True)
        )
        source = exp.Subquery(this=numbered.from_(net.copy()), alias=exp.TableAlias(this=ident("d")))
        gained = exp.GT(this=column(COUNT), expression=exp.Literal.number(0))
        left = exp.If(this=gained, true=column(SIZE), false=exp.Literal.number(0))
        shown = [exp.alias_(left, COUNT, quoted=True) if n == SIZE else column(n) for n in self.names]
        first = exp.EQ(this=column(PLACE), expression=exp.Literal.number(1))
        return exp.select(*shown).from_(source).where(first)


def signed(changes: exp.Query, kept: Sequence[str], states: Sequence[str], sign: int) -> exp.Select:
    """Changes forward, or taken back."""
    values: list[exp.Expr] = [column(s) for s in states]
    if sign < 0:
        values = [exp.alias_(exp.Neg(this=v), s, quoted=True) for v, s in zip(values, states, strict=True)]
    source = exp.Subquery(this=changes.copy(), alias=exp.TableAlias(this=ident("d")))
    return exp.select(*(column(c) for c in kept), *values).from_(source)


def column(name: str) -> exp.Column:
    return exp.Column(this=ident(name))


def elementary(rows: pa.Table) -> pa.Table:
    """Counts of more than one as several rows."""
    counts = rows.column(COUNT).to_numpy()
    at = np.repeat(np.arange(len(counts)), np.abs(counts))
    taken = rows.drop_columns([COUNT]).take(pa.array(at))
    return taken.append_column(COUNT, pa.array(np.sign(counts[at]), pa.int64()))

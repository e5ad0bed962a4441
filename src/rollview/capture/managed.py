"""Transactions on managed tables: several tables, one tick, all or nothing.

Operations are gathered and run at commit, under the writer's lease, in order; each sees what the ones before it did.
The rows go to the change logs first. The unit-of-work row is the commit point; the tables follow (apply/fold.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rollview.capture.net import net, row_codes
from rollview.catalog import ControlStore, TableChange
from rollview.catalog.stored import Stored
from rollview.errors import BadInput, NotYetSupported
from rollview.frontend.dialect import SparkSQL
from rollview.lake.arrow import arrow_schema, to_arrow
from rollview.lake.errors import conflict
from rollview.lake.lake import Lake
from rollview.lake.regions import regions
from rollview.lake.statements import is_frame
from rollview.names import COUNT, PROPERTY_TICK, TICK
from rollview.plan.emit import ident, table
from rollview.plan.merge import column
from rollview.steps import reached

PENDING, GIVEN = "__pending", "__given"
MANAGED = "managed"
"""the source whose transactions these are"""


@dataclass(slots=True)
class Operation:
    """One call of the user's, checked as far as it can be without reading tables."""

    kind: str
    table: Stored
    rows: Any = None
    sets: dict[str, exp.Expr] = field(default_factory=dict)
    where: exp.Expr | None = None


class Transaction:
    """Gathers operations; `tick` is known after the commit."""

    def __init__(self, committer: Committer, tables: Mapping[str, Stored], at: datetime | None = None) -> None:
        self._committer = committer
        self._tables = tables
        self._at = at
        self._operations: list[Operation] = []
        self._done = False
        self.tick: int | None = None

    def insert(self, name: str, data: Any) -> None:
        """Add rows. In a table with a key, a key that is there already is an error."""
        self._add(self._with_rows("insert", name, data))

    def upsert(self, name: str, data: Any) -> None:
        """Add rows, replacing those that have the same key."""
        operation = self._with_rows("upsert", name, data)
        if operation.table.base.key is None:
            raise BadInput(
                f"{name} has no key to upsert by", code="RV-NO-KEY", hint="insert, or create it with key=[…]"
            )
        self._add(operation)

    def update(self, name: str, set: Mapping[str, Any], where: str | None = None) -> None:
        """Change columns, given as SQL expressions over the row."""
        stored = self._table(name)
        sets = {}
        for given, value in set.items():
            found = stored.base.column(given)
            if found is None:
                raise BadInput(f"{name} has no column {given!r}", code="RV-UNKNOWN-COLUMN")
            sets[found.name] = expression(value) if isinstance(value, str) else exp.convert(value)
        if not sets:
            raise BadInput("update changes no column", code="RV-DATA-SHAPE", hint="set={'column': 'expression'}")
        self._add(Operation("update", stored, sets=sets, where=condition(where)))

    def delete(self, name: str, where: str | None = None) -> None:
        """Remove the rows that satisfy a condition; without one, all rows."""
        self._add(Operation("delete", self._table(name), where=condition(where)))

    def _with_rows(self, kind: str, name: str, data: Any) -> Operation:
        stored = self._table(name)
        rows = data if is_frame(data) else to_arrow(data, stored.base.columns, stored.name)
        return Operation(kind, stored, rows=rows)

    def _table(self, name: str) -> Stored:
        found = self._tables.get(name.lower())
        if found is None:
            raise BadInput(f"there is no table {name!r}", code="RV-UNKNOWN-TABLE", hint="create it with create_table")
        if found.relation.kind != "table":
            raise BadInput(
                f"{name} is not a managed table, so rollview does not write it",
                code="RV-NOT-MANAGED",
                hint="write it where it lives",
            )
        return found

    def _add(self, operation: Operation) -> None:
        if self._done:
            raise BadInput("the transaction is over", code="RV-TRANSACTION-OVER", hint="begin another")
        self._operations.append(operation)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done = True
        if kind is None and self._operations:
            self.tick = self._committer.commit(self._operations, self._at)

    def __repr__(self) -> str:
        state = f"tick {self.tick}" if self.tick else ("over" if self._done else "open")
        return f"<Transaction {state}, {len(self._operations)} operations>"


class Committer:
    """Turns gathered operations into change-log rows under one tick."""

    def __init__(self, lake: Lake, control: ControlStore, fold: Callable[[Stored], None]) -> None:
        self.lake = lake
        self.control = control
        self.fold = fold

    def commit(self, operations: Sequence[Operation], at: datetime | None = None) -> int:
        with self.control.leases.hold("writer", wait=120.0) as lease:
            tables = {o.table.name: o.table for o in operations}
            for stored in tables.values():
                if self.control.relations.get(stored.name).columns != stored.relation.columns:
                    raise conflict(f"{stored.name} was altered after the transaction had begun")
                self.fold(stored)
            tick = self.control.ticks.open_tick(lease, MANAGED)
            reached("transaction.opened")
            changes = {}
            for name, stored in tables.items():
                pending = self.pending(stored, [o for o in operations if o.table.name == name])
                changes[name] = self.log(stored, pending, tick)
                reached("transaction.logged")
            changes = {n: c for n, c in changes.items() if c.inserted or c.deleted}
            self.control.ticks.commit_tick(
                lease, tick, position=str(tick), committed_at=at or datetime.now(UTC), tables=changes
            )
            reached("transaction.committed")
            for name in changes:
                self.fold(tables[name])
                reached("transaction.folded")
        return tick

    def pending(self, stored: Stored, operations: Sequence[Operation]) -> Any:
        """The net signed rows of one table's operations: Arrow, or a Spark frame if there are many."""
        rows: pa.Table | None = None
        for operation in operations:
            if is_frame(operation.rows) and len(operations) == 1:
                return self.large_insert(stored, operation)
            added = self.run(stored, operation, rows)
            rows = net(pa.concat_tables([rows, added]) if rows is not None else added)
        assert rows is not None
        self.check_keys(stored, rows)
        return rows

    def run(self, stored: Stored, operation: Operation, before: pa.Table | None) -> pa.Table:
        """Signed rows of one operation, given the net rows of those before it."""
        if operation.kind in ("insert", "upsert"):
            given = operation.rows
            if is_frame(given):
                given = to_arrow(given.toArrow(), stored.base.columns, stored.name)
            refuse_null_keys(stored, given)
            gained = signed(given, 1)
            if operation.kind == "insert":
                return gained
            refuse_repeated_keys(stored, given)
            return pa.concat_tables([self.existing(stored, given, before), gained])
        old = self.selected(stored, operation.where, before)
        if operation.kind == "delete":
            return signed(old, -1)
        new = self.updated(stored, old, operation.sets)
        return pa.concat_tables([signed(old, -1), signed(new, 1)])

    def selected(self, stored: Stored, where: exp.Expr | None, before: pa.Table | None) -> pa.Table:
        """The rows that a condition picks from the table as it is inside the transaction."""
        query = exp.select(*(exp.Column(this=ident(c.name)) for c in stored.base.columns))
        condition_ = [where.copy()] if where is not None else []
        rows = self.lake.fetch(query.from_(stored.extent.tree()).where(*condition_))
        rows = rows.cast(arrow_schema(stored.base.columns))
        if before is None:
            return rows
        self.lake.bind(PENDING, before)
        try:
            moved = self.lake.fetch(
                query.select(exp.Column(this=ident(COUNT))).from_(table(PENDING)).where(*condition_)
            )
        finally:
            self.lake.unbind([PENDING])
        present = net(pa.concat_tables([signed(rows, 1), moved.cast(signed(rows, 1).schema)]))
        return present.drop_columns([COUNT])

    def updated(self, stored: Stored, old: pa.Table, sets: Mapping[str, exp.Expr]) -> pa.Table:
        names = [c.name for c in stored.base.columns]
        types = {c.name: c.type for c in stored.base.columns}
        self.lake.bind(PENDING, old)
        try:
            columns = [
                exp.alias_(exp.cast(exp.Paren(this=sets[n].copy()), types[n], dialect="spark"), n, quoted=True)
                if n in sets
                else exp.Column(this=ident(n))
                for n in names
            ]
            new = self.lake.fetch(exp.select(*columns).from_(table(PENDING)))
        finally:
            self.lake.unbind([PENDING])
        rows = new.cast(arrow_schema(stored.base.columns))
        refuse_null_keys(stored, rows)
        return rows

    def existing(self, stored: Stored, given: pa.Table, before: pa.Table | None) -> pa.Table:
        """The old rows that an upsert replaces, as lost rows."""
        key = list(stored.base.key or ())
        found = self.with_keys(stored, given.select(key))
        if before is not None:
            theirs = np.isin(*codes_of(before.select(key), given.select(key)))
            found = net(pa.concat_tables([signed(found, 1), before.filter(pa.array(theirs))])).drop_columns([COUNT])
        return signed(found, -1)

    def with_keys(self, stored: Stored, keys: pa.Table) -> pa.Table:
        """The table's rows that have one of the given keys; bounds keep the scan near them."""
        schema = arrow_schema(stored.base.columns)
        if keys.num_rows == 0 or not self.lake.live_rows(stored.extent):
            return schema.empty_table()
        key = keys.column_names
        same = [exp.EQ(this=column("t", k), expression=column("g", k)) for k in key]  # keys are never NULL
        near = [r.test(column("t", k)) for k, r in regions(keys, key).items()]
        self.lake.bind(GIVEN, keys)
        try:
            given = exp.alias_(table(GIVEN), "g", table=True)
            inner = exp.select(exp.Literal.number(1)).from_(given).where(*same)
            query = (
                exp.select(*(column("t", c.name) for c in stored.base.columns))
                .from_(exp.alias_(stored.extent.tree(), "t", table=True))
                .where(*near, exp.Exists(this=inner))
            )
            return self.lake.fetch(query).cast(schema)
        finally:
            self.lake.unbind([GIVEN])

    def check_keys(self, stored: Stored, rows: pa.Table) -> None:
        """No key twice: neither among the new rows nor with a row that stays."""
        key = list(stored.base.key or ())
        if not key:
            return
        counts = rows.column(COUNT).to_numpy()
        gained, lost = rows.filter(pa.array(counts > 0)).select(key), rows.filter(pa.array(counts < 0)).select(key)
        refuse_repeated_keys(stored, gained)
        replaced = np.isin(*codes_of(gained, lost))
        there = self.with_keys(stored, gained.filter(pa.array(~replaced)))
        if there.num_rows:
            raise duplicate_key(stored, there.select(key).slice(0, 1).to_pylist()[0])

    def large_insert(self, stored: Stored, operation: Operation) -> Any:
        """A Spark frame stays in Spark, unless it is an upsert."""
        frame = operation.rows
        names = [c.name for c in stored.base.columns]
        if operation.kind == "upsert":
            rows = self.run(stored, Operation("upsert", stored, rows=frame), None)
            self.check_keys(stored, rows)
            return rows
        return self.lake.conform(frame, stored.base.columns, stored.name, stored.base.key, stored.extent, names)

    def log(self, stored: Stored, pending: Any, tick: int) -> TableChange:
        properties = {PROPERTY_TICK: str(tick)}
        if isinstance(pending, pa.Table):
            if not pending.num_rows:
                return TableChange(0, 0)
            counts = pending.column(COUNT).to_numpy()
            stamped = pending.append_column(TICK, pa.array(np.full(pending.num_rows, tick), pa.int64()))
            self.lake.append_small(stored.log, stamped, properties)
            return TableChange(int((counts > 0).sum()), int((counts < 0).sum()))
        self.lake.append_signed(stored.log, pending, tick, properties)
        commit = self.lake.commit(stored.log)
        return TableChange(commit.number("added-records") if commit else 0, 0)


def signed(rows: pa.Table, count: int) -> pa.Table:
    return rows.append_column(COUNT, pa.array(np.full(rows.num_rows, count), pa.int64()))


def codes_of(left: pa.Table, right: pa.Table) -> tuple[Any, Any]:
    codes = row_codes(pa.concat_tables([left, right]))
    return codes[: left.num_rows], codes[left.num_rows :]


def refuse_null_keys(stored: Stored, rows: pa.Table) -> None:
    for name in stored.base.key or ():
        if rows.column(name).null_count:
            raise BadInput(f"the key column {name!r} of {stored.name} is NULL in some row", code="RV-NULL-KEY")


def refuse_repeated_keys(stored: Stored, rows: pa.Table) -> None:
    key = list(stored.base.key or ())
    if not key or rows.num_rows < 2:
        return
    codes = row_codes(rows.select(key))
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    if (counts > 1).any():
        place = int(first[counts > 1][0])
        raise duplicate_key(stored, rows.select(key).slice(place, 1).to_pylist()[0])


def duplicate_key(stored: Stored, key: Mapping[str, Any]) -> BadInput:
    shown = ", ".join(f"{k}={v!r}"[:80] for k, v in key.items())
    return BadInput(
        f"the key {shown} would occur twice in {stored.name}",
        code="RV-DUPLICATE-KEY",
        hint="use upsert to replace rows by key",
    )


def expression(text: str) -> exp.Expr:
    try:
        tree = sqlglot.parse_one(text, read=SparkSQL)
    except SqlglotError:
        raise BadInput(f"not an SQL expression: {text[:80]!r}", code="RV-SYNTAX") from None
    if isinstance(tree, exp.Query) and not isinstance(tree, exp.Subquery):
        raise BadInput(f"a query is not an expression: {text[:80]!r}", code="RV-SYNTAX")
    if tree.find(exp.Query):
        raise NotYetSupported(
            "an expression in a transaction is over the row alone", code="RV-SUBQUERY", hint="query first, then write"
        )
    return tree


def condition(text: str | None) -> exp.Expr | None:
    return expression(text) if text is not None else None

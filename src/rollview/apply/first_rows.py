"""Stored rows with a reserve (plan/reserve.py): what the extent's commit says of them.

The bound, and how many rows there are, are committed with the rows, as a property of the snapshot, so they agree
whatever process dies when. A commit that only rewrites files says nothing, and the one before it counts; if that one
has expired, nobody knows the bound, and the rows are derived anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from pyiceberg.table.snapshots import Operation
from sqlglot import exp

from rollview.change import Change
from rollview.frontend.dialect import SparkSQL
from rollview.lake.arrow import literal
from rollview.lake.lake import Lake
from rollview.lake.refs import TableRef
from rollview.names import COUNT, PROPERTY_RESERVE
from rollview.plan.emit import emit, ident, sql
from rollview.plan.extent import Extent, stored
from rollview.plan.reserve import ROWS, Reserve, Stock

CHOSEN = "__chosen"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Rows to store: on the driver or a frame, a name by which SQL reads them, and what their commit says of them
    beside its tick."""

    rows: Any
    named: Callable[[], exp.Table]
    said: dict[str, str]


@contextmanager
def chosen(lake: Lake, reserve: Reserve, query: exp.Query, columns: Sequence[str], most: int = 0) -> Iterator[Chosen]:
    """The rows of a query that chooses the first, with their bound; on the driver if they are at most so many."""
    rows = lake.taken(in_order(query, reserve, columns), most) if most else lake.run(query)
    if isinstance(rows, pa.Table):
        try:
            yield Chosen(rows, lambda: lake.bind(CHOSEN, rows), said(stock(reserve, last_of(rows, reserve))))
        finally:
            lake.unbind([CHOSEN])
        return
    frame = lake.persisted(rows)
    try:
        name = lake.bind(CHOSEN, frame)
        edge = lake.fetch(emit(reserve.edge(stored(tuple(columns))), lambda _: name.copy()))
        yield Chosen(frame, name.copy, said(stock(reserve, edge)))
    finally:
        lake.unbind([CHOSEN])
        frame.unpersist()


def in_order(query: exp.Query, reserve: Reserve, columns: Sequence[str]) -> exp.Select:
    """The rows that were ranked among all, by one task therefore, and so in their order already."""
    rows = exp.Subquery(this=query, alias=exp.TableAlias(this=ident(CHOSEN)))
    shown = exp.select(*(exp.Column(this=ident(c)) for c in columns)).from_(rows, copy=False)
    return shown.sort_by(*(o.copy() for o in reserve.order), copy=False)


def last_of(rows: pa.Table, reserve: Reserve) -> pa.Table:
    """What `Reserve.edge` says, of rows that are in order."""
    last = rows.slice(max(rows.num_rows - 1, 0)).select(list(dict.fromkeys(reserve.columns)))
    return last.append_column(ROWS, pa.array([rows.num_rows] * last.num_rows, pa.int64()))


@contextmanager
def computed(lake: Lake, extent: Extent, query: exp.Query, most: int = 0) -> Iterator[tuple[Any, dict[str, str]]]:
    """All rows to store, by the query of the extent's rows, and what their commit says of them beside its tick."""
    if extent.reserve is None:
        yield lake.taken(query, most), {}
        return
    with chosen(lake, extent.reserve, query, extent.rows.names, most) as found:
        yield found.rows, found.said


def stock(reserve: Reserve, edge: pa.Table) -> Stock:
    """From the last of the chosen rows."""
    if not edge.num_rows:
        return Stock(0, 0, None)
    (last,) = edge.to_pylist()
    bound = tuple(exp.null() if last[c] is None else literal(last[c]) for c in reserve.columns)
    return Stock(last[ROWS], last[ROWS], bound if last[ROWS] >= reserve.wanted else None)


def moved(lake: Lake, before: Stock, change: Change) -> Stock:
    """After a change of the stored rows."""
    if change.rows is not None:
        total = pc.sum(change.rows.column(COUNT)).as_py()
    else:
        query = exp.select(exp.Sum(this=exp.Column(this=ident(COUNT)))).from_(change.name.copy())
        total = lake.fetch(query).column(0)[0].as_py()
    return replace(before, rows=before.rows + int(total or 0))


def said(of: Stock) -> dict[str, str]:
    bound = None if of.bound is None else [sql(value) for value in of.bound]
    return {PROPERTY_RESERVE: json.dumps({"rows": of.rows, "derived": of.derived, "bound": bound})}


def stock_at(lake: Lake, extent: TableRef, snapshot_id: int | None) -> Stock | None:
    """What a snapshot says of its rows; None if it is not known."""
    table = lake.load(extent)
    while snapshot_id is not None and (snapshot := table.snapshot_by_id(snapshot_id)) and snapshot.summary:
        text = snapshot.summary.additional_properties.get(PROPERTY_RESERVE)
        if text is not None:
            return read(text)
        if snapshot.summary.operation is not Operation.REPLACE:
            return None
        snapshot_id = snapshot.parent_snapshot_id
    return None


def read(text: str) -> Stock:
    plain = json.loads(text)
    bound = plain.pop("bound")
    values = None if bound is None else tuple(sqlglot.parse_one(value, dialect=SparkSQL) for value in bound)
    return Stock(**plain, bound=values)

"""Random tables and histories of tests/property, carried into a real warehouse."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from sqlglot import exp

if TYPE_CHECKING:
    from random import Random

    from tests.steps import Rows

    from rollview import Warehouse
    from rollview.algebra.schema import BaseTable, Tables
    from rollview.capture.managed import Transaction

Row = tuple[Any, ...]


def create_tables(wh: Warehouse, tables: Tables) -> None:
    """The tables with their keys, and those of their foreign keys that the public API can declare."""
    for table in tables.values():
        columns = ", ".join(f"{c.name} {c.type}" for c in table.columns)
        references = {
            fk.columns[0]: fk.table for fk in table.foreign_keys if len(fk.columns) == 1 and fk.table != table.name
        }
        wh.create_table(table.name, columns, key=table.key, foreign_keys=references)


def advance(rng: Random, wh: Warehouse, tables: Tables, before: Rows, after: Rows) -> None:
    """One transaction from one state of all tables to the next."""
    with wh.transaction() as tx:
        for name, table in tables.items():
            change(rng, tx, table, before.get(name, Counter()), after[name])


def change(rng: Random, tx: Transaction, table: BaseTable, old: Counter[Row], new: Counter[Row]) -> None:
    if old == new:
        return
    if not new and rng.random() < 0.5:
        tx.delete(table.name)
    elif table.key is None:
        change_bag(tx, table, old, new)
    else:
        change_keyed(rng, tx, table, list(old), list(new))


def change_bag(tx: Transaction, table: BaseTable, old: Counter[Row], new: Counter[Row]) -> None:
    """A condition reaches all copies of a row at once; those that stay are inserted again."""
    lost = list(old - new)
    if lost:
        tx.delete(table.name, where=" OR ".join(f"({equals(table, row)})" for row in lost))
    gained = list((new - old).elements())
    gained += [row for row in lost for _ in range(new[row])]
    if gained:
        tx.insert(table.name, gained)


def change_keyed(rng: Random, tx: Transaction, table: BaseTable, old: list[Row], new: list[Row]) -> None:
    width = len(table.key or ())
    assert [c.name for c in table.columns][:width] == list(table.key or ())
    before, after = {r[:width]: r for r in old}, {r[:width]: r for r in new}
    removed = [k for k in before if k not in after]
    updated = [k for k in before if k in after and before[k] != after[k]]
    added = [after[k] for k in after if k not in before]
    replace = rng.random() < 0.3
    if gone := removed + (updated if replace else []):
        tx.delete(table.name, where=" OR ".join(f"({equals(table, key)})" for key in gone))
    if replace:
        added += [after[k] for k in updated]
    elif updated and rng.random() < 0.5:
        for k in updated:
            changed = dict(zip((c.name for c in table.columns[width:]), after[k][width:], strict=True))
            tx.update(table.name, set=changed, where=equals(table, k))
    elif updated:
        tx.upsert(table.name, [after[k] for k in updated])
    if added:
        rng.choice((tx.insert, tx.upsert))(table.name, added)


def equals(table: BaseTable, values: Row) -> str:
    """A condition on the first columns."""
    return " AND ".join(f"{c.name} <=> {spelled(v)}" for c, v in zip(table.columns, values, strict=False))


def spelled(value: Any) -> str:
    return exp.convert(value).sql("spark")

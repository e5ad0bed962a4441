"""Random views over tables whose columns are renamed, and joined by others of any name: what is stored stays."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.property.cases import Case, batches
from tests.pure_typer import PureTyper

from rollview.algebra.relation import Relation, Scan
from rollview.algebra.schema import Column
from rollview.algebra.walking import rebuilt
from rollview.errors import RollviewError
from rollview.plan.alter import Alter
from rollview.plan.compile import compile_view
from rollview.plan.redefine import stored_alike
from rollview.views import seen_by

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from rollview.algebra.schema import BaseTable, Tables

BATCH = 20


def altered(rng: Random, table: BaseTable) -> Alter:
    """Some columns get names that others have in other tables, and new columns take such names, too."""
    taken = {c.name for c in table.columns}
    free = [name for name in ("a", "b", "c", "d", "e", "f", "id", "k", "x", "z", "other") if name not in taken]
    rng.shuffle(free)
    renamed = [c.name for c in table.columns if rng.random() < 0.4]
    rename = {name: free.pop() for name in renamed}
    added = tuple(Column(free.pop(), "int") for _ in range(rng.randint(0, 2)))
    return Alter(rename=rename, add=added).fitted(table)


@pytest.mark.parametrize("batch", batches(100, BATCH))
def test_a_view_that_sees_the_columns_that_there_were_is_the_view_that_there_was(batch: int) -> None:
    kept = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = Case.of(seed, histories=0)
        rng = Random(seed)
        tables: Tables = case.tables
        alters = {name: altered(rng, table) for name, table in tables.items()}
        after = dict(tables)
        for name, alter in alters.items():
            after = alter.bases(after, name)
        seen = seen_by(after, {n: [(a.now(c.name), c.name) for c in tables[n].columns] for n, a in alters.items()})

        def renamed(node: Relation, alters: dict[str, Alter] = alters) -> Relation:
            if isinstance(node, Scan) and node.table in alters:
                names = alters[node.table].rename
                return replace(node, columns=tuple((names.get(c, c), name) for c, name in node.columns))
            return rebuilt(node, renamed)

        try:
            before = compile_view(case.sql, tables, PureTyper(tables))
        except RollviewError:
            continue
        now = compile_view(case.sql, seen, PureTyper(after))
        was = replace(before, extent=replace(before.extent, rows=renamed(before.extent.rows)))
        assert stored_alike(was, now), (seed, case.sql)
        assert (now.extent.columns, now.extent.layout) == (before.extent.columns, before.extent.layout), (
            seed,
            case.sql,
        )
        kept += 1
    assert kept > BATCH // 2

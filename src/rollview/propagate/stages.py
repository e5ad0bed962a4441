"""The queries that follow the maintenance query of a refresh, where that does not tell everything."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from rollview.algebra.relation import Relation, Scan
from rollview.algebra.scalar import Scalar, conjunction
from rollview.change import Change
from rollview.lake.lake import Lake
from rollview.lake.regions import regions
from rollview.plan.emit import emit, ident
from rollview.plan.stages import EXTENT
from rollview.propagate.versioned import Versioned

REPLACED = "__replaced"


class Stages:
    """Each is kept under a name by which the next may scan it, beside the extent and the tables of the span."""

    def __init__(self, lake: Lake, versioned: Versioned, stored: exp.Table) -> None:
        self.lake = lake
        self.versioned = versioned
        self.states = versioned.states
        self.bound: dict[str, exp.Table] = {EXTENT: stored}
        self.rederived = 0
        """groups that were derived from the base tables"""

    def stage(self, name: str, node: Relation, *, small: bool) -> Change:
        query = emit(node, self.bind)
        if small:
            return self.kept(name, self.lake.fetch(query))
        self.bound[name] = self.states.keep(name, self.lake.persisted(query))
        return Change(self.bound[name].copy, None)

    def kept(self, name: str, rows: pa.Table) -> Change:
        """Rows that are on the driver."""
        self.bound[name] = self.states.keep(name, rows)
        return Change(self.bound[name].copy, rows)

    def bind(self, scan: Scan) -> exp.Table:
        return self.bound[scan.table].copy() if scan.table in self.bound else self.versioned.bind(scan)

    def near(self, rows: pa.Table | None, key: Sequence[str]) -> Scalar | None:
        """Where the changed keys lie, as literals, by which the extent's files are pruned."""
        if rows is None:
            return None
        return conjunction(Scalar(found.test(exp.Column(this=ident(k)))) for k, found in regions(rows, key).items())

    def counted(self, found: Change) -> int:
        if found.rows is not None:
            return int(found.rows.num_rows)
        query = exp.select(exp.Count(this=exp.Star())).from_(found.name.copy())
        return int(self.lake.fetch(query).column(0)[0].as_py())

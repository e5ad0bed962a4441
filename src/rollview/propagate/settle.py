"""The stages after the change table, where it does not tell everything: see plan/rederive.py for the relations.

The extent is looked up by the keys of the change. Base tables are read only if some group is suspect, and then only for
the suspect groups.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from rollview.algebra.relation import Relation, Scan
from rollview.algebra.scalar import Scalar, conjunction
from rollview.change import Applied, Change
from rollview.lake.lake import Lake
from rollview.lake.refs import TableRef
from rollview.lake.regions import KnownKeys, regions
from rollview.names import COUNT
from rollview.plan.emit import emit, ident
from rollview.plan.extent import EXTENT, Extent
from rollview.plan.rederive import (
    CHANGED,
    FRESH,
    OLD,
    SETTLED,
    SUSPECT,
    SUSPECTS,
    rederived,
    replaced,
    settled,
    suspects,
)
from rollview.plan.restrict import restrict
from rollview.propagate.versioned import Versioned


class Settle:
    """Turns the change table of one span into the new rows of the changed groups."""

    def __init__(self, lake: Lake, versioned: Versioned, stored: TableRef, extent: Extent) -> None:
        self.lake = lake
        self.versioned = versioned
        self.states = versioned.states
        self.stored = stored
        self.extent = extent
        self.bound: dict[str, exp.Table] = {EXTENT: stored.tree()}
        self.rederived = 0
        """groups that were derived from the base tables"""

    def replaced(self, change: Change, sizes: dict[str, int], *, always: bool) -> tuple[Change, Applied]:
        """The rows that replace all changed groups, and what that does to the view."""
        self.bound[CHANGED] = change.name
        small = change.rows is not None
        known = self.stage(SETTLED, settled(self.extent, self.near(change.rows), always=always), small=small)
        doubtful = self.suspects(known)
        applied = self.counted(known)
        fresh = None
        if doubtful is not None:
            keys = KnownKeys(lambda table, state: doubtful.rows if table == SUSPECTS else None, sizes)
            fresh = self.stage(FRESH, restrict(self.versioned.clocked(rederived(self.extent)), keys), small=small)
        if known.rows is not None and (fresh is None or fresh.rows is not None):
            rows = self.together(known.rows, fresh.rows if fresh is not None else None)
            return Change(self.states.keep(REPLACED, rows), rows), applied
        return self.stage(REPLACED, replaced(self.extent, fresh=fresh is not None), small=False), applied

    def stage(self, name: str, node: Relation, *, small: bool) -> Change:
        query = emit(node, self.bind)
        rows = self.lake.fetch(query) if small else None
        self.bound[name] = self.states.keep(name, rows if rows is not None else self.lake.run(query).persist())
        return Change(self.bound[name], rows)

    def bind(self, scan: Scan) -> exp.Table:
        return self.bound[scan.table].copy() if scan.table in self.bound else self.versioned.bind(scan)

    def near(self, rows: pa.Table | None) -> Scalar | None:
        """Where the changed keys lie, as literals, by which the extent's files are pruned."""
        if rows is None:
            return None
        tests = (Scalar(found.test(exp.Column(this=ident(k)))) for k, found in regions(rows, self.extent.key).items())
        return conjunction(tests)

    def suspects(self, known: Change) -> Change | None:
        """The keys of the groups that must be re-derived; None if there are none."""
        if known.rows is not None:
            found = known.rows.filter(known.rows.column(SUSPECT))
            self.rederived = found.num_rows
            if not found.num_rows:
                return None
            rows = found.select(list(self.extent.key) or [SUSPECT])
            self.bound[SUSPECTS] = self.states.keep(SUSPECTS, rows)
            return Change(self.bound[SUSPECTS], rows)
        doubtful = self.stage(SUSPECTS, suspects(self.extent), small=False)
        counting = exp.select(exp.Count(this=exp.Star())).from_(doubtful.name.copy())
        self.rederived = int(self.lake.fetch(counting).column(0)[0].as_py())
        return doubtful if self.rederived else None

    def counted(self, known: Change) -> Applied:
        """How many groups come, change and go."""
        flags = known.rows
        if flags is None:
            wanted = [exp.Column(this=ident(c)) for c in (COUNT, OLD)]
            number = exp.alias_(exp.Count(this=exp.Star()), "groups")
            gone = exp.alias_(exp.EQ(this=wanted[0], expression=exp.Literal.number(0)), "gone")
            query = exp.select(gone, wanted[1], number).from_(known.name.copy()).group_by("1", "2")
            found = {(r["gone"], r[OLD]): r["groups"] for r in self.lake.fetch(query).to_pylist()}
        else:
            gone = pc.equal(flags.column(COUNT), 0)
            table = (
                pa.table({"gone": gone, OLD: flags.column(OLD)}).group_by(["gone", OLD]).aggregate([([], "count_all")])
            )
            found = {(r["gone"], r[OLD]): r["count_all"] for r in table.to_pylist()}
        if not self.extent.key:
            return Applied(0, 1, 0)
        return Applied(found.get((False, 0), 0), found.get((False, 1), 0), found.get((True, 1), 0))

    def together(self, known: pa.Table, fresh: pa.Table | None) -> pa.Table:
        """`replaced` on the driver."""
        certain = known.filter(pc.invert(known.column(SUSPECT)))
        columns = list(self.extent.columns)
        missing = [c for c in columns if c not in certain.column_names]
        for name in missing:
            certain = certain.append_column(name, pa.nulls(certain.num_rows))
        parts = [certain.select(columns), *([fresh.select(columns)] if fresh is not None else [])]
        return pa.concat_tables([p for p in parts if p.num_rows] or parts, promote_options="permissive")


REPLACED = "__replaced"

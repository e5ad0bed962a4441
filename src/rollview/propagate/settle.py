"""The stages after the change table, where it does not tell everything: see plan/rederive.py for the relations.

The extent is looked up by the keys of the change. Base tables are read only if some group is suspect, and then only for
the suspect groups.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from rollview.change import Change
from rollview.lake.lake import Lake
from rollview.lake.regions import KnownKeys
from rollview.plan.extent import Extent
from rollview.plan.rederive import rederived, replaced, settled, suspects
from rollview.plan.restrict import restrict
from rollview.plan.stages import CHANGED, FRESH, SETTLED, SUSPECT, SUSPECTS
from rollview.propagate.stages import REPLACED, Stages
from rollview.propagate.versioned import Versioned


class Settle(Stages):
    """Turns the change table of one span into the new rows of the changed groups."""

    def __init__(self, lake: Lake, versioned: Versioned, stored: exp.Table, extent: Extent) -> None:
        super().__init__(lake, versioned, stored)
        self.extent = extent

    def replaced(self, change: Change, sizes: dict[str, int], *, always: bool) -> Change:
        """The rows that replace all changed groups."""
        self.bound[CHANGED] = change.name
        small = change.rows is not None
        known = self.stage(
            SETTLED, settled(self.extent, self.near(change.rows, self.extent.key), always=always), small=small
        )
        doubtful = self.suspects(known)
        fresh = None
        if doubtful is not None:
            keys = KnownKeys(lambda table, state: doubtful.rows if table == SUSPECTS else None, sizes)
            fresh = self.stage(FRESH, restrict(self.versioned.clocked(rederived(self.extent)), keys), small=small)
        if known.rows is not None and (fresh is None or fresh.rows is not None):
            return self.kept(REPLACED, self.together(known.rows, fresh.rows if fresh is not None else None))
        return self.stage(REPLACED, replaced(self.extent, fresh=fresh is not None), small=False)

    def suspects(self, known: Change) -> Change | None:
        """The keys of the groups that must be re-derived; None if there are none."""
        if known.rows is not None:
            found = known.rows.filter(known.rows.column(SUSPECT))
            self.rederived = found.num_rows
            if not found.num_rows:
                return None
            return self.kept(SUSPECTS, found.select(list(self.extent.key) or [SUSPECT]))
        doubtful = self.stage(SUSPECTS, suspects(self.extent), small=False)
        self.rederived = self.counted(doubtful)
        return doubtful if self.rederived else None

    def together(self, known: pa.Table, fresh: pa.Table | None) -> pa.Table:
        """`replaced` on the driver."""
        certain = known.filter(pc.invert(known.column(SUSPECT)))
        columns = list(self.extent.columns)
        missing = [c for c in columns if c not in certain.column_names]
        for name in missing:
            certain = certain.append_column(name, pa.nulls(certain.num_rows))
        parts = [certain.select(columns), *([fresh.select(columns)] if fresh is not None else [])]
        return pa.concat_tables([p for p in parts if p.num_rows] or parts, promote_options="permissive")

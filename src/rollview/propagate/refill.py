"""The stages after the change of all rows, where the first rows of every group are stored (plan/group_reserve.py).

The extent is looked up by the groups of the change. Base tables are read only if the reserve of some group is used up,
and then only for such groups.
"""

from __future__ import annotations

from sqlglot import exp

from rollview.change import Change
from rollview.lake.lake import Lake
from rollview.lake.regions import KnownKeys
from rollview.names import COUNT
from rollview.plan.group_reserve import CROWDED, GroupReserve
from rollview.plan.restrict import restrict
from rollview.plan.stages import CHANGED, SETTLED, SUSPECT, SUSPECTS
from rollview.propagate.stages import REPLACED, Stages
from rollview.propagate.versioned import Versioned


class Refill(Stages):
    """Turns the change of all rows over one span into that of the stored ones."""

    def __init__(self, lake: Lake, versioned: Versioned, stored: exp.Table, reserve: GroupReserve) -> None:
        super().__init__(lake, versioned, stored)
        self.reserve = reserve

    def corrected(self, change: Change, sizes: dict[str, int], *, always: bool) -> Change:
        self.bound[CHANGED] = change.name
        small = change.rows is not None
        near = self.near(change.rows, self.reserve.groups)
        known = self.stage(SETTLED, self.reserve.placed(near, always=always), small=small)
        suspects, crowded = self.flagged(known, SUSPECT, SUSPECTS), self.flagged(known, CROWDED, CROWDED)
        self.rederived = self.counted(suspects) if suspects is not None else 0
        if known.rows is not None and suspects is None and crowded is None:
            return self.kept(REPLACED, known.rows.select([*self.reserve.columns, COUNT]))
        keys = KnownKeys(lambda table, _: suspects.rows if suspects and table == SUSPECTS else None, sizes)
        wanted = self.reserve.corrected(near, suspects=suspects is not None, crowded=crowded is not None)
        return self.stage(REPLACED, restrict(self.versioned.clocked(wanted), keys), small=small)

    def flagged(self, known: Change, flag: str, name: str) -> Change | None:
        """The groups with a flag; None if there are none."""
        groups = list(self.reserve.groups)
        if known.rows is not None:
            rows = known.rows.filter(known.rows.column(flag)).select(groups).group_by(groups).aggregate([])
            return self.kept(name, rows) if rows.num_rows else None
        found = self.stage(name, self.reserve.flagged(flag), small=False)
        return found if self.counted(found) else None

"""Which tick an extent holds: its own commits say it, and are believed before the control database.

A commit that only rewrites files (a compaction) says nothing and changes nothing; the one before it counts. Rows that
somebody else wrote are in no change log, so no view would ever see them: that is refused where it is found.
"""

from __future__ import annotations

from pyiceberg.table.snapshots import Operation, Snapshot

from rollview.catalog import ControlStore, Extent, Mark
from rollview.catalog.stored import Stored
from rollview.errors import SourceError
from rollview.lake.lake import Lake
from rollview.lake.refs import TableRef
from rollview.names import PROPERTY_TICK


def held(lake: Lake, control: ControlStore, stored: Stored) -> Extent:
    """The tick and its snapshot (0: none); a commit that the control database missed is entered there now."""
    mark = control.marks.mark(stored.name)
    found = newest(lake, stored.extent, mark)
    if found is None:
        return Extent(mark.applied_tick or 0, 0)
    if found != (mark.applied_tick, mark.extent_snapshot):
        control.marks.record_extent(stored.name, found.tick, found.snapshot_id)
    return found


def newest(lake: Lake, extent: TableRef, mark: Mark) -> Extent | None:
    """The tick of the current snapshot; None while there is no snapshot."""
    table = lake.load(extent)
    current = snapshot = table.current_snapshot()
    if current is None:
        return None
    while snapshot is not None:
        if snapshot.snapshot_id == mark.extent_snapshot:
            return Extent(mark.applied_tick or 0, current.snapshot_id)
        said = snapshot.summary.additional_properties.get(PROPERTY_TICK) if snapshot.summary else None
        if said is not None:
            return Extent(int(said), current.snapshot_id)
        refuse_foreign(extent, snapshot)
        parent = snapshot.parent_snapshot_id
        snapshot = table.snapshot_by_id(parent) if parent is not None else None
    return Extent(mark.applied_tick or 0, current.snapshot_id)


def refuse_foreign(extent: TableRef, snapshot: Snapshot) -> None:
    if snapshot.summary is not None and snapshot.summary.operation is Operation.REPLACE:
        return
    raise SourceError(
        f"somebody else wrote to {extent.namespace}.{extent.name}: snapshot {snapshot.snapshot_id}",
        code="RV-FOREIGN-WRITE",
        hint="undo it with CALL rollview.system.rollback_to_snapshot"
        f"('{extent.namespace}.{extent.name}', {snapshot.parent_snapshot_id}), and write in wh.transaction()",
    )

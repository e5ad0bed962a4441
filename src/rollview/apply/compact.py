"""Small files add up: every commit adds a few, and each costs as much to open as a large one.

After a number of commits the small files of an extent are written into one. No row changes, the commit says so (an
Iceberg `replace`), and large files are left alone, so the cost follows what was changed since the last time.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.table.snapshots import Operation

from rollview.catalog import ControlStore
from rollview.catalog.stored import Stored
from rollview.lake.lake import Lake
from rollview.lake.refs import TableRef
from rollview.steps import reached

COMMITS = 16
FILES = 24
SMALL_BYTES = 1024 * 1024


def compact(lake: Lake, control: ControlStore, stored: Stored, tick: int, order: Sequence[str]) -> bool:
    """Write the small files anew if there are many; the control database then points at the tidy snapshot.

    Sorted, because what was changed together lies anywhere among the keys: unsorted, every look-up would read it all.
    """
    if not fragmented(lake, stored.extent):
        return False
    lake.compact(stored.extent, SMALL_BYTES, order)
    reached("compact.rewritten")
    commit = lake.commit(stored.extent)
    if commit is not None and commit.snapshot_id is not None:
        control.marks.record_extent(stored.name, tick, commit.snapshot_id)
    return True


def fragmented(lake: Lake, extent: TableRef) -> bool:
    """Many files, and many commits since they were last tidied."""
    table = lake.load(extent)
    snapshot = table.current_snapshot()
    if snapshot is None or snapshot.summary is None or int(snapshot.summary.get("total-data-files") or 0) < FILES:
        return False
    for _ in range(COMMITS):
        if snapshot is None or (snapshot.summary is not None and snapshot.summary.operation is Operation.REPLACE):
            return False
        parent = snapshot.parent_snapshot_id
        snapshot = table.snapshot_by_id(parent) if parent is not None else None
    return True

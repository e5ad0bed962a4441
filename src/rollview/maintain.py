"""Retention: what no view can still need is folded, expired and rewritten; what some view needs never is."""

from __future__ import annotations

from collections.abc import Mapping

from rollview.catalog import ControlStore
from rollview.catalog.stored import Stored
from rollview.lake.lake import Lake
from rollview.lake.predicates import at_most
from rollview.lake.refs import TableRef
from rollview.names import CLOCK, PROPERTY_ASKED, PROPERTY_EXACT, PROPERTY_SINCE, PROPERTY_TICK, TICK
from rollview.report import Listing
from rollview.retention import needs
from rollview.steps import reached

SAID = (PROPERTY_TICK, PROPERTY_SINCE, PROPERTY_EXACT, PROPERTY_ASKED)
"""what the latest commit of a log says is believed before the control database, so a tidy one repeats it"""
FILES, GATHERED_BYTES = 24, 64 * 1024 * 1024


def maintain(
    lake: Lake, control: ControlStore, relations: Mapping[str, Stored], keep: float, *, dry_run: bool
) -> Listing:
    """Tidy every relation; the caller holds the writer's lease and those of the views."""
    rows = Listing()
    for name, need in needs(control, keep).items():
        if name not in relations or name == CLOCK:  # made a moment ago; or nothing is stored for it
            continue
        stored = relations[name]
        if not dry_run:
            tidy(lake, control, stored, need.tick)
        rows.append(
            {
                "name": stored.name,
                "needed_since": need.tick,
                "held_by": need.by or "the time to keep",
                "log_rows": lake.live_rows(stored.log) if lake.exists(stored.log) else 0,
                "snapshots": snapshots(lake, stored.extent) if stored.relation.kind != "attached" else 0,
            }
        )
    return rows


def tidy(lake: Lake, control: ControlStore, stored: Stored, tick: int) -> None:
    """Nothing below the tick is needed. The control database forgets first, so that nobody looks for it."""
    if lake.exists(stored.log):
        if stored.relation.kind == "view":
            control.steps.forget(stored.name, below=tick)
        tidy_log(lake, stored, tick)
    if stored.relation.kind != "attached":
        forget_snapshots(lake, control, stored, tick)


def tidy_log(lake: Lake, stored: Stored, tick: int) -> None:
    """Rows at or below a tick go, and small files are gathered into one; the commits say what the latest one said."""
    latest = lake.commit(stored.log)
    said = {k: v for k, v in (latest.properties if latest else {}).items() if k in SAID}
    condition = at_most(TICK, tick)
    forgotten = bool(lake.rows_in(stored.log, condition))
    if forgotten:
        lake.delete(stored.log, condition, said)
        reached("maintain.forgot")
    gathered = scattered(lake, stored.log)
    if gathered:
        lake.gather(stored.log, TICK, said)
        reached("maintain.gathered")
    if forgotten or gathered:
        lake.expire(stored.log, keep=())


def scattered(lake: Lake, log: TableRef) -> bool:
    """Many files, and not too much in them to be written anew at once."""
    latest = lake.commit(log)
    return (
        latest is not None
        and latest.number("total-data-files") >= FILES
        and latest.number("total-files-size") <= GATHERED_BYTES
    )


def forget_snapshots(lake: Lake, control: ControlStore, stored: Stored, tick: int) -> None:
    """Snapshots of the extent before the one that holds the tick."""
    held = control.marks.extent_snapshot(stored.name, tick)
    if held is None:
        return
    control.marks.forget_extents(stored.name, below=held.tick)
    reached("maintain.unmarked")
    lake.drop_branches(stored.extent)
    lake.expire(stored.extent, keep=[e.snapshot_id for e in control.marks.extents(stored.name)])
    reached("maintain.expired")


def snapshots(lake: Lake, table: TableRef) -> int:
    return len(lake.load(table).snapshots())

"""Retention: what no view can still need is folded, expired and rewritten; what some view needs never is.

The change log and the snapshots of a table are needed from the least tick at which a view over it stands; a view delta
from the least tick at which the view, or a view over it, stands. Ticks of the last `keep` seconds stay as well, so that
views can be rolled back and read there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from rollview.catalog import ControlStore
from rollview.catalog.stored import Stored
from rollview.lake.lake import Lake, TableRef
from rollview.lake.predicates import at_most
from rollview.names import PROPERTY_TICK, TICK
from rollview.report import Listing
from rollview.steps import reached

KEEP = 24 * 3600.0
"""seconds of the past that are kept unless the user says otherwise"""


@dataclass(frozen=True, slots=True)
class Need:
    """The least tick from which a relation's past is needed, and by whom."""

    tick: int
    by: str


def needs(control: ControlStore, relations: Mapping[str, Stored], keep: float) -> dict[str, Need]:
    """For every relation: from which tick its changes and states must stay."""
    moment = datetime.now(UTC) - timedelta(seconds=keep)
    kept = Need(control.ticks.tick_at(moment), "the time to keep")
    found = dict.fromkeys(relations, kept)
    for name, stored in relations.items():
        if stored.relation.kind != "view":
            continue
        mark = control.marks.mark(stored.name)
        here = Need(mark.applied_tick or 0, stored.name)
        found[name] = min(found[name], here, key=lambda n: n.tick)
        for below in control.relations.dependencies_of(stored.name):
            found[below.name.lower()] = min(found[below.name.lower()], here, key=lambda n: n.tick)
    return found


def maintain(
    lake: Lake, control: ControlStore, relations: Mapping[str, Stored], keep: float, *, dry_run: bool
) -> Listing:
    """Tidy every relation; the caller holds the writer's lease and those of the views."""
    rows = Listing()
    for name, need in needs(control, relations, keep).items():
        stored = relations[name]
        if not dry_run:
            tidy(lake, control, stored, need.tick)
        rows.append(
            {
                "name": stored.name,
                "needed_since": need.tick,
                "held_by": need.by,
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
        forget_rows(lake, stored, tick)
    if stored.relation.kind != "attached":
        forget_snapshots(lake, control, stored, tick)


def forget_rows(lake: Lake, stored: Stored, tick: int) -> None:
    """Rows of the log with ticks at or below one; the commit says what the log's latest one said."""
    condition = at_most(TICK, tick)
    if not lake.rows_in(stored.log, condition):
        return
    latest = lake.commit(stored.log)
    properties = {k: v for k, v in (latest.properties if latest else {}).items() if k == PROPERTY_TICK}
    lake.load(stored.log).delete(condition, snapshot_properties=properties)
    reached("maintain.forgot")
    lake.expire(stored.log, keep=())


def forget_snapshots(lake: Lake, control: ControlStore, stored: Stored, tick: int) -> None:
    """Snapshots of the extent before the one that holds the tick."""
    held = control.marks.extent_snapshot(stored.name, tick)
    if held is None:
        return
    control.marks.forget_extents(stored.name, below=held.tick)
    reached("maintain.unmarked")
    lake.expire(stored.extent, keep=[e.snapshot_id for e in control.marks.extents(stored.name)])
    reached("maintain.expired")


def snapshots(lake: Lake, table: TableRef) -> int:
    return len(lake.load(table).snapshots())

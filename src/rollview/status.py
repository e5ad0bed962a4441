"""What the control tables alone can tell: which relations there are, where they stand, how refreshes went. No Spark."""

from __future__ import annotations

from datetime import UTC, datetime

from rollview.catalog import ControlStore, Relation
from rollview.errors import BadInput
from rollview.names import is_reserved
from rollview.propagate.standing import relations_below
from rollview.report import Listing
from rollview.retention import needs


def ready(control: ControlStore, name: str, *kinds: str) -> Relation:
    """The relation of that name and one of those kinds, or an error that names the others."""
    relation = control.relations.find(name)
    if relation is None or relation.state != "ready" or (kinds and relation.kind not in kinds):
        there = [r for r in control.relations.list(state="ready") if not is_reserved(r.name)]
        known = ", ".join(r.name for r in there if not kinds or r.kind in kinds)
        what = " or ".join(kinds) or "table or view"
        raise BadInput(f"there is no {what} {name!r}", code="RV-UNKNOWN-RELATION", hint=f"there are: {known or 'none'}")
    return relation


def status(control: ControlStore) -> Listing:
    """Every relation, where it stands, how the last refresh went, and which view holds its past."""
    last = control.ticks.last_tick()
    needed = needs(control)
    rows = Listing()
    for relation in control.relations.list():
        if is_reserved(relation.name):
            continue  # a part, or what takes its view's place, goes with the view; or the clock
        mark = control.marks.mark(relation.name)
        newest = control.history.refreshes(relation.name, limit=1) if relation.kind == "view" else ()
        at = mark.applied_tick if relation.kind != "attached" else last
        rows.append(
            {
                "name": relation.name,
                "kind": relation.kind,
                "state": relation.state,
                "policy": relation.definition.get("policy"),
                "tick": at,
                "mark": None if mark.high_water_mark is None else max(mark.high_water_mark, at or 0),
                "lag": lag_of(control, relation.name, at or 0) if relation.kind == "view" else None,
                "behind": behind(control, relation, at or 0, last),
                "strategy": newest[0].strategy if newest else None,
                "reason": newest[0].reason if newest else relation.definition.get("recompute_reason"),
                "seconds": newest[0].seconds if newest else None,
                "held_by": needed[relation.name.lower()].by if relation.name.lower() in needed else None,
            }
        )
    return rows


PROCESS = "process:"
"""leases of this name are held by runners for as long as they run"""


def runners(control: ControlStore) -> Listing:
    """The runners at work: their role, process, and how long they have been running."""
    found = control.leases.holders(PROCESS)
    return Listing(
        {"role": name.split(":")[1], "process": str(h.process), "seconds": h.age} for name, h in found.items()
    )


def lag_of(control: ControlStore, view: str, tick: int) -> float:
    """Seconds since the first commit below the view after a tick; 0 if there is none."""
    tables = relations_below(control, view)
    waiting = control.ticks.waiting(tick, control.ticks.last_tick(), tables) if tables else ()
    return max(0.0, (datetime.now(UTC) - waiting[0].committed).total_seconds()) if waiting else 0.0


def behind(control: ControlStore, relation: Relation, at: int, last: int) -> int:
    """How many committed ticks concern a view that it does not have yet."""
    if relation.kind != "view" or at >= last:
        return 0
    tables = relations_below(control, relation.name)
    return len(control.ticks.ticks_between(at, last, tables)) if tables else 0


def history(control: ControlStore, view: str | None = None, limit: int = 100) -> Listing:
    """Past refreshes of one view or all, the newest first: strategy, reason, rows, predicted and actual seconds."""
    if view is not None:
        view = ready(control, view, "view").name
    return Listing(
        {
            "view": r.view,
            "started": r.started.isoformat(timespec="seconds"),
            "strategy": r.strategy,
            "reason": r.reason,
            "since": r.since,
            "upto": r.upto,
            "delta_rows": r.delta_rows,
            "inserted": r.inserted,
            "updated": r.updated,
            "deleted": r.deleted,
            "predicted": r.predicted_cost,
            "seconds": r.seconds,
            "jobs": r.jobs,
            "phases": dict(r.phases or {}),
            "error": r.error,
        }
        for r in control.history.refreshes(view, limit=limit)
    )

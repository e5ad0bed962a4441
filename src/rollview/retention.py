"""What of the past is still needed, and by whom. The control tables alone tell it; `maintain` acts on it.

The change log and the snapshots of a table are needed from the least tick at which a view over it stands; a view delta
from the least tick at which the view, or a view over it, stands. Ticks of the last `keep` seconds stay as well, so that
views can be rolled back and read there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from rollview.catalog import ControlStore

KEEP = 24 * 3600.0
"""seconds of the past that are kept unless the user says otherwise"""


@dataclass(frozen=True, slots=True)
class Need:
    """The least tick from which a relation's past is needed, and the view that needs it; None: the time to keep."""

    tick: int
    by: str | None = None


def needs(control: ControlStore, keep: float = KEEP) -> dict[str, Need]:
    """For every ready relation, by lower-case name: from which tick its changes and states must stay."""
    kept = Need(control.ticks.tick_at(datetime.now(UTC) - timedelta(seconds=keep)))
    relations = control.relations.list()
    found = {r.name.lower(): kept for r in relations if r.state == "ready"}
    for view in relations:
        if view.kind != "view" or view.state == "dropping":
            continue
        made = view.created_tick if view.state == "creating" else 0
        here = Need(control.marks.mark(view.name).applied_tick or made, view.name)
        for needed in (view, *control.relations.dependencies_of(view.name)):
            name = needed.name.lower()
            if name in found:
                found[name] = min(found[name], here, key=lambda n: n.tick)
    return found

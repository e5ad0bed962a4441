"""Where views stand: the ticks at which what is stored is the view, exactly.

A view that is refreshed from tick 3 to tick 8 has never stood at 5. Whoever needs it there evaluates its SQL instead,
and a change of it from 5 to 8 is not known. Ticks that do not concern what is below it do not matter: at a tick a table
changed, or a view got another definition.
"""

from __future__ import annotations

from rollview.catalog import ControlStore, Extent


def stands(control: ControlStore, view: str, tick: int) -> Extent | None:
    """The extent's snapshot that is the view at the tick; None if there is none."""
    found = control.marks.extent_snapshot(view, tick)
    if found is None or found.tick == tick:
        return found
    missed = control.ticks.ticks_between(found.tick, tick, relations_below(control, view))
    return None if missed else found


def relations_below(control: ControlStore, view: str) -> list[str]:
    """The tables and views that a view reads, directly or through other views."""
    found: list[str] = []
    for below in control.relations.dependencies_of(view):
        found += [below.name, *(relations_below(control, below.name) if below.kind == "view" else ())]
    return list(dict.fromkeys(found))

"""The stored view delta as readers see it."""

from __future__ import annotations

from sqlglot import exp

from rollview.catalog.stored import Stored
from rollview.names import COUNT, TICK, delta_view
from rollview.plan.compile import CompiledView
from rollview.plan.emit import emit, ident
from rollview.plan.rederive import CHANGED
from rollview.plan.visible import timed_view_delta
from rollview.propagate.states import States
from rollview.propagate.versioned import Span
from rollview.propagate.view_delta import ViewDelta


def visible_changes(states: States, view: Stored, compiled: CompiledView | None, span: Span) -> exp.Query:
    """The view's columns, `__count` and `__tick`; for an aggregate, each group as it was and as it is at each tick."""
    delta = ViewDelta(states.lake, states.control, view)
    stored = delta.query(span.since, span.upto)
    names = [c.name for c in view.base.columns]
    if not delta.layout.keeps_states:
        shown = [exp.Column(this=ident(n)) for n in (*names, COUNT, TICK)]
        return exp.select(*shown).from_(exp.Subquery(this=stored, alias=exp.TableAlias(this=ident("d"))))
    assert compiled is not None
    changed = states.keep(delta_view(view.name, CHANGED), stored)
    before = states.extent_at(view, span.since)
    relation = timed_view_delta(compiled.extent)
    return emit(relation, lambda scan: (changed if scan.table == CHANGED else before).copy())

"""The stored view delta as readers see it."""

from __future__ import annotations

from sqlglot import exp

from rollview.catalog.stored import Stored
from rollview.names import COUNT, TICK, delta_view
from rollview.plan.compile import CompiledView
from rollview.plan.emit import emit, ident
from rollview.plan.stages import CHANGED
from rollview.plan.visible import timed_view_delta
from rollview.propagate.states import States
from rollview.propagate.versioned import Span
from rollview.propagate.view_delta import ViewDelta


def visible_changes(states: States, view: Stored, compiled: CompiledView | None, span: Span) -> exp.Query:
    """The view's columns, `__count` and `__tick`; for an aggregate, each group as it was and as it is at each tick."""
    delta = ViewDelta(states.lake, states.control, view)
    stored = delta.query(span.since, span.upto)
    assert compiled is not None
    if not delta.layout.keeps_states:
        names = compiled.extent.stored_names | {COUNT: COUNT, TICK: TICK}
        shown = [exp.alias_(exp.Column(this=ident(there)), name, quoted=True) for name, there in names.items()]
        return exp.select(*shown).from_(exp.Subquery(this=stored, alias=exp.TableAlias(this=ident("d"))))
    changed = states.keep(delta_view(view.name, CHANGED), stored)
    before = states.extent_at(view, span.since)
    relation = timed_view_delta(compiled.extent)
    return emit(relation, lambda scan: (changed if scan.table == CHANGED else before).copy())

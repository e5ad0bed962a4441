"""The stored view delta as readers see it."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

from sqlglot import exp

from rollview.algebra.relation import State, keep
from rollview.catalog.stored import Stored
from rollview.names import COUNT, TICK, delta_view
from rollview.plan.compile import CompiledView
from rollview.plan.emit import emit, ident
from rollview.plan.images import seen
from rollview.plan.stages import CHANGED
from rollview.plan.visible import timed_view_delta, whole_delta
from rollview.propagate.states import States
from rollview.propagate.versioned import Span
from rollview.propagate.view_delta import ViewDelta


def visible_changes(states: States, view: Stored, compiled: CompiledView | None, span: Span) -> exp.Query:
    """The view's columns, `__count` and `__tick`; for an aggregate, each group as it was and as it is at each tick."""
    delta = ViewDelta(states.lake, states.control, view)
    stored = delta.query(span.since, span.upto)
    assert compiled is not None
    if compiled.extent.reads_all:
        return between_stops(states, view, compiled, span)
    if delta.layout.images:
        changed = states.keep(delta_view(view.name, CHANGED), stored)
        shown = keep(seen(compiled.extent, TICK).relation, (*compiled.extent.reader.names, COUNT, TICK))
        return emit(shown, lambda _: changed.copy())
    if not delta.layout.keeps_states:
        names = compiled.extent.stored_names | {COUNT: COUNT, TICK: TICK}
        renamed = [exp.alias_(exp.Column(this=ident(there)), name, quoted=True) for name, there in names.items()]
        return exp.select(*renamed).from_(exp.Subquery(this=stored, alias=exp.TableAlias(this=ident("d"))))
    changed = states.keep(delta_view(view.name, CHANGED), stored)
    before = states.extent_at(view, span.since)
    relation = timed_view_delta(compiled.extent)
    return emit(relation, lambda scan: (changed if scan.table == CHANGED else before).copy())


def between_stops(states: States, view: Stored, compiled: CompiledView, span: Span) -> exp.Query:
    """Where readers see rows beside each other, a change of one may change all: from each stop to the next."""
    moved = ViewDelta(states.lake, states.control, view).moments(span.since, span.upto)
    found: list[exp.Query] = []
    for before, after in pairwise([span.since, *(moved or [span.since])]):
        rows = {State.BEFORE: states.extent_at(view, before), State.AFTER: states.extent_at(view, after)}
        change = emit(whole_delta(compiled.extent), lambda scan, rows=rows: rows[scan.at].copy())  # type: ignore[misc]
        names = [exp.Column(this=ident(c)) for c in (*compiled.extent.reader.names, COUNT)]
        stamp = exp.alias_(exp.cast(exp.Literal.number(after), "bigint"), TICK, quoted=True)
        found.append(exp.select(*names, stamp).from_(exp.Subquery(this=change, alias=exp.TableAlias(this=ident("d")))))
    return reduce(lambda a, b: exp.Union(this=a, expression=b, distinct=False), found)

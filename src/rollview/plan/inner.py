"""Aggregates below the top, said by their states where those can be subtracted exactly (see rules/subtract.py).

γ(R) = π_outputs(γ_states(R)): the same rows, but now every measure is a COUNT, SUM or BIT_XOR of exact numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rollview.algebra.relation import Aggregate, Filter, Function, Generate, Measure, Project, Relation
from rollview.algebra.scalar import col
from rollview.algebra.walking import children, rebuilt
from rollview.deltas import moments
from rollview.frontend.normalise import place_predicates, prune_columns, pull_up_projections
from rollview.names import COUNT, state_column
from rollview.plan.extent import typed_states

if TYPE_CHECKING:
    from rollview.frontend.typing import Typer


def by_states(node: Relation, typer: Typer) -> Relation:
    """The view with its inner aggregates said by their states; the one at the top is stored as states anyway."""
    if not any(has_aggregate(child) for child in children(above_all(node))):
        return node
    return tidy(below_the_top(node, typer))


def tidy(node: Relation) -> Relation:
    """Normal again, after projections were put into the middle."""
    return place_predicates(prune_columns(pull_up_projections(node)))


def above_all(node: Relation) -> Relation:
    """The aggregate at the top, or else the first node that is not computed by the reader alone."""
    while isinstance(node, Project | Filter | Generate):
        node = node.source
    return node


def has_aggregate(node: Relation) -> bool:
    return isinstance(node, Aggregate) or any(has_aggregate(child) for child in children(node))


def below_the_top(node: Relation, typer: Typer) -> Relation:
    if isinstance(node, Project | Filter | Generate):
        return replace(node, source=below_the_top(node.source, typer))
    return rebuilt(node, lambda child: said_by_states(child, typer))


def may_be_exact(measure: Measure) -> bool:
    """By its function; the types of its arguments have the last word."""
    if measure.function is Function.CALL:
        return measure.argument is not None and bool(moments.arguments(measure.argument))
    return measure.function in (Function.COUNT, Function.SUM, Function.AVG, Function.BIT_XOR)


def said_by_states(node: Relation, typer: Typer) -> Relation:
    node = rebuilt(node, lambda child: said_by_states(child, typer))
    if not isinstance(node, Aggregate) or not node.measures or not all(may_be_exact(m) for m in node.measures):
        return node
    states = typed_states(node, typer)
    if not states.additive:
        return node
    rows = state_column(node.measures[0].name, "rows")
    used = frozenset().union(*(e.columns for _, e in states.outputs))
    measures = [s.initial() for s in states.all if s.name in used]
    named = tuple(replace(m, name=rows) if m.name == COUNT else m for m in measures)
    outputs = tuple((name, e.substitute({COUNT: col(rows)})) for name, e in states.outputs)
    exact = Aggregate(node.source, node.keys, named, node.grouped, exact=True)
    return Project(exact, (*((k, col(k)) for k, _ in node.keys), *outputs))

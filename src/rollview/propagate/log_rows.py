"""The rows of a change log over a span, without those of transactions that never committed."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rollview.catalog import ControlStore
from rollview.catalog.stored import Stored
from rollview.names import TICK
from rollview.plan.emit import ident


def log_rows(control: ControlStore, stored: Stored, columns: Sequence[str], since: int, upto: int) -> exp.Select:
    tick = exp.Column(this=ident(TICK))
    tests: list[exp.Expr] = [
        exp.GT(this=tick.copy(), expression=exp.Literal.number(since)),
        exp.LTE(this=tick.copy(), expression=exp.Literal.number(upto)),
    ]
    orphans = control.ticks.open_ticks(since, upto)
    if orphans:
        tests.append(exp.Not(this=exp.In(this=tick, expressions=[exp.Literal.number(o) for o in orphans])))
    return exp.select(*(exp.Column(this=ident(c)) for c in columns)).from_(stored.log.tree()).where(*tests)

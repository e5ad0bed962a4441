"""Versioned propagation with ticks: the deltas of a span keep the tick of every row."""

from __future__ import annotations

from sqlglot import exp

from rollview.algebra.relation import State
from rollview.capture.net import net
from rollview.catalog.stored import Stored
from rollview.names import COUNT, TICK, delta_view
from rollview.plan.emit import ident
from rollview.propagate.log_rows import log_rows
from rollview.propagate.versioned import Delta, Versioned
from rollview.rules.dispatch import Shape


class TimedVersioned(Versioned):
    """Binds every scan of a timed maintenance query; DELTA scans also have the column `__tick`."""

    def delta(self, stored: Stored, columns: list[str], logged: tuple[int, int]) -> Delta:
        name = delta_view(stored.name, State.DELTA.value)
        total = sum(logged)
        if total > self.small_rows:
            extra = (exp.Column(this=ident(TICK)), exp.Column(this=ident(COUNT)))
            query = log_rows(self.control, stored, columns, self.span.since, self.span.upto).select(*extra)
            self.states.keep(name, query)
            return Delta(Shape(), None, total)
        names = [*columns, TICK, COUNT]
        rows = net(self.lake.scan_shared(stored.log, self.condition(), names))
        self.states.keep(name, rows)
        return Delta(Shape(*(bool(rows.num_rows),) * 3), rows, total)

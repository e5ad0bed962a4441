"""What a refresh writes down for the views that read this view, before the extent's commit.

Where changes of the extent add up, that is the view delta itself (propagate/view_delta.py): if the process dies in
between, the view delta is ahead of the extent, and the next refresh applies it. Otherwise it is what changed in the
rows as readers see them, and `repair` takes back what a dead refresh logged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from rollview.algebra.relation import Scan
from rollview.capture.net import net
from rollview.catalog import Step
from rollview.catalog.stored import Stored
from rollview.change import Change
from rollview.deltas.signed import net as net_in_spark
from rollview.lake.lake import Lake
from rollview.lake.predicates import above
from rollview.names import PROPERTY_TICK, TICK
from rollview.plan.compile import CompiledView
from rollview.plan.emit import emit
from rollview.plan.stages import CHANGED
from rollview.plan.visible import view_delta
from rollview.propagate.layout import elementary
from rollview.propagate.view_delta import ViewDelta
from rollview.propagate.written import written
from rollview.steps import reached


class ViewLog:
    """The change log of one view; `needed` only where another view reads it."""

    def __init__(self, lake: Lake, view: Stored, delta: ViewDelta) -> None:
        self.lake = lake
        self.view = view
        self.delta = delta

    @property
    def needed(self) -> bool:
        return bool(self.view.definition.get("logged"))

    def repair(self, applied: int) -> None:
        """Take back what is logged beyond the tick that the extent holds."""
        if self.delta.kept:
            self.delta.cut(applied)
            return
        if not self.needed:
            return
        commit = self.lake.commit(self.view.log)
        if commit is not None and commit.number(PROPERTY_TICK) > applied:
            delta = self.delta
            delta.after = self.lake.delete(
                self.view.log, above(TICK, applied), {PROPERTY_TICK: str(applied)}, delta.after
            )
            reached("refresh.repaired")

    def cover(self, since: int, upto: int) -> None:
        """Nothing changed in the span."""
        if self.needed and self.delta.kept:
            self.delta.nothing(Step(since, upto, exact=True))

    def write(
        self,
        view: CompiledView,
        change: Change,
        before: exp.Table,
        since: int,
        upto: int,
        *,
        may_miss: bool,
        replaced: bool,
    ) -> None:
        """Enter the change; `replaced` if it holds the new rows of changed groups."""
        if self.delta.kept:
            change = written(self.lake, view.extent, change, before, may_miss=may_miss, replaced=replaced)
            self.delta.append(self.stamped(change, upto), Step(since, upto, exact=False))
            return

        def bind(scan: Scan) -> exp.Table:
            return (change.name if scan.table == CHANGED else before).copy()

        shown = view_delta(view.extent, may_miss=may_miss, replaced=replaced)
        properties = {PROPERTY_TICK: str(upto)}
        if change.rows is None:
            query = emit(net_in_spark(shown), bind)
            self.lake.append_delta(self.view.log, self.lake.run(query), upto, properties, self.delta.after)
            return
        rows = net(elementary(self.lake.fetch(emit(shown.relation, bind))))
        if rows.num_rows:
            stamped = rows.append_column(TICK, pa.array(np.full(rows.num_rows, upto), pa.int64()))
            self.lake.append_small(self.view.log, stamped, properties, self.delta.after)

    def stamped(self, change: Change, tick: int) -> Any:
        if change.rows is None:
            return self.lake.stamped(self.lake.run(self.lake.select_all(change.name.copy())), tick)
        return change.rows.append_column(TICK, pa.array(np.full(change.rows.num_rows, tick), pa.int64()))

"""What a refresh is expected to cost either way: from the sizes that the metadata tell, and from past refreshes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from rollview.algebra.relation import State, scans
from rollview.catalog import ControlStore, HistoryRow
from rollview.catalog.stored import Stored, bytes_of
from rollview.lake.lake import Lake
from rollview.plan.compile import CompiledView
from rollview.plan.cost import AGAIN, Estimate, Learned, Work, estimate, learn
from rollview.plan.maintain import Maintenance

WORTH = 16 * 1024 * 1024
"""bytes of all tables; below, either way takes a moment that says nothing of the other, and the delta is kept"""
MERGED = 40_000
"""bytes of an extent that a changed row makes a MERGE read, at most"""


class Forecast:
    """The costs of one refresh of one view."""

    def __init__(
        self, lake: Lake, control: ControlStore, relations: Mapping[str, Stored], view: Stored, compiled: CompiledView
    ) -> None:
        self.lake = lake
        self.control = control
        self.view = view
        self.compiled = compiled
        self.sizes = {n: bytes_of(lake, relations[n]) for n in compiled.reads}
        """bytes of the relations that the view reads"""

    def better(self, plan: Maintenance, rows: int) -> tuple[Estimate, str | None]:
        """The costs for a change of so many rows; and why a recompute is better than the plan, if it is."""
        work = self.work(plan, rows)
        learned = self.history() if work.base_bytes >= WORTH else Learned()
        predicted = estimate(work, learned)
        if predicted.recompute_is_cheaper:
            return predicted, None if learned.again else "RV-CHEAPER"
        return predicted, "RV-TRIED" if learned.tries else None

    def work(self, plan: Maintenance, rows: int) -> Work:
        read = plan.scans
        if plan.always:
            read |= frozenset(scans(self.compiled.definition))
        looked_up = sum(self.sizes.get(s.table, 0) for s in read if s.at in (State.BEFORE, State.AFTER))
        extent = self.lake.bytes(self.view.extent)
        merged = 0 if plan.inserts_only else min(extent, MERGED * max(1, rows))
        return Work(rows, sum(self.sizes.values()), looked_up, extent, merged)

    def history(self) -> Learned:
        """What past refreshes took, back to the creation; a view of the same name may have been before it."""
        rows = self.control.history.refreshes(self.view.name)
        made = next((i for i, r in enumerate(rows) if r.strategy == "create"), len(rows))
        seen = {
            strategy: [(said(r), r.actual_cost) for r in rows[: made + 1] if r.strategy == strategy]
            for strategy in ("incremental", "recompute", "create")
        }
        computed = [r.strategy for r in rows[:made] if r.strategy in seen]
        again = len(list(takewhile(lambda strategy: strategy == "recompute", computed))) >= AGAIN
        return learn(seen["incremental"], seen["recompute"], seen["create"], again=again)


def said(row: HistoryRow) -> float | None:
    """What the model said of a refresh. Of a creation nothing else is ever said, also where only that was noted."""
    return row.predicted_cost if row.model_cost is None and row.strategy == "create" else row.model_cost

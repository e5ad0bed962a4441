"""What a refresh is expected to cost either way: from the sizes that the metadata tell, and from past refreshes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from rollview.algebra.relation import State
from rollview.algebra.walking import scans
from rollview.catalog import ControlStore, HistoryRow
from rollview.catalog.stored import Stored, bytes_of
from rollview.lake.lake import Lake
from rollview.names import CLOCK
from rollview.plan.compile import CompiledView
from rollview.plan.cost import AGAIN, ENOUGH, HISTORY, SEEN, Estimate, Learned, Work, estimate, learn, repaid
from rollview.plan.maintain import Maintenance
from rollview.propagate.standing import relations_below

WORTH = 16 * 1024 * 1024
"""bytes of all tables; below, either way takes a moment that says nothing of the other, and the delta is kept"""
SPENT = 1_000
"""refreshes whose seconds are added up, at most"""
MERGED = 40_000
"""bytes of an extent that a changed row makes a MERGE read, at most"""


@dataclass(frozen=True, slots=True)
class Past:
    """The last few refreshes of each strategy since the creation of the view, the newest first."""

    incremental: tuple[HistoryRow, ...]
    recompute: tuple[HistoryRow, ...]
    created: tuple[HistoryRow, ...]


class Forecast:
    """The costs of one refresh of one view."""

    def __init__(
        self, lake: Lake, control: ControlStore, relations: Mapping[str, Stored], view: Stored, compiled: CompiledView
    ) -> None:
        self.lake = lake
        self.control = control
        self.relations = relations
        self.view = view
        self.compiled = compiled
        self.sizes = {n: bytes_of(lake, relations[n]) for n in compiled.reads}
        """bytes of the relations that the view reads"""

    @cached_property
    def below(self) -> list[Stored]:
        """The tables that the view is made of, directly or through views below it and its parts."""
        return [self.relations[n.lower()] for n in relations_below(self.control, self.view.name) if n != CLOCK]

    @cached_property
    def worth(self) -> bool:
        return sum(bytes_of(self.lake, r) for r in self.below if r.relation.kind != "view") >= WORTH

    def foregone(self, since: int, upto: int) -> Estimate | None:
        """The costs of a refresh over a span, if a recompute is known to be cheaper for changes of that order,
        of the same tables: then nobody needs to look at the change, nor at what is stored to compute it from."""
        changes, whole = self.past.incremental[:ENOUGH], self.past.recompute
        if len(changes) < ENOUGH or len(whole) < ENOUGH or not self.worth:
            return None
        taken, recompute = (min(r.seconds for r in seen) for seen in (changes, whole))
        if taken < recompute + SEEN or self.again:
            return None
        logged = self.logged(since, upto)
        rows = sum(logged.values())
        if 2 * rows < max(r.delta_rows or 0 for r in changes):
            return None
        if not all(logged.keys() >= self.logged(r.since or 0, r.upto or 0).keys() for r in changes):
            return None  # other tables made them slow
        extent = self.lake.bytes(self.view.extent)
        model = estimate(Work(rows, sum(self.sizes.values()), 0, extent, extent)).model
        return Estimate(taken, recompute, known=True, model=model, rows=rows)

    def logged(self, since: int, upto: int) -> dict[str, int]:
        """How many changes of each table a span has, as they are logged; only tables that have some."""
        totals = self.control.ticks.totals([r.name for r in self.below if r.relation.kind != "view"], since, upto)
        return {name: found.inserted + found.deleted for name, found in totals.items() if found.rows}

    def better(self, plan: Maintenance, rows: int) -> tuple[Estimate, str | None]:
        """The costs for a change of so many rows; and why a recompute is better than the plan, if it is."""
        work = self.work(plan, rows)
        learned = self.history() if self.worth else Learned()
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

    @cached_property
    def past(self) -> Past:
        """A view of the same name may have been before the creation; that is not looked at. Nor are changes that turned
        out not to concern the view: they were quick, and tell nothing of others."""
        name, latest = self.view.name, self.control.history.latest
        created = latest(name, "create", limit=1)
        after = (created[0].id or 0) if created else 0
        incremental = latest(name, "incremental", after=after, limit=HISTORY, weighed=True)
        return Past(incremental, latest(name, "recompute", after=after, limit=HISTORY), created)

    @cached_property
    def again(self) -> bool:
        """Was it recomputed so often, and for so long, that the other way should be tried again?

        The last trial is the last refresh from changes that took longer; a quick one, of a small change, is none."""
        changes, whole = self.past.incremental, self.past.recompute
        if not changes or not whole:
            return False
        recompute = min(r.seconds for r in whole)
        trial = next((r for r in changes if r.seconds > recompute), changes[0])
        seconds = repaid(trial.seconds, recompute)
        most = AGAIN + math.ceil(seconds / recompute) if recompute else AGAIN
        run = self.control.history.run(self.view.name, "recompute", after=trial.id or 0, limit=most)
        return run.count >= AGAIN and run.seconds >= seconds

    @property
    def spent(self) -> float:
        """Seconds of refreshes from changes since the creation."""
        after = self.past.created[0].id if self.past.created else None
        return self.control.history.run(self.view.name, "incremental", after=after or 0, limit=SPENT).seconds

    def history(self) -> Learned:
        """What past refreshes say of the model."""
        ways = (self.past.incremental, self.past.recompute, self.past.created)
        incremental, recompute, created = ([(said(r), r.actual_cost) for r in rows] for rows in ways)
        return learn(incremental, recompute, created, again=self.again, spent=0.0 if recompute else self.spent)


def said(row: HistoryRow) -> float | None:
    """What the model said of a refresh. Of a creation nothing else is ever said, also where only that was noted."""
    return row.predicted_cost if row.model_cost is None and row.strategy == "create" else row.model_cost

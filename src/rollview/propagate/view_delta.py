"""The stored view delta: changes of a view that are computed, and not yet (all) applied.

Rows are appended step by step, each with its tick; the commit says which span it completes, and is believed before the
control database. So a process may die between the append and the note, or after the view delta and before the extent.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from rollview.catalog import ControlStore, Step
from rollview.catalog.steps import Reach, reach
from rollview.catalog.stored import Stored
from rollview.lake.lake import Lake
from rollview.lake.predicates import above, span
from rollview.lake.refs import Commit
from rollview.names import PROPERTY_EXACT, PROPERTY_SINCE, PROPERTY_TICK, TICK
from rollview.plan.emit import ident
from rollview.propagate.layout import Layout
from rollview.steps import reached


class ViewDelta:
    """The view delta of one view; there is one if the view's definition says in which layout."""

    def __init__(self, lake: Lake, control: ControlStore, view: Stored) -> None:
        self.lake = lake
        self.control = control
        self.view = view
        self.after: int | None = None
        """the snapshot that the next write goes on from, once somebody has looked"""

    @property
    def kept(self) -> bool:
        return "delta" in self.view.definition

    @property
    def layout(self) -> Layout:
        return Layout.of(self.view.definition["delta"])

    @property
    def keeps_states(self) -> bool:
        return self.kept and self.layout.keeps_states

    # --- what it covers -------------------------------------------------------------------------------

    def reach(self, tick: int) -> Reach:
        """The ticks that a view at `tick` can be rolled to."""
        if not self.kept:
            return Reach(tick, tick)
        self.recover()
        return reach(self.control.steps.of(self.view.name), tick)

    def look(self) -> Commit | None:
        """The latest commit; what is written next must follow on it."""
        commit = self.lake.commit(self.view.log)
        self.after = None if commit is None else commit.snapshot_id or 0
        return commit

    def recover(self) -> None:
        """A step whose rows are committed, but whose process died before it was noted."""
        commit = self.look()
        if commit is None or PROPERTY_SINCE not in commit.properties:
            return
        since, upto = commit.number(PROPERTY_SINCE), commit.number(PROPERTY_TICK)
        if upto > (self.control.marks.mark(self.view.name).high_water_mark or 0):
            exact = commit.properties[PROPERTY_EXACT] == "true"
            self.control.steps.record(self.view.name, Step(since, upto, exact, commit.number("added-records")))

    # --- writing --------------------------------------------------------------------------------------

    def append(self, rows: Any, step: Step) -> Step:
        """Store the rows of a step (Arrow, or a Spark frame) and note what they cover."""
        clock = time.perf_counter()
        written = rows.num_rows if isinstance(rows, pa.Table) else None
        if written != 0:
            self.write(rows, self.properties(step))
            reached("propagate.appended")
        if written is None:
            commit = self.lake.commit(self.view.log)
            written = commit.number("added-records") if commit is not None else 0
        done = replace(step, rows=written, seconds=step.seconds + time.perf_counter() - clock)
        self.control.steps.record(self.view.name, done)
        return done

    def nothing(self, step: Step) -> None:
        """A span in which the view did not change."""
        self.control.steps.record(self.view.name, step)

    def write(self, rows: Any, properties: dict[str, str]) -> None:
        names = [c.name for c in self.layout.delta]
        if isinstance(rows, pa.Table):
            self.after = self.lake.append_small(self.view.log, rows.select(names), properties, self.after)
        else:
            self.lake.append(self.view.log, rows.select(*names), properties, after=self.after)
            self.after = self.lake.unmoved(self.view.log, None).metadata.current_snapshot_id or 0

    @staticmethod
    def properties(step: Step) -> dict[str, str]:
        return {
            PROPERTY_TICK: str(step.upto),
            PROPERTY_SINCE: str(step.since),
            PROPERTY_EXACT: "true" if step.exact else "false",
        }

    def cut(self, tick: int) -> None:
        """Take back everything above a tick: it was computed from something that no longer holds."""
        if any(s.upto > tick for s in self.control.steps.of(self.view.name)):
            self.control.steps.forget(self.view.name, above=tick)
        latest = self.lake.commit(self.view.log)
        if latest is None or (PROPERTY_SINCE in latest.properties and latest.number(PROPERTY_TICK) <= tick):
            return  # steps are written in their order
        condition = above(TICK, tick)
        if self.lake.rows_in(self.view.log, condition):
            self.after = self.lake.delete(self.view.log, condition, {PROPERTY_TICK: str(tick)}, self.after)
            reached("propagate.cut")

    # --- reading --------------------------------------------------------------------------------------

    def count(self, since: int, upto: int) -> int:
        """At most how many rows the span has."""
        return self.lake.rows_in(self.view.log, span(TICK, since, upto))

    def moments(self, since: int, upto: int) -> list[int]:
        """The ticks in a span at which something changed."""
        ticks = self.lake.scan(self.view.log, span(TICK, since, upto), [TICK]).column(TICK)
        return sorted(pc.unique(ticks).to_pylist())

    def rows(self, since: int, upto: int) -> pa.Table:
        names = [c.name for c in self.layout.delta]
        return self.lake.scan(self.view.log, span(TICK, since, upto), names).select(names)

    def query(self, since: int, upto: int) -> exp.Select:
        tick = exp.Column(this=ident(TICK))
        inside = (
            exp.GT(this=tick.copy(), expression=exp.Literal.number(since)),
            exp.LTE(this=tick.copy(), expression=exp.Literal.number(upto)),
        )
        names = [exp.Column(this=ident(c.name)) for c in self.layout.delta]
        return exp.select(*names).from_(self.view.log.tree()).where(*inside)

    def extent_at(self, tick: int, applied: int, extent: exp.Table) -> exp.Query:
        """The extent's rows at a tick within reach of the one that `extent` holds."""
        forward = tick >= applied
        changes = self.query(applied, tick) if forward else self.query(tick, applied)
        return self.layout.rolled(extent, changes, 1 if forward else -1)

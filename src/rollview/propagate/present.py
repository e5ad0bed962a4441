"""Propagation from base tables that show only their present: one query at a time, compensated, resumable.

The state between two queries is in the control database; the rows of each query are in the view delta, under a commit
that carries the query's number and execution time. Whoever finds a commit that the state does not know of believes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rollview.algebra.relation import Scan
from rollview.catalog import ControlStore, Pending, Step
from rollview.catalog.stored import Stored
from rollview.lake.lake import Lake
from rollview.names import COUNT, PROPERTY_ASKED, PROPERTY_TICK, TICK
from rollview.plan.compile import CompiledView
from rollview.plan.emit import emit, ident
from rollview.plan.timing import summarised, timed_change
from rollview.propagate.asked import asked, places, summands, window_name
from rollview.propagate.compute_delta import Propagate, Query
from rollview.propagate.intervals import Interval, Target
from rollview.propagate.log_rows import log_rows
from rollview.propagate.observe import Observer
from rollview.propagate.rolling import Rolling
from rollview.propagate.summands import Summands
from rollview.propagate.view_delta import ViewDelta
from rollview.steps import reached


@dataclass(frozen=True, slots=True)
class Opened:
    """A window that was begun: of which tables, how many changed rows it has, and when."""

    tables: Sequence[str]
    rows: int
    clock: float


class Present:
    """Carries the mark of one view forward; the caller holds the view's lease."""

    def __init__(
        self,
        lake: Lake,
        control: ControlStore,
        relations: Mapping[str, Stored],
        view: Stored,
        compiled: CompiledView,
        observer: Observer,
    ) -> None:
        self.lake = lake
        self.control = control
        self.relations = relations
        self.view = view
        self.compiled = compiled
        self.observer = observer
        self.delta = ViewDelta(lake, control, view)
        self.summands = summands(summarised(compiled))
        self.tables = [places(summand) for summand in self.summands]
        self.asked = 0
        self.intervals: dict[str, Interval | None] = {}

    def run(self, mark: int, upto: int, driver: str, interval: Callable[[str], Interval | None]) -> list[Step]:
        """Ask until the view delta is complete up to a tick."""
        self.intervals = {table: interval(table) for tables in self.tables for table in tables}
        state = self.resumed(mark, driver)
        done: list[Step] = []
        clock = time.perf_counter()
        opened: Opened | None = None
        while state.mark < upto or state.asks:
            if not state.asks:
                state, opened = self.begun(state, upto)
            before = state.mark
            state, rows = self.answered(state)
            step = None
            if state.mark > before:
                seconds = time.perf_counter() - clock
                step = Step(before, state.mark, exact=True, rows=rows, seconds=seconds)
                done.append(step)
                clock = time.perf_counter()
            self.save(state, step)
            reached("propagate.advanced")
            if opened is not None and not state.asks:
                self.learn(opened)
        return done

    def learn(self, opened: Opened) -> None:
        """Controllers hear how long the window took, with all that corrects it."""
        seconds = time.perf_counter() - opened.clock
        for table in opened.tables:
            chosen = self.intervals[table]
            if isinstance(chosen, Target):
                self.intervals[table] = chosen.after(opened.rows, seconds)

    # --- the state ------------------------------------------------------------------------------------

    def resumed(self, mark: int, driver: str) -> Summands:
        """Where the last process stopped; or a start at the mark, with nothing above it in the view delta."""
        commit = self.delta.look()
        pending = self.control.steps.pending(self.view.name)
        if pending is None or pending.state["driver"] != driver or "each" not in pending.state:
            self.delta.cut(mark)
            return Summands.start(driver, [len(tables) for tables in self.tables], mark)
        self.asked = pending.asked
        state = Summands.of(pending.state)
        if commit is not None and commit.number(PROPERTY_ASKED) == self.asked + 1:
            before = state.mark
            state = state.answered(commit.number(PROPERTY_TICK))
            self.asked += 1
            self.save(state, Step(before, state.mark, exact=True) if state.mark > before else None)
        return state

    def save(self, state: Summands, step: Step | None) -> None:
        self.control.steps.advance(self.view.name, Pending(self.asked, state.plain()), step)

    def begun(self, state: Summands, upto: int) -> tuple[Summands, Opened]:
        """The next window: of the table that is furthest behind, or of all that a summand has."""
        now = self.control.ticks.last_tick()
        here, there = state.here, self.tables[state.turn]
        if isinstance(here, Propagate):
            since, tables, limit = here.mark, list(dict.fromkeys(there)), upto
        else:
            ahead = here.fwd if isinstance(here, Rolling) else here.progress
            since, tables = ahead[here.next], [there[here.next]]
            limit = upto if since < upto else now
        chosen = [self.intervals[t] for t in tables]
        waiting = self.control.ticks.waiting(since, limit, tables)
        ends = [i.upto(waiting) for i in chosen if i is not None and waiting]
        end = min(ends, default=limit)
        begun = state.step(limit if waiting and end == waiting[-1].tick else end)
        self.save(begun, None)
        return begun, Opened(tables, sum(w.rows for w in waiting if w.tick <= end), time.perf_counter())

    # --- one query ------------------------------------------------------------------------------------

    def answered(self, state: Summands) -> tuple[Summands, int]:
        """Run the first ask, store its rows, and learn when it ran."""
        query, tables = state.asks[0].query, self.tables[state.turn]
        relation = timed_change(self.compiled.extent, asked(self.summands[state.turn], query))
        bound = self.windows(query, tables)
        try:
            text = emit(relation, lambda scan: self.bind(scan, bound))
            read = [t for t, w in zip(tables, query.factors, strict=True) if w is None]
            if read:
                frame, executed = self.observer.planned(read, lambda: self.lake.run(text.copy()), query.upto)
            else:
                frame, executed = self.lake.run(text), query.upto
            rows = self.lake.collect(frame)
        finally:
            self.lake.unbind(bound.values())
        self.asked += 1
        if rows.num_rows:
            self.delta.write(rows, {PROPERTY_ASKED: str(self.asked), PROPERTY_TICK: str(executed)})
            reached("propagate.answered")
        return state.answered(executed), rows.num_rows

    def windows(self, query: Query, tables: Sequence[str]) -> dict[str, str]:
        """The deltas of the query's windows, bound to names."""
        bound = {}
        for place, window in enumerate(query.factors):
            if window is not None:
                stored = self.relations[tables[place]]
                columns = [c.name for c in stored.base.columns]
                extra = (exp.Column(this=ident(TICK)), exp.Column(this=ident(COUNT)))
                rows = log_rows(self.control, stored, columns, window.since, window.upto).select(*extra)
                bound[window_name(place)] = f"{self.view.name}_{window_name(place)}"
                self.lake.bind(bound[window_name(place)], rows)
        return bound

    def bind(self, scan: Scan, bound: Mapping[str, str]) -> exp.Table:
        if scan.table in bound:
            return exp.Table(this=ident(bound[scan.table]))
        return self.relations[scan.table].extent.tree()

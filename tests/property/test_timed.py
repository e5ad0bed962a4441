"""Definition 4.2: a timed delta carries a view from any tick of the span to any later one."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from sqlglot import exp
from tests.apply_bags import added
from tests.duck import bag, constant, database, duck_type, quoted
from tests.law import Subject, plain
from tests.property.cases import Case, batches, seeds
from tests.property.random_tables import history
from tests.steps import Rows, Step, signed

from rollview.algebra.interpreter import Bag, Source, evaluate
from rollview.algebra.relation import Scan, State
from rollview.algebra.walking import scans
from rollview.names import COUNT, TICK
from rollview.plan.emit import emit, sql, table
from rollview.plan.stages import CHANGED, EXTENT
from rollview.plan.timing import delta_columns, maintain_timed, timing
from rollview.plan.visible import timed_view_delta
from rollview.rules.dispatch import Shape

BATCH = 20


class Span:
    """All ticks of a history as one span: tick i carries state i - 1 into state i."""

    def __init__(self, subject: Subject, states: list[Rows]) -> None:
        self.subject = subject
        self.states = states
        self.deltas: dict[str, Bag] = {}
        for name in subject.view.reads:
            found: Bag = Counter()
            for tick, (old, new) in enumerate(pairwise(states), start=1):
                for sign, rows in ((1, new[name] - old[name]), (-1, old[name] - new[name])):
                    found.update({(*row[:-1], tick, sign): n for row, n in signed(rows, sign).items()})
            self.deltas[name] = found

    @property
    def shapes(self) -> dict[str, Shape]:
        return {name: Shape() for name, rows in self.deltas.items() if rows}

    def source(self) -> Source:
        def read(name: str, state: State) -> tuple[tuple[str, ...], Bag]:
            columns = tuple(c.name for c in self.subject.tables[name].columns)
            if state is State.DELTA:
                return (*columns, TICK, COUNT), self.deltas[name]
            return columns, self.states[0 if state is State.BEFORE else -1][name]

        return read

    def recomputed(self, tick: int) -> Bag:
        state = self.states[tick]
        return self.subject.stored(Step(self.subject.tables, state, state))

    def check(self, change: Bag) -> None:
        """From every tick to every later one."""
        right = [self.recomputed(t) for t in range(len(self.states))]
        for since in range(len(self.states)):
            for upto in range(since + 1, len(self.states)):
                found = added(self.subject.view.extent, right[since], self.net(change, since, upto))
                assert found == right[upto], f"wrong from tick {since} to tick {upto}"

    def net(self, change: Bag, since: int, upto: int) -> Bag:
        """φ(σ_{since, upto}(Δ)) in the form of an apply: counts of rows, or sums of states, added up."""
        extent = self.subject.view.extent
        width = len(extent.key) if extent.states is not None else len(extent.columns)
        totals: dict[tuple[object, ...], list[int]] = {}
        for row, n in change.items():
            assert n == 1, "net within each tick"
            if since < row[-1] <= upto:
                moved = row[width:-1]
                total = totals.setdefault(row[:width], [0] * len(moved))
                totals[row[:width]] = [a + b for a, b in zip(total, moved, strict=True)]
        return Counter({(*key, *moved): 1 for key, moved in totals.items() if any(moved)})


def spans(seed: int) -> list[Span]:
    """The histories of a random view, if it is timed at every tick; longer ones than usual."""
    case = Case.of(seed)
    subject = Subject.of(case.sql, case.tables)
    if not timing(subject.view).every_tick:
        return []
    return [Span(subject, states) for states in (*case.histories, history(Random(seed), 6))]


@pytest.mark.parametrize("batch", batches(100, BATCH))
def test_any_tick_to_any_later_tick(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        for span in spans(seed):
            plan = maintain_timed(span.subject.view, span.shapes)
            change = Counter() if plan is None else plain(evaluate(plan, span.source()))
            span.check(change)


@pytest.mark.parametrize("batch", batches(60, BATCH))
def test_what_readers_of_an_aggregate_see_at_every_tick(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        for span in spans(seed):
            extent = span.subject.view.extent
            if extent.states is None:
                continue
            plan = maintain_timed(span.subject.view, span.shapes)
            stored = Counter() if plan is None else plain(evaluate(plan, span.source()))
            right = [span.recomputed(t) for t in range(len(span.states))]

            scanned = {CHANGED: (delta_columns(extent), stored), EXTENT: (extent.columns, right[0])}
            seen = plain(evaluate(timed_view_delta(extent), lambda table, _, found=scanned: found[table]))  # type: ignore[misc]
            for tick in range(1, len(span.states)):
                step = Step(span.subject.tables, span.states[tick], span.states[tick])
                shown = Counter(span.subject.read(step, right[tick - 1]))
                for row, n in seen.items():
                    if row[-1] == tick:
                        shown[row[:-2]] += row[-2] * n
                assert plain(shown) == span.subject.read(step, right[tick]), f"tick {tick}"


def on_duckdb(span: Span) -> Bag:
    """The emitted SQL, over tables that are filled for it."""
    plan = maintain_timed(span.subject.view, span.shapes)
    if plan is None:
        return Counter()
    connection, source = database(), span.source()
    connection.execute("USE main")
    for name, state in {(s.table, s.at) for s in scans(plan)}:
        columns, rows = source(name, state)
        types = {c.name: duck_type(c.type) for c in span.subject.tables[name].columns}
        shape = ", ".join(f"{quoted(c)} {types.get(c, 'bigint')}" for c in columns)
        target = f"main.{quoted(f'{name}__{state.value}')}"
        connection.execute(f"CREATE OR REPLACE TABLE {target} ({shape})")
        values = ", ".join("(" + ", ".join(map(constant, row)) + ")" for row in rows.elements())
        if values:
            connection.execute(f"INSERT INTO {target} VALUES {values}")

    def bind(scan: Scan) -> exp.Table:
        return table("main", f"{scan.table}__{scan.at.value}")

    return bag(connection.execute(sql(emit(plan, bind), "duckdb")).fetchall())


@pytest.mark.parametrize("batch", range(-(-seeds(200) // 10 // BATCH)))
def test_emitted_sql_is_timed(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        for span in spans(seed):
            span.check(on_duckdb(span))


def test_what_a_view_delta_stores() -> None:
    rows = next(s for seed in range(50) for s in spans(seed) if s.subject.view.extent.states is None)
    sums = next(s for seed in range(50) for s in spans(seed) if s.subject.view.extent.states is not None)
    assert delta_columns(rows.subject.view.extent)[-2:] == (COUNT, TICK)
    assert delta_columns(sums.subject.view.extent) == (*sums.subject.view.extent.columns, TICK)

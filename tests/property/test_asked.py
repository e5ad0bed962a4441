"""Compensated propagation of random views: the drivers' queries as algebra, interpreted while states move on."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from tests.law import Subject, plain
from tests.property.cases import Case, batches
from tests.property.random_tables import PARENTS_FIRST, history
from tests.property.test_timed import Span

from rollview.algebra.interpreter import Bag, Source, evaluate
from rollview.algebra.relation import State
from rollview.names import COUNT, TICK
from rollview.plan.timing import summarised, timed_change, timing
from rollview.propagate.asked import asked, can_be_asked, places, summands, window_name
from rollview.propagate.compute_delta import Propagate, Query
from rollview.propagate.rolling import Rolling
from rollview.propagate.summands import DRIVERS, Summands

BATCH = 20


def scanned(span: Span, tables: tuple[str, ...], query: Query, now: int) -> Source:
    """Tables as they are at `now`, and the windows of the query."""

    def read(name: str, state: State) -> tuple[tuple[str, ...], Bag]:
        for place, window in enumerate(query.factors):
            if window is not None and name == window_name(place):
                columns = tuple(c.name for c in span.subject.tables[tables[place]].columns)
                rows = span.deltas[tables[place]]
                inside = {r: n for r, n in rows.items() if window.since < r[-2] <= window.upto}
                return (*columns, TICK, COUNT), Counter(inside)
        return tuple(c.name for c in span.subject.tables[name].columns), span.states[now][name]

    return read


def check(seed: int, kind: str) -> None:
    case = Case.of(seed)
    subject = Subject.of(case.sql, case.tables)
    made = summarised(subject.view)
    if can_be_asked(made) and timing(subject.view).every_tick and max(len(places(s)) for s in summands(made)) <= 4:
        check_view(subject, seed, kind)


def check_view(subject: Subject, seed: int, kind: str) -> None:
    rng, parts = Random(seed), summands(summarised(subject.view))
    span, tables = Span(subject, history(rng, 6)), [places(part) for part in parts]
    drivers, now, delta = Summands.start(kind, [len(t) for t in tables], 0), 1, Counter[tuple[object, ...]]()
    last = len(span.states) - 1
    while drivers.mark < last:
        drivers = Summands.of(drivers.plain())
        now = max(now, rng.randint(now, last))
        if not drivers.asks:
            here = drivers.here
            ahead = here.fwd if isinstance(here, Rolling) else getattr(here, "progress", (here.mark,))
            since = min(ahead) if isinstance(here, Propagate) else ahead[here.next]
            if since >= now:
                now += 1
            drivers = drivers.step(rng.randint(since + 1, now))
        query, turn = drivers.asks[0].query, drivers.turn
        relation = timed_change(subject.view.extent, asked(parts[turn], query))
        delta.update(added(subject, plain(evaluate(relation, scanned(span, tables[turn], query, now)))))
        drivers = drivers.answered(now)
    span.check(totals(subject, delta))


def width(subject: Subject) -> int:
    extent = subject.view.extent
    return len(extent.key) if extent.states is not None else len(extent.columns)


def added(subject: Subject, change: Bag) -> Counter[tuple[object, ...]]:
    """What moves, by matched columns, place of what moves, and tick."""
    found: Counter[tuple[object, ...]] = Counter()
    for row, n in change.items():
        for place, value in enumerate(row[width(subject) : -1]):
            found[(*row[: width(subject)], place, row[-1])] += value * n
    return found


def totals(subject: Subject, delta: Counter[tuple[object, ...]]) -> Bag:
    """Queries' changes added up, per tick, in the form of a stored view delta."""
    extent = subject.view.extent
    moving = len(extent.columns) - width(subject) if extent.states is not None else 1
    groups: dict[tuple[object, ...], list[int]] = {}
    for (*key, place, tick), value in delta.items():
        groups.setdefault((*key, tick), [0] * moving)[place] += value  # type: ignore[index]
    return Counter({(*key, *moved, tick): 1 for (*key, tick), moved in groups.items() if any(moved)})


@pytest.mark.parametrize("kind", DRIVERS)
@pytest.mark.parametrize("batch", batches(60, BATCH))
def test_random_views_from_tables_that_show_only_their_present(kind: str, batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        check(seed, kind)


UNIONS = {
    "of_tables": "SELECT a FROM r UNION ALL SELECT c FROM s",
    "of_joins": "SELECT r.a, s.c FROM r JOIN s ON s.r_id = r.id UNION ALL SELECT x, y FROM u WHERE x > 0",
    "joined": "SELECT q.k, u.y FROM (SELECT a AS k FROM r UNION ALL SELECT c FROM s) q JOIN u ON u.x = q.k",
    "summed": (
        "SELECT k, SUM(n) AS n, COUNT(*) AS c FROM (SELECT a AS k, b AS n FROM r UNION ALL SELECT c, id FROM s) "
        "WHERE n > 0 GROUP BY k"
    ),
    "of_a_table_with_itself": "SELECT a FROM r UNION ALL SELECT p.a FROM r p JOIN r q ON p.a = q.b",
}


@pytest.mark.parametrize("kind", DRIVERS)
@pytest.mark.parametrize("sql", UNIONS.values(), ids=UNIONS)
def test_unions(kind: str, sql: str) -> None:
    subject = Subject.of(sql, {t.name: t for t in PARENTS_FIRST})
    assert can_be_asked(summarised(subject.view)) and len(summands(summarised(subject.view))) == 2
    for seed in range(8):
        check_view(subject, seed, kind)

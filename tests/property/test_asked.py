"""Compensated propagation of random views: the drivers' queries as algebra, interpreted while states move on."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from tests.law import Subject, plain
from tests.property.cases import Case, batches
from tests.property.random_tables import history
from tests.property.test_timed import Span

from rollview.algebra.interpreter import Bag, Source, evaluate
from rollview.algebra.relation import State
from rollview.names import COUNT, TICK
from rollview.plan.timing import summarised, timed_change, timing
from rollview.propagate.asked import asked, can_be_asked, places, window_name
from rollview.propagate.compute_delta import Query
from rollview.propagate.present import DRIVERS
from rollview.propagate.rolling import Rolling, Stepwise

BATCH = 20


def scanned(span: Span, query: Query, now: int) -> Source:
    """Tables as they are at `now`, and the windows of the query."""
    tables = places(summarised(span.subject.view))

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
    if not can_be_asked(made) or not timing(subject.view).every_tick or len(places(made)) > 4:
        return
    rng = Random(seed)
    span = Span(subject, history(rng, 6))
    driver, now, delta = DRIVERS[kind].start(len(places(made)), 0), 1, Counter[tuple[object, ...]]()
    last = len(span.states) - 1
    while driver.mark < last:
        now = max(now, rng.randint(now, last))
        if not driver.asks:
            ahead = driver.fwd if isinstance(driver, Rolling) else getattr(driver, "progress", (driver.mark,))
            since = min(ahead) if not isinstance(driver, Rolling | Stepwise) else ahead[driver.next]
            if since >= now:
                now += 1
            driver = driver.step(rng.randint(since + 1, now))
        query = driver.asks[0].query
        relation = timed_change(subject.view.extent, asked(made, query))
        delta.update(added(subject, plain(evaluate(relation, scanned(span, query, now)))))
        driver = driver.answered(now)
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

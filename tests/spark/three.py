"""Three tables r, s and t, views that join them, and what those must hold, computed without Spark."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import rollview

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from rollview import Warehouse

VIEWS = {
    "pairs": "SELECT r.a, r.x, s.y FROM r JOIN s ON r.a = s.a",
    "threes": "SELECT r.x, s.y, t.z FROM r JOIN s ON r.a = s.a JOIN t ON s.y = t.y",
    "sums": "SELECT t.z, SUM(r.x) AS x, COUNT(*) AS n FROM r JOIN s ON r.a = s.a JOIN t ON s.y = t.y GROUP BY t.z",
    "either": "SELECT a, x FROM r WHERE x > 0 UNION ALL SELECT s.a, t.z FROM s JOIN t ON s.y = t.y",
    "both": "SELECT p.x AS x, q.x AS other FROM r p JOIN r q ON p.a = q.a",
}
State = dict[str, Counter[tuple[int, int]]]
"""the rows of every table"""


def place(path: Path, access: str = "present") -> Warehouse:
    wh = rollview.open(path)
    for name, columns in (("r", "a INT, x INT"), ("s", "a INT, y INT"), ("t", "y INT, z INT")):
        wh.create_table(name, columns, access=access)
    with wh.transaction() as tx:
        for name in "rst":
            tx.insert(name, [(i % 3, i) for i in range(4)])
    return wh


def commit(wh: Warehouse, rng: Random, most: int = 3, lost: float = 0.5) -> None:
    """A transaction on one table, or on up to `most` of them; `lost`: how often rows go as well."""
    with wh.transaction() as tx:
        for name in rng.sample("rst", rng.randint(1, most)):
            tx.insert(name, [(rng.randrange(3), rng.randrange(4))])
            if rng.random() < lost:
                column = {"r": "x", "s": "y", "t": "z"}[name]
                tx.delete(name, where=f"{column} = {rng.randrange(4)}")


class Truth:
    """The tables at every tick, as their change logs say: the tests may look where propagation must not."""

    def __init__(self) -> None:
        self.states: list[State] = [{name: Counter() for name in "rst"}]

    def follow(self, wh: Warehouse) -> None:
        """Up to the last tick."""
        since, last = len(self.states) - 1, wh.tick
        changes = [(name, *r) for name in "rst" for r in wh.changes(name, since, last).collect()]
        for tick in range(since + 1, last + 1):
            state = {name: Counter(rows) for name, rows in self.states[-1].items()}
            for name, a, b, count, at in changes:
                state[name][a, b] += count if at == tick else 0
            self.states.append(state)

    def at(self, view: str, tick: int) -> list[tuple[Any, ...]]:
        return expected(view, self.states[tick])


def expected(view: str, state: State) -> list[tuple[Any, ...]]:
    r, s, t = (list(state[n].elements()) for n in "rst")
    pairs = [(a, x, y) for a, x in r for b, y in s if a == b]
    threes = [(x, y, z) for _, x, y in pairs for v, z in t if y == v]
    if view == "pairs":
        return sorted(pairs)
    if view == "threes":
        return sorted(threes)
    if view == "either":
        return sorted([(a, x) for a, x in r if x > 0] + [(a, z) for a, y in s for v, z in t if v == y])
    if view == "both":
        return sorted((x, y) for a, x in r for b, y in r if a == b)
    groups: dict[int, list[int]] = {}
    for x, _, z in threes:
        groups.setdefault(z, []).append(x)
    return sorted((z, sum(xs), len(xs)) for z, xs in groups.items())

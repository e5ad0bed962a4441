"""Many random cases without a test runner: a range of seeds, so that a run can be split, resumed and repeated.

    python -m tests.property.long_run interpreter 0 25000            # four histories for each view: 100,000 cases
    python -m tests.property.long_run interpreter 0 12500 --narrow   # aggregates and outer joins only
    python -m tests.property.long_run duckdb 0 1250

Every failure is printed with its seed and its view, and the run goes on; what the views consist of is counted.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import traceback
from collections import Counter
from typing import TYPE_CHECKING

import duckdb
from tests.duck import check_on_duckdb
from tests.law import Subject
from tests.property.cases import Case, check, spans

from rollview.algebra.relation import Aggregate, OuterJoin, Project, Relation, Scan
from rollview.algebra.walking import children, walk
from rollview.errors import RollviewError

if TYPE_CHECKING:
    from collections.abc import Callable

HISTORIES = 4
EVERY = 250


def on_duckdb(case: Case) -> Subject:
    subject = Subject.of(case.sql, case.tables)
    for states in case.histories:
        check_on_duckdb(subject, states, spans(states), through_spark=case.seed % 2 == 0, interpreted=True)
    return subject


CHECKS: dict[str, Callable[[Case], Subject]] = {"interpreter": check, "duckdb": on_duckdb}


def depth(node: Relation) -> int:
    """How many operators lie on the longest way down; projections do not count."""
    return (not isinstance(node, Scan | Project)) + max((depth(c) for c in children(node)), default=0)


class Census:
    """What ran, and what it consisted of."""

    def __init__(self) -> None:
        self.cases = self.wrong = 0
        self.refused: Counter[str] = Counter()
        self.views: Counter[str] = Counter()
        self.depths: Counter[int] = Counter()

    def count(self, definition: Relation, histories: int) -> None:
        self.cases += histories
        kinds = {type(n) for n in walk(definition)}
        self.views.update(["all", *(k.__name__ for k in kinds)])
        if {Aggregate, OuterJoin} <= kinds:
            self.views["Aggregate and OuterJoin"] += 1
        scans = Counter(n.table for n in walk(definition) if isinstance(n, Scan))
        if any(n > 1 for n in scans.values()):
            self.views["a table twice"] += 1
        self.depths[min(depth(definition), 10)] += 1

    def __str__(self) -> str:
        deep = ", ".join(f"{d}{'+' if d == 10 else ''}: {n}" for d, n in sorted(self.depths.items()))
        return (
            f"{self.cases} cases, {self.wrong} wrong, {self.refused.total()} refused {dict(self.refused)}\n"
            f"  views: {', '.join(f'{k} {n}' for k, n in self.views.most_common())}\n  by depth: {deep}"
        )


def run(where: str, first: int, last: int, *, narrow: bool) -> Census:
    census, start = Census(), time.monotonic()
    for seed in range(first, last):
        case = Case.of(seed, shared=where == "duckdb", narrow=narrow, histories=HISTORIES)
        try:
            census.count(CHECKS[where](case).view.definition, HISTORIES)
        except RollviewError as error:
            census.refused[error.code] += 1
            print(f"REFUSED seed {seed}: {error}\n  {case.sql}", flush=True)
        except duckdb.NotImplementedException as error:
            census.refused["DuckDB"] += 1
            print(f"REFUSED seed {seed}: {error}\n  {case.sql}", flush=True)
        except Exception as error:
            census.wrong += 1
            place = traceback.extract_tb(error.__traceback__)[-1]
            print(f"WRONG seed {seed}: {type(error).__name__} {error} ({place.filename}:{place.lineno})", flush=True)
            print(f"  {case.sql}", flush=True)
        if (seed + 1 - first) % EVERY == 0 or seed + 1 == last:
            print(f"seeds {first}..{seed + 1} in {time.monotonic() - start:.0f} s: {census}", flush=True)
    return census


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", choices=CHECKS)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int, help="the seed before which the run ends")
    parser.add_argument("--narrow", action="store_true", help="only aggregates and outer joins over σ, π, ⋈ and ⊎")
    given = parser.parse_args()
    gc.set_threshold(200_000, 20, 20)
    sys.exit(run(given.where, given.first, given.last, narrow=given.narrow).wrong > 0)


if __name__ == "__main__":
    main()

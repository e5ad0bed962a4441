"""Many random cases on Spark: a seed is a warehouse with many views over the same changing tables.

    python -m tests.spark.long_run 0 5            # 25 views through 4 histories for each seed: 500 cases
    python -m tests.spark.long_run 0 3 --narrow   # aggregates and outer joins only

A case is a view that was carried over one history, of one transaction or two on all tables, and verified. Every failure
is printed with its seed and its view, and the run goes on.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.property.long_run import Census
from tests.property.random_tables import declared, history
from tests.property.random_views.views import Views
from tests.spark.histories import advance, create_tables
from tests.spark.test_law import EXECUTORS

import rollview
from rollview.errors import RollviewError
from rollview.lake.errors import UNPLANNED
from rollview.lake.session import local_session

if TYPE_CHECKING:
    from rollview.algebra.schema import Tables

VIEWS = 25
HISTORIES = (1, 2, 1, 2)
"""transactions before each refresh"""


def run(folder: Path, seed: int, census: Census, *, narrow: bool) -> None:
    rng = Random(seed)
    tables = declared(rng)
    states = history(rng, 1 + sum(HISTORIES))
    wh = rollview.open(folder, limits=list(EXECUTORS.values())[seed % len(EXECUTORS)])
    create_tables(wh, tables)
    advance(rng, wh, tables, {}, states[0])
    views = create_views(wh, rng, tables, seed, census, narrow=narrow)
    at = 0
    for transactions in HISTORIES:
        for _ in range(transactions):
            advance(rng, wh, tables, states[at], states[at + 1])
            at += 1
        for name, sql in list(views.items()):
            census.cases += 1
            problem = difference(wh, name, census)
            if problem and fails_as_a_query(wh, sql):
                census.refused["Spark's own"] += 1
                print(f"NOT VERIFIED seed {seed}, {name} at state {at}: {problem}\n  {sql}", flush=True)
                del views[name]
            elif problem:
                census.wrong += 1
                print(f"WRONG seed {seed}, {name} at state {at}: {problem}\n  {sql}", flush=True)
                del views[name]  # what is wrong once stays wrong
    wh.close()


def create_views(
    wh: rollview.Warehouse, rng: Random, tables: Tables, seed: int, census: Census, *, narrow: bool
) -> dict[str, str]:
    views: dict[str, str] = {}
    while len(views) < VIEWS:
        name, sql = f"v{len(views)}", Views(rng, tables, narrow=narrow).view()
        try:
            wh.create_view(name, sql, policy="incremental")
        except RollviewError as error:
            census.refused[error.code] += 1
            print(f"REFUSED seed {seed}: {error}\n  {sql}", flush=True)
            continue
        views[name] = sql
    return views


def difference(wh: rollview.Warehouse, name: str, census: Census) -> str:
    """What a refresh and a recompute disagree in; nothing if they do not. A view is only recomputed where Spark breaks
    down over the query of its change, and must be right then, too."""
    try:
        report = wh.refresh(name)
        if report.reason == UNPLANNED:
            census.refused["by Spark's planner, once"] += 1
        elif report.strategy == "recompute":
            return f"recomputed: {report}"
        found = wh.verify(name)
        return "" if found.ok else str(found)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def fails_as_a_query(wh: rollview.Warehouse, sql: str) -> bool:
    """Is it Spark that cannot run the text by which the view is judged?"""
    try:
        wh.sql(sql).collect()
    except Exception:
        return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int, help="the seed before which the run ends")
    parser.add_argument("--narrow", action="store_true", help="only aggregates and outer joins over σ, π, ⋈ and ⊎")
    given = parser.parse_args()
    census, start = Census(), time.monotonic()
    with TemporaryDirectory() as folder:
        spark = local_session(Path(folder), f"sqlite:///{folder}/catalog.db")
        for seed in range(given.first, given.last):
            with TemporaryDirectory() as warehouse:
                run(Path(warehouse), seed, census, narrow=given.narrow)
            print(f"seeds {given.first}..{seed + 1} in {time.monotonic() - start:.0f} s: {census}", flush=True)
        spark.stop()
    sys.exit(census.wrong > 0)


if __name__ == "__main__":
    main()

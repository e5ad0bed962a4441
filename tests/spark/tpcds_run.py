"""All 99 TPC-DS queries as views of a real warehouse under policy strict, refreshed and verified at every transaction.

    python -m tests.spark.tpcds_run 1 100

Each query has a warehouse of its own with the tables that it reads, over the small histories of tests/plan/test_tpcds
in which it finds rows; every transaction inserts, deletes and updates rows of all of them. Every failure is printed,
and the run goes on.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from tests.plan.test_tpcds import STATES, histories, subject_of
from tests.plan.tpcds import QUERIES, TABLES, small
from tests.spark.histories import change_bag, create_tables

import rollview
from rollview.errors import RollviewError
from rollview.lake.session import local_session

if TYPE_CHECKING:
    from tests.law import Subject
    from tests.steps import Rows

    from rollview.algebra.schema import Tables


def advance(wh: rollview.Warehouse, tables: Tables, before: Rows, after: Rows) -> None:
    """One transaction; a row whose key comes back is an update."""
    with wh.transaction() as tx:
        for name, table in tables.items():
            change_bag(tx, table, before.get(name, Counter()), after[name])


def run(folder: Path, number: int) -> str:
    """What is wrong with a query, if anything is; over the first history on which plain Spark can answer it."""
    subject = subject_of(number)
    for place, states in enumerate(histories(subject, number)):
        problem = run_history(folder / str(place), number, subject, states)
        if problem is not None:
            return problem
    return "there is no history on which the query is defined"


def run_history(folder: Path, number: int, subject: Subject, states: list[Rows]) -> str | None:
    """None: Spark itself cannot answer the query at some state, such as a ratio to nothing."""
    tables = {name: TABLES[name] for name in TABLES if name in subject.view.reads}
    wh = rollview.open(folder)
    try:
        create_tables(wh, tables)
        advance(wh, tables, {}, states[0])
        wh.create_view("view", small(number).sql("spark"), policy="strict")
        for before, after in pairwise(states):
            advance(wh, tables, before, after)
            report = wh.refresh("view")
            found = wh.verify("view")
            if not found.ok:
                return f"{report}\n{found}"
    except RollviewError as error:
        try:
            wh.sql(small(number).sql("spark")).collect()
        except (RollviewError, PySparkException):
            return None
        return str(error)
    finally:
        wh.close()
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int, help="the number before which the run ends")
    given = parser.parse_args()
    wrong, done, start = 0, 0, time.monotonic()
    with TemporaryDirectory() as folder:
        spark = local_session(Path(folder), f"sqlite:///{folder}/catalog.db")
        for number in (n for n in QUERIES if given.first <= n < given.last):
            with TemporaryDirectory() as warehouse:
                problem = run(Path(warehouse), number)
            done += 1
            if problem:
                wrong += 1
                print(f"WRONG query {number}: {problem}", flush=True)
            print(
                f"query {number}: {done} views through {STATES - 1} transactions in {time.monotonic() - start:.0f} s, "
                f"{wrong} wrong",
                flush=True,
            )
        spark.stop()
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()

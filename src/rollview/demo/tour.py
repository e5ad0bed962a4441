"""The tour, chapter by chapter."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rollview.cli.output import print_json, progress
from rollview.cli.place import Place
from rollview.demo import example1
from rollview.demo.crash import refresh_and_die
from rollview.demo.example1 import VIEWS, Round
from rollview.demo.recompute import PlainSpark
from rollview.demo.screen import Screen
from rollview.errors import BrokenInvariant
from rollview.report import Report, Verification
from rollview.warehouse import Warehouse

CRASHED = "si_sales"


class Tour:
    """Runs in a temporary warehouse, or in a new folder that is kept."""

    def __init__(self, sales: int, keep: Path | None, *, as_json: bool) -> None:
        self.sales = sales
        self.keep = keep
        self.as_json = as_json
        self.screen = Screen(aside=as_json)
        self.found: dict[str, Any] = {"sales": sales, "rounds": []}

    def run(self) -> None:
        clock = time.perf_counter()
        with self.folder() as path, Place(path, None).make() as wh:
            self.tables(wh)
            self.views(wh)
            plain = self.warm_up(wh)
            self.rounds(wh, plain)
            self.explain(wh)
            self.verify(wh)
            self.crash(wh, path)
        self.found["seconds"] = time.perf_counter() - clock
        self.goodbye()
        if self.as_json:
            print_json(self.found)

    # --- the chapters ---------------------------------------------------------------------------------

    def tables(self, wh: Warehouse) -> None:
        self.screen.title("rollview demo", f"Gupta and Mumick's Example 1 in {wh.path}, Spark {wh.spark.version}")
        self.screen.chapter("Three tables")
        clock = time.perf_counter()
        with progress(f"Loading {self.sales:,} sales"):
            example1.load(wh, self.sales)
        counts = {"stores": example1.STORES, "items": example1.ITEMS, "sales": self.sales}
        self.screen.tables([(n, counts[n], t["columns"]) for n, t in example1.TABLES.items()])
        self.screen.say(f"loaded in one transaction, in {time.perf_counter() - clock:.1f} s", "dim")

    def views(self, wh: Warehouse) -> None:
        self.screen.chapter("Three views over them, written in SQL and computed once")
        for name, query in VIEWS.items():
            with progress(f"Creating {name}"):
                report = wh.create_view(name, query)
            assert report is not None
            self.screen.view(name, query, report)

    def warm_up(self, wh: Warehouse) -> PlainSpark:
        """Spark's first statements are several times slower; neither side should pay for that."""
        with progress("Warming up both sides"):
            plain = PlainSpark(wh, VIEWS)
            for turn in example1.warm_up(self.sales):
                commit(wh, turn)
                wh.refresh(*VIEWS)
            for name in VIEWS:
                plain.run(name)
        return plain

    def rounds(self, wh: Warehouse, plain: PlainSpark) -> None:
        self.screen.chapter("The tables change, the views follow")
        self.screen.say("recompute: plain Spark runs the view's SQL and overwrites a table with the result", "dim")
        for turn in example1.rounds(self.sales):
            with progress(turn.title):
                tick, seconds = commit(wh, turn)
            pairs = []
            for name in VIEWS:
                with progress(f"Refreshing {name}"):
                    pairs.append((one(wh.refresh(name)), plain.run(name)))
            self.screen.round(turn.title, tick, seconds)
            self.screen.refreshes(pairs)
            views = [{**r.as_dict(), "recompute_seconds": p.seconds, "recompute_jobs": p.jobs} for r, p in pairs]
            self.found["rounds"].append({"title": turn.title, "tick": tick, "seconds": seconds, "views": views})
        self.sums(wh)

    def sums(self, wh: Warehouse) -> None:
        views = [v for turn in self.found["rounds"] for v in turn["views"]]
        refreshes, recomputes = (sum(v[k] for v in views) for k in ("seconds", "recompute_seconds"))
        clock = time.perf_counter()
        idle = wh.refresh(*VIEWS)
        assert isinstance(idle, list)
        passed = (time.perf_counter() - clock) * 1000
        self.screen.say("")
        self.screen.say(f"In sum: refreshes {refreshes:.1f} s, recomputes {recomputes:.1f} s.")
        self.screen.say(f"Nothing new: three refreshes take {passed:.0f} ms and {sum(r.jobs or 0 for r in idle)} jobs.")

    def explain(self, wh: Warehouse) -> None:
        self.screen.chapter("How city_sales is kept (an excerpt of rollview explain city_sales)")
        self.screen.explanation(wh.explain("city_sales"), ("sales", "stores"))

    def verify(self, wh: Warehouse) -> None:
        self.screen.chapter("Are they right? Each view against its SQL, row by row")
        self.found["verified"] = self.verified([checked(wh, name) for name in VIEWS])

    def verified(self, found: list[Verification]) -> list[dict[str, Any]]:
        self.screen.verified(found)
        for v in found:
            if not v.ok:
                raise BrokenInvariant(f"{v.view} differs from its recompute", code="RV-VERIFY", hint=repr(v))
        return [{"view": v.view, "tick": v.tick, "rows": v.rows, "ok": v.ok} for v in found]

    def crash(self, wh: Warehouse, path: Path) -> None:
        self.screen.chapter("kill -9 in the middle of a refresh")
        tick, seconds = commit(wh, example1.crash_round(self.sales))
        self.screen.say(f"{example1.crash_round(self.sales).title}, committed as tick {tick} in {seconds:.1f} s")
        with progress(f"Another process refreshes {CRASHED}, and dies"):
            code = refresh_and_die(path, CRASHED)
        if code != -9:
            raise BrokenInvariant(f"the refresh should have died, and ended with {code}", code="RV-DEMO-CRASH")
        at = next(r["tick"] for r in wh.status() if r["name"] == CRASHED)
        self.screen.say(
            f"Another process runs `rollview refresh {CRASHED}`, and is killed right after it merged the change, "
            f"before it could record that. The control tables still say tick {at}."
        )
        left = checked(wh, CRASHED)
        if not left.ok:
            raise BrokenInvariant(f"{CRASHED} was left broken", code="RV-VERIFY", hint=repr(left))
        self.screen.say(f"But the commit carries its tick: the view is whole, at tick {left.tick}. Refresh again:")
        with progress("Refreshing all views"):
            reports = wh.refresh(*VIEWS)
        assert isinstance(reports, list)
        strategies = ", ".join(f"{r.view} {'is there already' if r.strategy == 'none' else 'follows'}" for r in reports)
        self.screen.say(f"{strategies}.")
        after = self.verified([left if r.strategy == "none" else checked(wh, r.view) for r in reports])
        self.found["crash"] = {"exit_code": code, "tick": left.tick, "recorded_tick": at, "verified": after}

    def goodbye(self) -> None:
        self.screen.console.print()
        self.screen.say(
            "A recompute reads every sale each time; a refresh reads what changed, and what that meets. The more "
            f"sales, the more it gains: try --rows {self.sales * 5}, or make bench."
        )
        if self.keep is not None:
            self.screen.say(f"The warehouse is kept: rollview status -w {self.keep}")
        self.screen.console.print()
        self.screen.title(f"done in {self.found['seconds']:.0f} s")

    # --- where it happens -----------------------------------------------------------------------------

    @contextmanager
    def folder(self) -> Iterator[Path]:
        if self.keep is not None:
            yield self.keep
            return
        path = Path(tempfile.mkdtemp(prefix="rollview-demo-"))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def commit(wh: Warehouse, turn: Round) -> tuple[int, float]:
    clock = time.perf_counter()
    with wh.transaction() as tx:
        turn.change(tx)
    assert tx.tick is not None
    return tx.tick, time.perf_counter() - clock


def checked(wh: Warehouse, name: str) -> Verification:
    with progress(f"Verifying {name}"):
        return wh.verify(name)


def one(report: Report | list[Report]) -> Report:
    assert isinstance(report, Report)
    return report

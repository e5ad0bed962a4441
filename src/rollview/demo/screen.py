"""What the tour shows: headings, tables and a little colour, within a hundred columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

from rollview.cli.output import Column, columns
from rollview.cli.views import changed_rows
from rollview.demo.recompute import Recompute
from rollview.plan.explain import Explanation, Strategy
from rollview.report import Report, Verification

WIDEST = 100


class Screen:
    """Writes to stdout, or to stderr where stdout is for JSON."""

    def __init__(self, *, aside: bool = False) -> None:
        self.console = Console(stderr=aside, highlight=False, emoji=False)
        self.console.width = min(WIDEST, self.console.width) if self.console.is_terminal else WIDEST
        self.chapters = 0

    def title(self, text: str, *lines: str) -> None:
        self.console.print(Rule(Text(text, style="bold"), style="cyan"))
        for line in lines:
            self.say(line)

    def chapter(self, text: str) -> None:
        self.chapters += 1
        self.console.print()
        self.console.print(Text.assemble((f"{self.chapters}  ", "bold cyan"), (text, "bold")))

    def say(self, text: str, style: str = "") -> None:
        self.console.print(Padding(Text(text, style=style), (0, 0, 0, 3)))

    def tables(self, rows: Sequence[tuple[str, int, str]]) -> None:
        header = (Column("table"), Column("rows", right=True), Column("columns", style="dim"))
        self.show(header, [(name, f"{count:,}", text) for name, count, text in rows])

    def sql(self, text: str) -> None:
        code = Syntax(text, "sql", theme="ansi_dark", background_color="default", word_wrap=True)
        self.console.print(Padding(code, (0, 0, 0, 6)))

    def view(self, name: str, text: str, report: Report) -> None:
        self.console.print()
        made = f"{report.inserted:,} rows in {report.seconds:.1f} s"
        self.console.print(Padding(Text.assemble((name, "bold"), (f"  {made}", "dim")), (0, 0, 0, 3)))
        self.sql(text)

    def round(self, title: str, tick: int, seconds: float) -> None:
        self.console.print()
        note = f"  tick {tick}, committed in {seconds:.1f} s"
        self.console.print(Padding(Text.assemble((title, "bold"), (note, "dim")), (0, 0, 0, 3)))

    def refreshes(self, rows: Sequence[tuple[Report, Recompute]]) -> None:
        header = (
            Column("view"),
            Column("rows changed", right=True),
            Column("jobs", right=True),
            Column("refresh", right=True, style="green"),
            Column("recompute", right=True),
            Column("speed-up", right=True, style="bold"),
        )
        self.show(header, [self.refresh_row(*row) for row in rows])

    def refresh_row(self, report: Report, other: Recompute) -> tuple[str, ...]:
        return (
            report.view if report.strategy == "incremental" else f"{report.view} ({report.strategy})",
            changed_rows(report.inserted, report.updated, report.deleted),
            str(report.jobs),
            f"{report.seconds:.2f} s",
            f"{other.seconds:.2f} s",
            f"{other.seconds / report.seconds:.1f}×",
        )

    def explanation(self, found: Explanation, changed: Sequence[str]) -> None:
        self.say("Algebra", "bold")
        for line in found.algebra.replace("`", "").splitlines():
            self.say("  " + line)
        strategies = [s for s in found.strategies if s.table in changed]
        for strategy in strategies:
            self.say(f"When {strategy.table} changes", "bold")
            self.say(f"  {strategy.how}; reads {reads(strategy)}")
        self.say("Apply", "bold")
        self.sql(shortened(found.merge, self.console.width - 8))

    def verified(self, found: Sequence[Verification]) -> None:
        header = (
            Column("view"),
            Column("tick", right=True),
            Column("rows", right=True),
            Column("equals its recompute"),
        )
        rows = [(v.view, str(v.tick), f"{v.rows:,}", "yes" if v.ok else f"NO: {v}") for v in found]
        self.show(header, rows)

    def show(self, header: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        self.console.print(Padding(columns(header, rows), (0, 0, 0, 3)))


def reads(strategy: Strategy) -> str:
    """Whole tables first, then changes."""
    words = {"DELTA": "the changes of {}", "UPDATES": "the updates of {}", "AFTER": "{}", "BEFORE": "{} as it was"}
    parts = sorted((scan.rsplit(" ", 1) for scan in strategy.scans), key=lambda p: p[1] in ("DELTA", "UPDATES"))
    return " and ".join(words.get(state, f"{{}} {state.lower()}").format(table) for table, state in parts)


def shortened(sql: str, width: int) -> str:
    """Without the quotes that only odd names need; long lines cut."""
    lines = sql.replace("`", "").splitlines()
    return "\n".join(line if len(line) <= width else line[: width - 1] + "…" for line in lines)

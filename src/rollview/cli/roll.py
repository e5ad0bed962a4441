"""Commands that carry views through time: propagate, apply, run, maintain."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from rollview.cli.options import Catalog, Json, Warehouse
from rollview.cli.output import print_json, progress, remark, say, show, table
from rollview.cli.place import Place
from rollview.cli.problems import Exit, failing_with
from rollview.cli.views import moment, reports_table
from rollview.errors import BadInput

View = Annotated[str, typer.Argument(metavar="NAME", help="The view's name.", show_default=False)]
StepSize = Annotated[
    str | None,
    typer.Option(
        "--step",
        metavar="STEP",
        help="Bound each step: 100 (ticks), rows=10000, seconds=3600 (of commits), target=5 (seconds of work).",
        show_default=False,
    ),
]


class Role(StrEnum):
    """As in rollview.runner.ROLES, which would load pyspark."""

    CAPTURE = "capture"
    PROPAGATE = "propagate"
    APPLY = "apply"
    ALL = "all"


def propagate(
    name: View,
    upto: Annotated[
        str | None, typer.Option("--upto", metavar="TICK|TIME", help="Default: the last tick.", show_default=False)
    ] = None,
    step: StepSize = None,
    warehouse: Warehouse = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Compute and store a view's changes without applying them."""
    target, bound = moment(upto), step_size(step)
    with failing_with(Exit.USAGE):
        wh = Place.given(warehouse, catalog).open()
    with failing_with(Exit.FAILED), wh, progress(f"Propagating {name}"):
        steps = wh.propagate(name, target, step=bound)
    rows = [(s.since, s.upto, s.rows, s.exact, s.seconds) for s in steps]
    header = ("since", "upto", "rows", "exact", "seconds")
    if json:
        print_json([dict(zip(header, r, strict=True)) for r in rows])
    elif rows:
        show(table(header, rows))
    else:
        remark(f"Everything of {name} is propagated.")


def apply(
    name: View,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="TICK|TIME", help="Default: as far as is propagated.", show_default=False),
    ] = None,
    warehouse: Warehouse = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Roll a view to a tick or time that its stored changes reach, forward or back."""
    target = moment(to)
    with failing_with(Exit.USAGE):
        wh = Place.given(warehouse, catalog).open()
    with failing_with(Exit.FAILED), wh, progress(f"Applying {name}"):
        report = wh.apply(name, target)
    if json:
        print_json(report.as_dict())
    else:
        show(reports_table([report]))


def run(
    role: Annotated[Role, typer.Argument(help="What to do.")] = Role.ALL,
    lag: Annotated[float, typer.Option("--lag", min=0.1, help="Target lag of views that have none, in seconds.")] = 60,
    step: StepSize = None,
    once: Annotated[bool, typer.Option("--once", help="One round, then end.")] = False,
    warehouse: Warehouse = None,
    catalog: Catalog = None,
) -> None:
    """Keep views within their target lag until stopped (Ctrl-C or SIGTERM, after the step at hand)."""
    bound = step_size(step)
    with failing_with(Exit.USAGE):
        wh = Place.given(warehouse, catalog).open()
    from rollview.runner import STEP, Runner

    with failing_with(Exit.FAILED), wh:
        say(f"Running {role.value}; target lag {lag:g} s")
        given = {"ticks": bound} if isinstance(bound, int) else bound
        Runner(wh, role.value, lag, given or STEP).run(1 if once else None)


def maintain(
    dry: Annotated[bool, typer.Option("--dry-run", help="Only show what is kept, and for whom.")] = False,
    warehouse: Warehouse = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Fold, expire and rewrite what no view can need any more."""
    with failing_with(Exit.USAGE):
        wh = Place.given(warehouse, catalog).open()
    with failing_with(Exit.FAILED), wh, progress("Tidying"):
        rows: Any = wh.maintain(dry_run=dry)
    if json:
        print_json(rows)
    else:
        header = ("name", "needed_since", "held_by", "log_rows", "snapshots")
        show(table(header, [[r[h] for h in header] for r in rows]))


def step_size(text: str | None) -> int | dict[str, float] | None:
    """100, or one of ticks=, rows=, seconds=, target=."""
    if text is None:
        return None
    kind, _, number = text.partition("=") if "=" in text else ("ticks", "=", text)
    try:
        value = float(number)
    except ValueError:
        raise BadInput(f"{text!r} is not a step", code="RV-USAGE", hint="such as 100 or rows=10000") from None
    return int(value) if kind == "ticks" else {kind: value}

"""Commands that change views: create, refresh, drop."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from rollview.cli.options import Catalog, Json, Policy, Warehouse
from rollview.cli.output import print_json, progress, remark, say, show, table
from rollview.cli.place import Place
from rollview.cli.problems import Exit, failing_with
from rollview.errors import BadInput
from rollview.reasons import REASONS
from rollview.report import Report


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The view's name.", show_default=False)],
    dash: Annotated[
        str | None, typer.Argument(metavar="-", help="Read the SQL from stdin.", show_default=False)
    ] = None,
    sql: Annotated[str | None, typer.Option("--sql", help="Its SQL: one query.", show_default=False)] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A file with its SQL.", show_default=False)] = None,
    policy: Annotated[
        Policy, typer.Option("--policy", metavar="POLICY", help="auto, incremental, strict or full.")
    ] = Policy.AUTO,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a view of that name.")] = False,
    warehouse: Warehouse = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Define a view and compute it once.

    [bold]auto[/bold] chooses between the changes and a recompute by cost;
    [bold]incremental[/bold] recomputes only where there is no other way;
    [bold]strict[/bold] never recomputes; [bold]full[/bold] always does.
    """
    if [dash, sql, file].count(None) != 2 or dash not in (None, "-"):
        raise BadInput("give the view's SQL once", code="RV-USAGE", hint="--sql TEXT, --file PATH, or - for stdin")
    text = query_text("-" if dash else file, sql)
    place = Place.given(warehouse, catalog)
    with failing_with(Exit.USAGE, text), place.open() as wh, progress(f"Computing {name}"):
        report = wh.create_view(name, text, policy.value, or_replace=replace)
    assert report is not None
    if json:
        print_json(report.as_dict())
        return
    say(f"Created {name}: {report.inserted:,} rows at tick {report.upto}, in {report.seconds:.1f} s")
    if report.reason:
        remark(f"It will be recomputed at every refresh. {reason_text(report.reason)}")


def refresh(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAMES", help="Views; all if none is named.", show_default=False)
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="TICK|TIME", help="A tick or a time (UTC unless it has a zone).", show_default=False
        ),
    ] = None,
    policy: Annotated[
        Policy | None,
        typer.Option(
            "--policy", metavar="POLICY", help="For this once, instead of the view's own.", show_default=False
        ),
    ] = None,
    warehouse: Warehouse = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Bring views up to date, or to a tick or time of the past."""
    target = moment(to)
    place = Place.given(warehouse, catalog)
    with failing_with(Exit.USAGE):
        wh = place.open()
    wanted = " and ".join(names) if names and len(names) < 3 else f"{len(names)} views" if names else "all views"
    with failing_with(Exit.FAILED), wh, progress(f"Refreshing {wanted}"):
        found = wh.refresh(*(names or ()), to=target, policy=policy.value if policy else None)
    reports = [found] if isinstance(found, Report) else found
    if json:
        print_json([r.as_dict() for r in reports])
        return
    if not reports:
        remark("There are no views to refresh.")
        return
    show(reports_table(reports))
    for code in dict.fromkeys(r.reason for r in reports if r.reason):
        remark(reason_text(code))


def drop(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The view's name.", show_default=False)],
    warehouse: Warehouse = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Drop a view and all that is stored for it."""
    with (
        failing_with(Exit.USAGE),
        Place.given(warehouse, catalog).open() as wh,
        progress(f"Dropping {name}"),
    ):
        wh.drop_view(name)
    if json:
        print_json({"dropped": name})
    else:
        say(f"Dropped {name}")


def reports_table(reports: list[Report]) -> Any:
    header = ("view", "strategy", "reason", "ticks", "delta rows", "view rows", "seconds", "jobs")
    rows = [
        (
            r.view,
            r.strategy,
            r.reason,
            f"{r.since} → {r.upto}" if r.upto != r.since else str(r.upto),
            r.delta_rows,
            changed_rows(r.inserted, r.updated, r.deleted),
            r.seconds,
            r.jobs,
        )
        for r in reports
    ]
    return table(header, rows)


def changed_rows(inserted: int | None, updated: int | None, deleted: int | None) -> str:
    """Rows that came, changed and went."""
    return f"+{inserted or 0:,} ~{updated or 0:,} −{deleted or 0:,}"


def reason_text(code: str) -> str:
    return f"{code}: {REASONS[code]}" if code in REASONS else code


def query_text(file: Path | str | None, text: str | None) -> str:
    """SQL from an option, a file or stdin (-)."""
    if text is not None:
        return text
    if str(file) == "-":
        return sys.stdin.read()
    try:
        return Path(str(file)).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadInput(f"cannot read {file}: {reason}", code="RV-FILE") from None


def moment(text: str | None) -> int | datetime | None:
    """A tick, or a time as ISO 8601 writes it."""
    if text is None:
        return None
    if text.isdecimal():
        return int(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(
            f"{text!r} is neither a tick nor a time", code="RV-USAGE", hint="such as 42 or 2026-01-31T18:00:00+01:00"
        ) from None

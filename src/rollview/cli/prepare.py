"""Commands that come first: init, doctor, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from rollview.cli.options import Catalog, Json, Warehouse
from rollview.cli.output import err, print_json, progress, remark, say, show, table
from rollview.cli.place import Place
from rollview.cli.problems import Exit, failing_with
from rollview.errors import BadInput


def init(
    path: Annotated[
        str | None, typer.Argument(metavar="PATH", help="Its folder; by default -w's.", show_default=False)
    ] = None,
    warehouse: Warehouse = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Make a warehouse. One that is there already stays as it is."""
    place = Place.given(path or warehouse, catalog)
    with failing_with(Exit.USAGE):
        there = place.exists()
        with place.make() as wh:
            tick = wh.tick
    if json:
        print_json({"warehouse": str(place.path), "created": not there, "tick": tick})
        return
    say(f"{place.path} is {'already a warehouse' if there else 'ready'}, at tick {tick}")
    if not there:
        remark(f'Tables come from Python: rollview.open("{place.path}").create_table(…). See `rollview demo`.')


def doctor(warehouse: Warehouse = None, catalog: Catalog = None, json: Json = False) -> None:
    """Check that everything rollview needs is here: Java, jars, Spark, catalog, reading and writing, space."""
    from rollview.cli.doctor import examine

    place = Place.given(warehouse, catalog) if warehouse else None
    findings = []
    for check, run in examine(place, catalog):
        with progress(check):
            finding = run()
        findings.append(finding)
    well = all(f.ok for f in findings)
    if json:
        print_json({"ok": well, "checks": [f.as_dict() for f in findings]})
    else:
        marks = {True: "ok", False: "FAIL", None: "skipped"}
        rows = [(marks[f.ok], f.check, f.detail) for f in findings]
        show(table(("", "check", "found"), rows))
        for f in findings:
            if f.hint:
                err().print(Text.assemble((f"{f.check}: ", "bold red"), f.hint), soft_wrap=True)
    if not well:
        raise typer.Exit(Exit.USAGE)


def demo(
    rows: Annotated[int, typer.Option("--rows", min=1000, help="So many sales.")] = 2_000_000,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep", metavar="PATH", help="Make the warehouse in this new folder and keep it.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """A guided tour: views over two million sales, kept while the sales change, with a crash on the way."""
    if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise BadInput(f"{keep} is not empty", code="RV-DEMO-FOLDER", hint="--keep takes a new folder")
    from rollview.demo.tour import Tour

    with failing_with(Exit.FAILED):
        Tour(rows, keep, as_json=json).run()

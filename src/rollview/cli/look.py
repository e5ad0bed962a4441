"""Commands that look: status, explain, history, verify, sql."""

from __future__ import annotations

import json as json_module
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from rollview.cli.options import Catalog, Json, Warehouse
from rollview.cli.output import out, plain, print_json, progress, remark, say, show, table
from rollview.cli.place import Place
from rollview.cli.problems import Exit, failing_with
from rollview.cli.views import changed_rows, query_text, reports_table
from rollview.errors import BadInput
from rollview.report import Listing, Report, Verification

if TYPE_CHECKING:
    from rollview.plan.explain import Explanation

STATUS = ("name", "kind", "state", "policy", "tick", "behind", "lag", "strategy", "reason", "seconds", "held_by")
SOMETIMES = {"state": "ready", "held_by": None}
"""columns that are shown where a relation has something else"""
HISTORY = ("view", "started", "strategy", "reason", "tick", "delta rows", "view rows", "predicted", "seconds", "jobs")


def status(
    gate: Annotated[bool, typer.Option("--gate", help="Exit with 3 if a view is stale.")] = False,
    max_behind: Annotated[
        int, typer.Option("--max-behind", min=0, help="With --gate: ticks that a view may be behind.")
    ] = 0,
    warehouse: Warehouse = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Show every table and view, where it stands, and how its last refresh went.

    Needs no Spark, and looks neither for new commits of attached tables nor, for time filters, at the day; with --gate
    it does, if there are any.
    """
    from rollview.status import runners
    from rollview.status import status as listed

    place = Place.given(warehouse, catalog)
    with place.control() as control:
        rows = listed(control)
        if gate and control.relations.list(kind="attached", state="ready"):
            with failing_with(Exit.FAILED), place.open() as wh, progress("Looking at attached tables"):
                wh.capture(patience=inf)
            rows = listed(control)
        tick, running = control.ticks.last_tick(), runners(control)
    stale = [r["name"] for r in rows if r["kind"] == "view" and (r["state"] != "ready" or r["behind"] > max_behind)]
    if json:
        found = {"warehouse": str(place.path), "tick": tick, "relations": rows, "runners": running}
        print_json({**found, "stale": stale} if gate else found)
    else:
        shown = [h for h in STATUS if h not in SOMETIMES or any(r[h] != SOMETIMES[h] for r in rows)]
        say(f"{place.path} is at tick {tick}")
        if rows:
            show(table(shown, [[r[h] for h in shown] for r in rows]))
        else:
            remark("It has no tables or views yet.")
        for runner in running:
            say(f"{runner['process']} runs {runner['role']} for {runner['seconds']:.0f} s")
    if gate and stale:
        remark(f"Stale: {', '.join(stale)}")
        raise typer.Exit(Exit.STALE)


def history(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A view; all if none is named.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="So many refreshes, the newest first.")] = 20,
    warehouse: Warehouse = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Show past refreshes: strategy and reason, rows, predicted and actual seconds."""
    from rollview.status import history as listed

    with Place.given(warehouse, catalog).control() as control:
        rows = listed(control, name, limit)
    if json:
        print_json(rows)
        return
    if not rows:
        remark("There was no refresh yet.")
        return
    show(table(HISTORY, [history_row(r) for r in rows]))
    for row in rows:
        if row["error"]:
            remark(f"{row['view']} {row['started']}: {row['error']}")


def history_row(row: dict[str, Any]) -> tuple[Any, ...]:
    return (
        row["view"],
        row["started"].removesuffix("+00:00").replace("T", " "),
        row["strategy"],
        row["reason"],
        row["upto"],
        row["delta_rows"],
        changed_rows(row["inserted"], row["updated"], row["deleted"]),
        row["predicted"],
        row["seconds"],
        row["jobs"],
    )


def explain(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The view's name.", show_default=False)],
    warehouse: Warehouse = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Show how a view is kept: its algebra, what happens when a table changes, the SQL, reasons and cost."""
    with failing_with(Exit.USAGE), Place.given(warehouse, catalog).open() as wh:
        explanation = wh.explain(name)
    show_explanation(explanation, json)


def verify(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAMES", help="Views; all if none is named.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Show so many differing rows of each kind.")] = 10,
    warehouse: Warehouse = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Recompute views at their own ticks and compare, row by row; exit with 1 if one differs."""
    with failing_with(Exit.USAGE):
        wh = Place.given(warehouse, catalog).open()
    found: list[Verification] = []
    with failing_with(Exit.FAILED), wh:
        for name in names or [r["name"] for r in wh.status() if r["kind"] == "view" and r["state"] == "ready"]:
            with progress(f"Verifying {name}"):
                found.append(wh.verify(name))
    if json:
        print_json([as_dict(v, limit) for v in found])
    else:
        show(table(("view", "tick", "rows", "result"), [(v.view, v.tick, v.rows, result(v)) for v in found]))
        for v in found:
            if not v.ok:
                rows = [("missing", *r) for r in v.missing[:limit]] + [("extra", *r) for r in v.extra[:limit]]
                show(table((v.view, *v.columns), rows, exact=True))
    if not all(v.ok for v in found):
        raise typer.Exit(Exit.FAILED)


def result(v: Verification) -> str:
    return "ok" if v.ok else f"DIFFERS: {len(v.missing):,} missing, {len(v.extra):,} extra"


def as_dict(v: Verification, limit: int) -> dict[str, Any]:
    def rows(found: Any) -> list[dict[str, Any]]:
        return [dict(zip(unique(v.columns), r, strict=True)) for r in found[:limit]]

    counts = {"missing_rows": len(v.missing), "extra_rows": len(v.extra)}
    return {"view": v.view, "tick": v.tick, "ok": v.ok, "rows": v.rows, **counts} | {
        "missing": rows(v.missing),
        "extra": rows(v.extra),
    }


def sql(
    statement: Annotated[
        str | None, typer.Argument(help="The statement, or - for stdin.", metavar="STATEMENT|-", show_default=False)
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A file with it.", show_default=False)] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="So many rows; 0 for all.")] = 100,
    warehouse: Warehouse = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Run a statement: a query, or one about materialized views. Names are the warehouse's."""
    if (statement is None) == (file is None):
        raise BadInput(
            "give the statement once", code="RV-USAGE", hint="as an argument, as --file PATH, or - for stdin"
        )
    text = query_text("-" if statement == "-" else file, None if statement == "-" else statement)
    with (
        failing_with(Exit.USAGE, text),
        Place.given(warehouse, catalog).open() as wh,
        progress("Running the statement"),
    ):
        found = wh.sql(text)
        if found is not None and not isinstance(found, Report | Listing | list) and hasattr(found, "columns"):
            found = fetched(found, limit, text)
    show_result(found, limit, json)


class Rows:
    """Rows of a query, as many as were asked for."""

    def __init__(self, columns: list[tuple[str, str]], rows: list[tuple[Any, ...]], truncated: bool) -> None:
        self.columns = columns
        self.rows = rows
        self.truncated = truncated

    def as_dict(self) -> dict[str, Any]:
        names = unique([n for n, _ in self.columns])
        return {
            "columns": [{"name": n, "type": t} for n, (_, t) in zip(names, self.columns, strict=True)],
            "rows": [dict(zip(names, row, strict=True)) for row in self.rows],
            "truncated": self.truncated,
        }


def fetched(frame: Any, limit: int, text: str) -> Rows:
    from rollview.lake.errors import translated

    with translated(text):
        rows = [tuple(r) for r in (frame.limit(limit + 1) if limit else frame).collect()]
    cut = bool(limit) and len(rows) > limit
    return Rows([(f.name, f.dataType.simpleString()) for f in frame.schema.fields], rows[:limit] if cut else rows, cut)


def show_result(found: Any, limit: int, json: bool) -> None:
    """What a statement gave, whichever kind it is."""
    match found:
        case Rows():
            show_rows(found, limit, json)
        case Report():
            print_json(found.as_dict()) if json else show(reports_table([found]))
        case Listing():
            print_json(found) if json else show(table(STATUS, [[r[h] for h in STATUS] for r in found]))
        case None:
            print_json({"ok": True}) if json else remark("Done.")
        case _:
            show_explanation(found, json)


def show_rows(found: Rows, limit: int, json: bool) -> None:
    if json:
        print_json(found.as_dict())
    elif not found.columns:
        remark("Done.")
    else:
        rows = [[nested(v) for v in row] for row in found.rows]
        show(table([n for n, _ in found.columns], rows, exact=True))
    if found.truncated:
        remark(f"Only the first {limit:,} rows; --limit 0 gives all.")


def nested(value: Any) -> Any:
    """Structs, arrays and maps as JSON, on one line."""
    if isinstance(value, list | tuple | dict):
        return json_module.dumps(plain(value), ensure_ascii=False)
    return value


def show_explanation(explanation: Explanation, json: bool) -> None:
    if json:
        print_json(explanation.as_dict())
        return
    console = out()
    for line in str(explanation).splitlines():
        heading = bool(line) and not line.startswith(" ")
        console.print(Text(line, style="bold" if heading else ""), soft_wrap=True)


def unique(names: Any) -> list[str]:
    """Names for an object's fields: a column that occurs twice gets a number."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return result

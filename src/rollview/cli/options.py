"""The options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

WAREHOUSE_VARIABLE = "ROLLVIEW_WAREHOUSE"
CATALOG_VARIABLE = "ROLLVIEW_CATALOG"
MEMORY_VARIABLE = "ROLLVIEW_DRIVER_MEMORY"

# The variables are read once, by the options before the command; these here default to those (see app.py).
Warehouse = Annotated[
    str | None,
    typer.Option(
        "--warehouse",
        "-w",
        metavar="PATH",
        show_default=False,
        help=f"The warehouse's folder, or {WAREHOUSE_VARIABLE}.",
    ),
]
Catalog = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        metavar="URL",
        show_default=False,
        help=f"Its catalog where it is not the embedded one, or {CATALOG_VARIABLE}.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Policy(StrEnum):
    """As in rollview.views.POLICIES, which cannot be imported here: it would load pyspark."""

    AUTO = "auto"
    INCREMENTAL = "incremental"
    STRICT = "strict"
    FULL = "full"


def examples(*commands: str) -> str:
    """A help page's epilog: one command a line."""
    return "[bold]Examples[/bold]\n" + "\n".join(f"  [dim]$[/dim] {c}" for c in commands)

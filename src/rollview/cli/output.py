"""Data on stdout, for people or as JSON; progress and remarks on stderr."""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import JustifyMethod

UNLIMITED = 100_000
"""Columns of an output that is not a terminal: nothing is wrapped or cut there."""


def out() -> Console:
    """Where data goes."""
    return Console(markup=False, highlight=False, emoji=False, width=None if sys.stdout.isatty() else UNLIMITED)


def err() -> Console:
    """Where progress, remarks and errors go."""
    return Console(stderr=True, highlight=False, emoji=False)


def say(text: str) -> None:
    """A line of data."""
    out().print(text, soft_wrap=True)


def show(shown: Table) -> None:
    """A table; without trailing blanks where a program may read it."""
    console = out()
    if console.is_terminal:
        console.print(shown)
        return
    with console.capture() as captured:
        console.print(shown)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """A spinner while something takes its time; nothing where nobody watches."""
    console = err()
    if not console.is_terminal:
        yield
        return
    with console.status(f"[dim]{doing} …[/dim]", spinner="dots"):
        yield


def remark(text: str) -> None:
    err().print(Text(text, style="dim"), soft_wrap=True)


def print_json(value: Any) -> None:
    print(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """A value as JSON has it. Decimals stay exact, as strings; so do numbers that JSON does not know."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case Mapping():
            return {k if isinstance(k, str) else str(plain(k)): plain(v) for k, v in value.items()}
        case _ if callable(getattr(value, "asDict", None)):  # a Spark row inside a row
            return plain(value.asDict())
        case Sequence():
            return [plain(v) for v in value]
        case _:
            return str(value)


def cell(value: Any) -> str:
    """A value as a table shows it, without anything that could steer a terminal."""
    if value is None:
        return "—"
    if isinstance(value, float):
        return f"{value:.3f}"
    text = value if isinstance(value, str) else str(plain(value))
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def exact_cell(value: Any) -> str:
    """A value of the user's own data: floating-point numbers in full, NULL as SQL says it."""
    if value is None:
        return "NULL"
    return repr(value) if isinstance(value, float) else cell(value)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table on the screen."""

    name: str
    right: bool = False
    style: str = ""


def columns(header: Sequence[Column], rows: Sequence[Sequence[str]]) -> Table:
    """Two spaces between columns, a line under the names."""
    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
    for column in header:
        justify: JustifyMethod = "right" if column.right else "left"
        shown.add_column(Text(cell(column.name)), justify=justify, style=column.style, overflow="fold")
    for row in rows:
        shown.add_row(*(Text(value) for value in row))
    return shown


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], *, exact: bool = False) -> Table:
    """Any values: numbers to the right, the rest to the left; `exact` for the user's own data."""
    show = exact_cell if exact else cell
    described = [Column(name, right=numeric([row[i] for row in rows])) for i, name in enumerate(header)]
    return columns(described, [[show(value) for value in row] for row in rows])


def numeric(values: Sequence[Any]) -> bool:
    there = [v for v in values if v is not None]
    return bool(there) and all(isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in there)

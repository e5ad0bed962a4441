"""How a command fails: an exit code, and an error told to a person or as JSON. Never a traceback."""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from rollview.cli.output import cell, err, print_json
from rollview.errors import BrokenInvariant, Position, RecomputeRefused, RollviewError


class Exit(IntEnum):
    """The exit codes."""

    OK = 0
    FAILED = 1
    USAGE = 2
    STALE = 3
    REFUSED = 4


class Failure(Exception):
    """An error with the exit code that it means here, and the SQL that it points into."""

    def __init__(self, error: RollviewError, exit_code: int, sql: str | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.exit_code = exit_code
        self.sql = sql


ASKED_WRONGLY = ("RV-UNKNOWN-RELATION", "RV-NO-TICK", "RV-NO-WAREHOUSE", "RV-POLICY")
"""What the user asked for does not exist, so the work did not begin and has not failed."""


@contextmanager
def failing_with(code: Exit, sql: str | None = None) -> Iterator[None]:
    """Errors inside mean `code`, unless they say more."""
    try:
        yield
    except RollviewError as error:
        if isinstance(error, RecomputeRefused):
            code = Exit.REFUSED
        elif isinstance(error, BrokenInvariant):
            code = Exit.FAILED
        elif error.code in ASKED_WRONGLY:
            code = Exit.USAGE
        raise Failure(error, code, sql) from error


def report(error: BaseException, *, as_json: bool) -> int:
    """Tell the user, and return the exit code."""
    failure = understood(error)
    if as_json:
        print_json({"error": as_dict(failure.error)})
    else:
        err().print(panel(failure.error, failure.sql))
    return failure.exit_code


def understood(error: BaseException) -> Failure:
    if isinstance(error, Failure):
        return error
    if isinstance(error, RollviewError):
        return Failure(error, Exit.FAILED if isinstance(error, BrokenInvariant) else Exit.USAGE)
    if callable(getattr(error, "format_message", None)):  # typer's usage errors have no public base class
        return Failure(usage(error), Exit.USAGE)
    said = str(error).strip().splitlines()
    unexpected = BrokenInvariant(
        f"{type(error).__name__}: {said[0][:300]}" if said else type(error).__name__,
        code="RV-UNEXPECTED",
        hint=f"this is a bug in rollview; the full report is in {write_log(error)}",
    )
    return Failure(unexpected, Exit.FAILED)


def usage(error: Any) -> RollviewError:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "rollview"
    return RollviewError(error.format_message(), code="RV-USAGE", hint=f"{path} --help")


def as_dict(error: RollviewError) -> dict[str, Any]:
    place = error.position
    return {
        "code": error.code,
        "message": error.message,
        "position": {"line": place.line, "column": place.column} if place else None,
        "hint": error.hint,
    }


def panel(error: RollviewError, sql: str | None) -> Panel:
    parts = [Text(error.message)]
    if error.position is not None:
        excerpt = pointed_at(sql, error.position) if sql else Text(f"at {error.position}", style="dim")
        parts += [Text(""), excerpt] if excerpt else []
    if error.hint:
        parts += [Text(""), Text.assemble(("Hint: ", "bold"), error.hint)]
    return Panel(Group(*parts), title=Text(error.code), title_align="left", border_style="red", expand=False)


def pointed_at(sql: str, place: Position) -> Text | None:
    """The line of the user's SQL with a caret under the place."""
    lines = sql.splitlines()
    if not 1 <= place.line <= len(lines) or place.column > len(lines[place.line - 1]) + 1:
        return None
    label = f"line {place.line}: "
    line, column = lines[place.line - 1], place.column
    start = max(0, column - 41)  # the place itself, of a long line
    return Text.assemble(
        (label, "dim"),
        cell(line[start : start + 60]),
        "\n" + " " * (len(label) + column - 1 - start),
        ("^", "bold red"),
    )


def write_log(error: BaseException) -> Path:
    """The traceback in a file, beside Spark's own logs."""
    from rollview.lake.java import cache_dir

    logs = cache_dir() / "logs"
    try:
        logs.mkdir(parents=True, exist_ok=True)
    except OSError:
        logs = Path(tempfile.gettempdir())
    with tempfile.NamedTemporaryFile("w", prefix="error-", suffix=".log", dir=logs, delete=False) as file:
        file.write(f"rollview {' '.join(sys.argv[1:2])} failed\n\n")
        traceback.print_exception(error, file=file)
    return Path(file.name)

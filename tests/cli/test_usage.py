"""What is asked wrongly: exit code 2, a panel with a code and a hint, or the same as JSON; never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from rollview.cli import place, problems
from rollview.cli.output import plain
from rollview.cli.problems import pointed_at
from rollview.errors import Position

COMMANDS = ("init", "doctor", "demo", "create", "refresh", "status", "explain", "history", "verify", "sql", "drop")
WRONG = {
    "unknown command": ["frobnicate"],
    "unknown option": ["status", "--frob"],
    "missing name": ["explain"],
    "no such policy": ["create", "v", "--sql", "SELECT 1", "--policy", "sometimes"],
    "no sql": ["create", "v"],
    "sql twice": ["create", "v", "--sql", "SELECT 1", "--file", "v.sql"],
    "sql twice, once by stdin": ["create", "v", "-", "--sql", "SELECT 1"],
    "stray argument": ["create", "v", "SELECT 1"],
    "no file": ["create", "v", "--file", "/nowhere/v.sql"],
    "neither tick nor time": ["refresh", "--to", "yesterday"],
    "no statement": ["sql"],
    "statement twice": ["sql", "SELECT 1", "--file", "q.sql"],
    "negative limit": ["history", "--limit", "-1"],
    "negative gate": ["status", "--gate", "--max-behind", "-1"],
    "no warehouse": ["status"],
    "no warehouse to refresh": ["refresh"],
    "no warehouse to explain": ["explain", "v"],
    "no warehouse to make": ["init"],
    "a warehouse that is not there": ["status", "-w", "/nowhere"],
    "a catalog that is not supported": ["status", "-w", "/nowhere", "--catalog", "mysql://u:secret@h/db"],
    "a catalog that is no url": ["status", "-w", "/nowhere", "--catalog", "://"],
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_usage(run: Run, wrong: str) -> None:
    result = run(*WRONG[wrong])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "RV-" in result.stderr
    assert "secret" not in result.output


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_usage_as_json(run: Run, wrong: str) -> None:
    result = run(*WRONG[wrong], "--json")
    assert result.exit_code == 2
    assert result.stderr == ""
    error = json.loads(result.stdout)["error"]
    assert set(error) == {"code", "message", "position", "hint"}
    assert error["code"].startswith("RV-") and error["message"]


def test_help_names_every_command(run: Run) -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert all(f" {command} " in result.stdout for command in COMMANDS)
    assert run().stdout.split() == result.stdout.split()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_examples(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"rollview {command}" in result.stdout.split("Examples")[1]


def test_version(run: Run) -> None:
    assert run("--version").stdout.startswith("rollview 0.")


def test_help_loads_neither_spark_nor_arrow() -> None:
    program = (
        "import sys\n"
        "from rollview.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pyspark', 'pyarrow', 'pandas', 'numpy', 'sqlglot', 'sqlalchemy', 'pyiceberg'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_unexpected_error_is_one_line_and_a_log(run: Run, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: place.Place) -> None:
        raise ZeroDivisionError("surprise\nand more")

    monkeypatch.setattr(place.Place, "control", broken)
    result = run("status", "-w", str(warehouse), "--json")
    assert result.exit_code == 1
    error = json.loads(result.stdout)["error"]
    assert error["code"] == "RV-UNEXPECTED"
    assert error["message"] == "ZeroDivisionError: surprise"
    log = Path(error["hint"].rsplit(" ", 1)[1])
    assert "Traceback" in log.read_text() and "and more" in log.read_text()
    told = run("status", "-w", str(warehouse))
    assert told.exit_code == 1
    assert "ZeroDivisionError: surprise" in told.stderr


def test_an_interrupt_ends_quietly(run: Run, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: place.Place) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place.Place, "control", interrupted)
    assert run("status", "-w", str(warehouse)).exit_code == 130


def test_a_log_that_cannot_be_written_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLLVIEW_CACHE", "/dev/null/nowhere")
    log = problems.write_log(ValueError("x"))
    assert "ValueError" in log.read_text()
    log.unlink()


@pytest.mark.parametrize(
    ("sql", "place_", "shown"),
    [
        ("SELECT a,\n  nope FROM t", Position(2, 3), "line 2:   nope FROM t\n          ^"),
        ("SELECT 1", Position(2, 1), None),
        ("SELECT 1", Position(1, 341), None),
        ("SELECT \x1b[31m1", Position(1, 1), "line 1: SELECT \\x1b[31m1\n        ^"),
    ],
)
def test_the_caret_stands_under_the_place(sql: str, place_: Position, shown: str | None) -> None:
    text = pointed_at(sql, place_)
    assert (text.plain if text else None) == shown


def test_the_caret_in_a_long_line() -> None:
    text = pointed_at("SELECT " + "a, " * 100 + "nope FROM t", Position(1, 308))
    assert text is not None
    line, caret = text.plain.split("\n")
    assert line[caret.index("^") :].startswith("nope") and len(line) < 80


def test_json_has_only_what_json_knows() -> None:
    from datetime import date
    from decimal import Decimal

    given = {
        "d": Decimal("1.50"),
        "nan": float("nan"),
        "day": date(2026, 1, 31),
        "raw": b"\x00",
        1: [None, True, (2.5,)],
    }
    expected = {"d": "1.50", "nan": "nan", "day": "2026-01-31", "raw": "AA==", "1": [None, True, [2.5]]}
    assert json.loads(json.dumps(plain(given), allow_nan=False)) == expected

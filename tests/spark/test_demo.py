"""The demo from end to end, small; and the examples as a reader would run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rollview.cli import app

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_demo(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    done = python("-m", "rollview.cli", "demo", "--rows", "20000", "--json", "--keep", str(kept))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [v["view"] for v in found["rounds"][0]["views"]] == ["si_sales", "city_sales", "category_sales"]
    assert len(found["rounds"]) == 3
    assert all(v["recompute_seconds"] > 0 for r in found["rounds"] for v in r["views"])
    assert [v["ok"] for v in found["verified"]] == [True] * 3
    crash = found["crash"]
    assert crash["exit_code"] == -9
    assert crash["recorded_tick"] == crash["tick"] - 1
    assert [v["ok"] for v in crash["verified"]] == [True] * 3
    assert "speed-up" in done.stderr and "kill -9" in done.stderr
    assert max(len(line) for line in done.stderr.splitlines()) <= 100
    status = CliRunner().invoke(app, ["status", "-w", str(kept), "--gate", "--json"])
    assert status.exit_code == 0
    assert json.loads(status.stdout)["tick"] == crash["tick"]


def test_the_demo_keeps_nothing_in_a_folder_that_is_used(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    result = CliRunner().invoke(app, ["demo", "--keep", str(tmp_path), "--json"])
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] == "RV-DEMO-FOLDER"
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


SHOWS = {"through_the_day.py": "24:00  tick"}


@pytest.mark.parametrize("example", sorted(p.name for p in EXAMPLES.glob("*.py")))
def test_example(example: str, tmp_path: Path) -> None:
    done = python(str(EXAMPLES / example), str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert SHOWS.get(example, "incremental") in done.stdout


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "ROLLVIEW_DRIVER_MEMORY": "1g"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

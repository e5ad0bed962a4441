"""status and history answer from the control tables alone; --gate by exit code."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from rollview.catalog import ControlStore
from rollview.catalog.schema import tick as tick_rows
from rollview.status import PROCESS


def test_status(run: Run, warehouse: Path) -> None:
    result = run("status", "-w", str(warehouse))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == f"{warehouse} is at tick 2"
    *standing, lag, strategy, reason, seconds = lines[-1].split()
    assert standing == ["v", "view", "auto", "1", "1"] and float(lag) < 60
    assert [strategy, reason, seconds] == ["create", "—", "1.500"]


def test_status_shows_who_is_at_work_and_who_holds_the_past(run: Run, warehouse: Path) -> None:
    with ControlStore(warehouse / "catalog.db") as control:
        for tick in (1, 2):
            control.marks.record_extent("t", tick, tick)
        old = {"committed_at": datetime.now(UTC) - timedelta(days=2)}
        with control._database.write() as connection:
            connection.execute(tick_rows.update().values(**old))
        with control.leases.hold(f"{PROCESS}apply:1"):
            shown = run("status", "-w", str(warehouse)).stdout
            found = json.loads(run("status", "-w", str(warehouse), "--json").stdout)
    assert {r["name"]: r["held_by"] for r in found["relations"]} == {"t": "v", "v": "v"}
    assert [r["role"] for r in found["runners"]] == ["apply"]
    assert "held_by" in shown and "runs apply for" in shown.splitlines()[-1]


def test_status_as_json(run: Run, warehouse: Path) -> None:
    found = json.loads(run("status", "-w", str(warehouse), "--json").stdout)
    assert found["tick"] == 2 and found["warehouse"] == str(warehouse)
    assert [(r["name"], r["kind"], r["state"], r["behind"]) for r in found["relations"]] == [
        ("t", "table", "ready", 0),
        ("v", "view", "ready", 1),
    ]


@pytest.mark.parametrize(("options", "code"), [(["--max-behind", "0"], 3), (["--max-behind", "1"], 0), ([], 3)])
def test_gate(run: Run, warehouse: Path, options: list[str], code: int) -> None:
    assert run("status", "--gate", *options, "-w", str(warehouse)).exit_code == code
    result = run("status", "--gate", *options, "-w", str(warehouse), "--json")
    assert result.exit_code == code
    assert json.loads(result.stdout)["stale"] == (["v"] if code else [])


def test_history(run: Run, warehouse: Path) -> None:
    rows = json.loads(run("history", "-w", str(warehouse), "--json").stdout)
    assert [(r["view"], r["strategy"], r["inserted"], r["jobs"]) for r in rows] == [("v", "create", 3, 2)]
    assert "create" in run("history", "v", "-w", str(warehouse)).stdout


def test_history_of_an_unknown_view(run: Run, warehouse: Path) -> None:
    result = run("history", "nope", "-w", str(warehouse), "--json")
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert error["code"] == "RV-UNKNOWN-RELATION" and error["hint"] == "there are: v"


def test_the_warehouse_by_variable_and_before_the_command(
    run: Run, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("-w", str(warehouse), "--json", "status").exit_code == 0
    monkeypatch.setenv("ROLLVIEW_WAREHOUSE", str(warehouse))
    assert run("status").exit_code == 0
    assert run("-w", str(tmp_path / "other"), "status").exit_code == 2
    assert run("status", "-w", str(tmp_path / "other")).exit_code == 2


def test_a_folder_without_control_tables_stays_as_it_is(run: Run, tmp_path: Path) -> None:
    assert run("status", "-w", str(tmp_path / "other")).exit_code == 2
    assert not (tmp_path / "other").exists()

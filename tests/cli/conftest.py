"""The command line without Spark: a warehouse here has control tables and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rollview.catalog import ColumnInfo, ControlStore, HistoryRow, TableChange
from rollview.cli import app

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    for name in ("ROLLVIEW_WAREHOUSE", "ROLLVIEW_CATALOG", "ROLLVIEW_DRIVER_MEMORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROLLVIEW_CACHE", str(tmp_path / "cache"))
    runner = CliRunner()

    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        result = runner.invoke(app, list(arguments), input=stdin)
        assert "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    return invoke


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A table with two ticks and a view that has seen the first."""
    folder = tmp_path / "warehouse"
    folder.mkdir()
    with ControlStore(folder / "catalog.db") as control:
        columns = [ColumnInfo("a", "bigint", True)]
        control.relations.create("t", "table", columns, key=("a",), definition={}, created_tick=0)
        control.relations.create("v", "view", columns, definition={"policy": "auto"}, created_tick=0, reads=["t"])
        for name in ("t", "v"):
            control.relations.set_state(name, "ready")
        with control.leases.hold("writer") as lease:
            for _ in range(2):
                tick = control.ticks.open_tick(lease, "managed")
                changes = {"t": TableChange(1, 0)}
                control.ticks.commit_tick(
                    lease, tick, position=str(tick), committed_at=datetime.now(UTC), tables=changes
                )
        control.marks.record_extent("v", 1, 77)
        control.history.record_refresh(
            HistoryRow(view="v", started=datetime.now(UTC), strategy="create", seconds=1.5, upto=1, inserted=3, jobs=2)
        )
    return folder

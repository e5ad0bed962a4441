"""What is kept for Java between runs, while other processes keep theirs in the same place."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollview.lake.java import quiet_java


def test_a_log_that_another_process_removes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLLVIEW_CACHE", str(tmp_path))
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "spark-gone.log").symlink_to(logs / "removed after it was listed")
    with quiet_java() as log:
        assert log.is_file()

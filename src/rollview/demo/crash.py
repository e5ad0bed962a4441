"""A refresh in a process of its own, which dies by kill -9 between its commit and the end of its bookkeeping."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rollview.steps import KILL_AT

STEP = "refresh.merged"
TIMEOUT = 300


def refresh_and_die(warehouse: Path, view: str) -> int:
    """Run `rollview refresh` until it kills itself at the step; returns its exit code (-9)."""
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "rollview.cli",
            "refresh",
            view,
            "--warehouse",
            str(warehouse),
            "--policy",
            "incremental",
        ],
        env={**os.environ, KILL_AT: STEP, "ROLLVIEW_CATALOG": ""},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=TIMEOUT,
        check=False,
    ).returncode

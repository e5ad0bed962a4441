"""A PATH on which Spark's scripts find their tools, but no Java."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = ("bash", "sh", "dirname", "basename", "env", "uname", "ps", "chmod", "cat", "ls")


def path_without_java(folder: Path) -> str:
    tools = folder / "bin"
    tools.mkdir()
    for name in TOOLS:
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    return str(tools)

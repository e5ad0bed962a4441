"""The jars that Spark needs beside itself: resolved once by Spark's own resolver, then kept in the cache.

Asking Spark for packages at every start costs a resolution and prints its report. We resolve in a process
of its own at first use; the finished directory appears by one rename, so a killed or a concurrent first use
does no harm.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyspark

from rollview.errors import BadInput
from rollview.lake.java import cache_dir, quiet_java

PACKAGES = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "org.xerial:sqlite-jdbc:3.53.4.0",
    "org.postgresql:postgresql:42.7.14",
)
"""What Spark must have to work in a warehouse."""
LOCAL_PACKAGES = ("com.globalmentor:hadoop-bare-naked-local-fs:0.1.0",)
"""What our own local Spark has besides: local files without a process per file (see session.py)."""
_UNNEEDED = ("org.slf4j:slf4j-api", "org.checkerframework:checker-qual")
_ALL = PACKAGES + LOCAL_PACKAGES
_ABANDONED = 24 * 3600.0


def jars() -> tuple[Path, ...]:
    """The jars of all these packages, fetched at first use."""
    kept = cache_dir() / "jars" / hashlib.sha256(",".join(_ALL).encode()).hexdigest()[:16]
    if not kept.is_dir():
        _fetch(kept)
    return tuple(sorted(kept.glob("*.jar")))


def spark_home() -> Path:
    """The Spark installation that pyspark starts."""
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def _fetch(kept: Path) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    _sweep(kept.parent)
    work = Path(tempfile.mkdtemp(prefix="fetch-", dir=kept.parent))
    try:
        nothing = work / "nothing.py"
        nothing.touch()
        command = [
            str(spark_home() / "bin" / "spark-submit"),
            *("--conf", f"spark.jars.ivy={work}"),
            *("--packages", ",".join(_ALL)),
            *("--exclude-packages", ",".join(_UNNEEDED)),
            str(nothing),
        ]
        with quiet_java() as log:
            environment = {
                **os.environ,
                "PYSPARK_PYTHON": sys.executable,
                "PYSPARK_DRIVER_PYTHON": sys.executable,
            }
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        fetched = work / "jars"
        if done.returncode or len(list(fetched.glob("*.jar"))) != len(_ALL):
            raise BadInput(
                "Spark could not fetch the jars it needs: " + ", ".join(_ALL),
                code="RV-JARS",
                hint=f"Check that this machine reaches a Maven repository; Spark's own report is in {log}",
            )
        try:
            fetched.rename(kept)
        except OSError:
            if not kept.is_dir():  # otherwise somebody else was faster
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Remove what fetches that were killed left behind."""
    for work in parent.glob("fetch-*"):
        try:
            abandoned = time.time() - work.stat().st_mtime > _ABANDONED
        except FileNotFoundError:
            continue
        if abandoned:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    print("\n".join(str(jar) for jar in jars()))

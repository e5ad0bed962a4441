"""A standalone Spark cluster on loopback: a master and two workers of one core each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from rollview.lake.jars import jars, spark_home
from rollview.lake.java import ensure_java

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORKERS = 2
EXECUTOR_PROPERTY = "rollview.test.executor"
_PATIENCE = 60.0


def cluster_settings(master: str) -> dict[str, str]:
    """What turns a local session into one whose tasks run on the cluster (pass as `extra`)."""
    return {
        "spark.master": master,
        "spark.jars": ",".join(str(jar) for jar in jars()),
        "spark.cores.max": str(WORKERS),
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": f"-D{EXECUTOR_PROPERTY}={{{{EXECUTOR_ID}}}}",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    }


@contextmanager
def cluster(logs: Path) -> Iterator[str]:
    """Yields the master's URL."""
    ensure_java()
    with ExitStack() as running:
        master_log = logs / "master.log"
        running.enter_context(_daemon("master.Master", master_log, "--port", "0"))
        master = _wait_for(master_log, r"Starting Spark master at (spark://\S+)", 1)[0]
        for number in range(WORKERS):
            work = logs / f"worker-{number}"
            options = ("--cores", "1", "--memory", "1g", "--work-dir", str(work), master)
            running.enter_context(_daemon("worker.Worker", logs / f"worker-{number}.log", *options))
        _wait_for(master_log, r"Registering worker (\S+)", WORKERS)
        yield master


@contextmanager
def _daemon(name: str, log: Path, *options: str) -> Iterator[None]:
    command = [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
    loopback = ("--host", "127.0.0.1", "--webui-port", "0")
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with log.open("w") as output:
        process = subprocess.Popen([*command, *loopback, *options], stdout=output, stderr=output, env=environment)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(log: Path, pattern: str, times: int) -> list[str]:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        found = re.findall(pattern, log.read_text())
        if len(found) >= times:
            return found
        time.sleep(0.05)
    raise TimeoutError(f"the cluster did not say {pattern!r} in time:\n{log.read_text()}")

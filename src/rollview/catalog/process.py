"""Which process holds a lease, and whether it is certainly dead."""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process, told apart from a later one that got the same pid by the time at which it started."""

    host: str
    machine: str
    pid: int
    started: str

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"


def this_process() -> Process:
    pid = os.getpid()
    stat = _stat(pid)
    return Process(socket.gethostname(), _machine(), pid, stat[1] if stat else "")


def is_certainly_dead(process: Process) -> bool:
    """True only where this process can see that the other is gone: same host, same boot, same pid space."""
    if process.host != socket.gethostname() or process.machine != _machine():
        return False
    if _has_proc():
        stat = _stat(process.pid)
        return stat is None or stat[0] in "ZX" or stat[1] != process.started
    if os.name != "posix":
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _machine() -> str:
    """One boot of one kernel and one pid namespace: containers share the first and not the second."""
    if _has_proc():
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink(_PROC / 'self/ns/pid')}"
    return f"{uuid.getnode():x}"


def _has_proc() -> bool:
    return (_PROC / "self/stat").exists()


def _stat(pid: int) -> tuple[str, str] | None:
    """The state and start time of a process on Linux; None where there is no such process."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()  # the command's name may itself contain blanks and brackets
    return fields[0], fields[19]

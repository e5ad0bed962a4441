"""The durable steps by name, so that a test can end the work exactly there."""

from __future__ import annotations

import os
import signal

KILL_AT = "ROLLVIEW_KILL_AT"
"""the step after which the process is killed"""
CRASH_AT = "ROLLVIEW_CRASH_AT"
"""the step after which the work is abandoned, while the process and its Spark go on"""


class Crash(BaseException):
    """The simulated end. Nothing catches it, and no clean-up that a dead process could not have done follows it."""


def reached(step: str) -> None:
    """A durable step is done. Nothing happens, unless a fault test asked for the end to come here."""
    if os.environ.get(KILL_AT) == step:
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ.get(CRASH_AT) == step:
        raise Crash(step)

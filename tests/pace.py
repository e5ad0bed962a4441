"""How fast the machine is just now, so that a bar in seconds means the same beside other work and on a slow day."""

from __future__ import annotations

import time

QUIET = 0.045
"""processor time of the yardstick on a quiet machine with two cores"""


def pace() -> float:
    """How many times as long as on a quiet machine Python takes now: from 1 to 2."""
    start = time.process_time()
    sum(i * i for i in range(1_000_000))
    return min(2.0, max(1.0, (time.process_time() - start) / QUIET))

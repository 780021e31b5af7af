"""What a request costs the process that serves it: the time that its threads were on a core, as the kernel counts it.

The CPU clock of a process (clock_getcpuclockid(3)) does not go on while somebody else has the core, so that a busy machine
makes a measurement late and not large. The process has nothing else to do meanwhile but what it does by the second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def seconds_on_core(pid: int) -> float:
    """Of all threads of the process since it began."""
    # Linux makes the clock's number so; Python tells only that of a thread.
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9


def cost(pid: int, ask: Callable[[], object], times: int) -> float:
    """The median cost of ``ask`` in seconds on a core of the process ``pid``."""
    found = []
    for _ in range(times):
        before = seconds_on_core(pid)
        ask()
        found.append(seconds_on_core(pid) - before)
    return statistics.median(found)

"""What a request costs the process that serves it: the time that its threads were on a core, as the kernel counts it.

``/proc/PID/task/TID/schedstat`` is in nanoseconds and does not grow while somebody else has the core, so that a busy machine
makes a measurement late and not large. The process has nothing else to do meanwhile but what it does by the second.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path


def seconds_on_core(pid: int) -> float:
    """Of all threads of the process since they began."""
    nanoseconds = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        nanoseconds += int((task / "schedstat").read_text().split()[0])
    return nanoseconds / 1e9


def cost(pid: int, ask: Callable[[], object], times: int) -> float:
    """The median cost of ``ask`` in seconds on a core of the process ``pid``."""
    found = []
    for _ in range(times):
        before = seconds_on_core(pid)
        ask()
        found.append(seconds_on_core(pid) - before)
    return statistics.median(found)

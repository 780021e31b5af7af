"""CPU time of the process that serves a request, as the kernel counts it for the threads of the process.

The CPU clock of a process (clock_getcpuclockid(3)) stops while another process has the core. A busy machine therefore delays
a measurement and does not enlarge it. Besides requests, the process only runs its periodic work.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from tools.bench.bench_machine import signatures_us
from tools.bench.promises import PACE

SETTLED_SECONDS = 30.0
PACE_TURNS = 20


def seconds_on_core(pid: int) -> float:
    """Return the CPU seconds of all threads of the process since its start, when none of them runs or waits for a core.

    Raises ``TimeoutError``: when a thread is still running after ``SETTLED_SECONDS``.
    """
    end = time.monotonic() + SETTLED_SECONDS
    # Of a thread that has a core Linux tells what it had at the last tick, so up to 4 ms are missing, and found in the next reading.
    while _runs(pid):
        if time.monotonic() > end:
            raise TimeoutError(f"process {pid} is still running")
        time.sleep(0.0002)
    # Linux makes the clock's number so; Python tells only that of a thread.
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9


def _runs(pid: int) -> bool:
    """Whether a thread of the process is in the state R of proc_pid_stat(5)."""
    states = (each.read_bytes() for each in Path(f"/proc/{pid}/task").glob("*/stat"))
    return any(state[state.rindex(b")") + 2 :].startswith(b"R") for state in states)


def cost(pid: int, ask: Callable[[], object], times: int) -> float:
    """The median cost of ``ask`` in seconds on a core of the process ``pid``."""
    found = []
    for _ in range(times):
        before = seconds_on_core(pid)
        ask()
        found.append(seconds_on_core(pid) - before)
    return statistics.median(found)


def pace() -> float:
    """How many times as long as that machine this one takes for a signature and its verification at this moment; 1 where it is faster."""
    (found,) = signatures_us(1, PACE_TURNS)
    return max(1.0, found / PACE[0].there)

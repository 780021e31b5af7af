"""What a request costs the process that serves it: the time that its threads were on a core, as the kernel counts it.

The CPU clock of a process (clock_getcpuclockid(3)) does not go on while somebody else has the core, so that a busy machine
makes a measurement late and not large. The process has nothing else to do meanwhile but what it does by the second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from nacl.bindings import crypto_sign, crypto_sign_keypair, crypto_sign_open

SETTLED_SECONDS = 5.0
PACE_TIMES = 20
PACE_SECONDS = 0.000052
"""An Ed25519 signature and its verification by libsodium, on the machine on which the bounds of requests were measured."""


def seconds_on_core(pid: int) -> float:
    """Of all threads of the process since it began, when none of them runs or waits for a core."""
    end = time.monotonic() + SETTLED_SECONDS
    # Of a thread that has a core Linux tells what it had at the last tick, so up to 4 ms are missing, and found in the next reading.
    while _runs(pid) and time.monotonic() < end:
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
    public, secret = crypto_sign_keypair()
    began = time.thread_time()
    for _ in range(PACE_TIMES):
        crypto_sign_open(crypto_sign(bytes(300), secret), public)
    return max(1.0, (time.thread_time() - began) / PACE_TIMES / PACE_SECONDS)

"""No worker outlives its server, however that ended and whatever the worker was at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plugins.isolation.tests.crew import alive

ROOT = Path(__file__).parents[3]
SERVER = """
import asyncio, signal, sys
from plugins.isolation.tests.crew import crew

async def main(scratch, vice):
    async with crew(workers=2, plugins__vicious__scratch=scratch) as at:
        pids = set()
        while len(pids) < 2:
            pids |= {int(proof.public_signals[0]) for proof in await asyncio.gather(at.prove("slow"), at.prove("slow"))}
        print(*pids, flush=True)
        if vice:
            await at.prove(vice)
        await asyncio.sleep(600)

# A process that was started in the background by a shell has inherited that SIGINT is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("vice", ["", "spin", "hold", "fork-many"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_behind(vice: str, how: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SERVER, str(tmp_path), vice]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            pids = _at_work(server, vice, tmp_path)
            os.kill(server.pid, how)
            server.communicate(timeout=60)
        finally:
            server.kill()
    _until(lambda: not any(map(alive, pids)))


def _until(condition: object) -> None:
    end = time.monotonic() + 60
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def _at_work(server: subprocess.Popen[str], vice: str, scratch: Path) -> list[int]:
    """The processes of the workers, and of what they forked, when the vice is being practised."""
    assert server.stdout is not None
    pids = [int(pid) for pid in server.stdout.readline().split()]
    assert len(pids) == 2
    assert all(map(alive, pids))
    if vice in ("hold", "fork-many"):
        note = scratch / {"hold": "hung", "fork-many": "forked"}[vice]
        _until(note.exists)
        pids += [int(pid) for pid in note.read_text().split()]
    elif vice:
        time.sleep(0.3)
    return pids

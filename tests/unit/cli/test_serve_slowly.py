"""identity serve on a machine where a process takes its time to start."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from identity_core.cli.serving import SILENT_SECONDS
from tests.unit.cli.test_serve import children, serving

# Python runs this at the start of every process; the workers are the ones that multiprocessing starts.
SLOW_WORKERS = """
import sys, time
if "--multiprocessing-fork" in sys.orig_argv:
    time.sleep(8)
"""


def test_a_worker_that_starts_slowly_is_not_taken_for_hung(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_WORKERS)
    environment = {"API_KEY": "k" * 40, "PYTHONPATH": str(tmp_path)}
    with serving(tmp_path / "data", "--workers", "2", environment=environment) as running:
        assert running.stop() == 0
        assert "died" not in running.log.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_that_dies_in_its_start_is_replaced_at_once(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_WORKERS)
    environment = {"API_KEY": "k" * 40, "PYTHONPATH": str(tmp_path)}
    with serving(tmp_path / "data", "--workers", "2", environment=environment) as running:
        lost = max(children(running.process.pid))
        os.kill(lost, signal.SIGKILL)
        until = time.monotonic() + SILENT_SECONDS - 5
        while len(children(running.process.pid) - {lost}) < 2:
            assert time.monotonic() < until, "its parent waits until it has been silent for too long"
            time.sleep(0.05)
        assert running.stop() == 0

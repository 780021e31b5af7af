"""identity serve on a machine where a process takes its time to start."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import uvicorn
from identity_server_processes.workers import Workers
from uvicorn.supervisors.multiprocess import Process

from tests.unit.cli.test_serve import serving

# Longer than Uvicorn would wait. Python runs this at the start of every process; the workers are the ones that multiprocessing starts.
SLOW_WORKERS = """
import sys, time
if "--multiprocessing-fork" in sys.orig_argv:
    time.sleep(6)
"""


def test_a_worker_that_starts_slowly_is_not_taken_for_hung(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_WORKERS)
    environment = {"API_KEY": "k" * 40, "PYTHONPATH": str(tmp_path)}
    with serving(tmp_path / "data", "--workers", "2", environment=environment) as running:
        assert running.stop() == 0
        assert "died" not in running.log.read_text()


def test_a_worker_that_dies_before_it_answers_is_not_waited_for() -> None:
    """One that was never started stands for it: it holds no end of the pipe."""
    worker = Process(uvicorn.Config("no:app"), [])
    workers = Workers.__new__(Workers)
    workers.processes, workers.should_exit = [worker], threading.Event()
    workers.should_exit.set()
    workers.keep_subprocess_alive()
    asked = time.monotonic()
    assert not worker.ping(30)
    assert time.monotonic() - asked < 15

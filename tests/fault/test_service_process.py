"""The services of fault tests: one that does not answer says what it did."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.fault.service_process import service


def call_frozen_service(folder: Path) -> None:
    with service(folder) as running:
        running.wire.connect().sock.settimeout(0.5)
        os.kill(running.process.pid, signal.SIGSTOP)
        try:
            running.wire.call("GET", "/health")
        finally:
            os.kill(running.process.pid, signal.SIGCONT)


def test_timeout_shows_stacks_of_the_service(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError) as raised:
        call_frozen_service(tmp_path / "data")
    (note,) = raised.value.__notes__
    assert "Fatal Python error: Aborted" in note
    assert "in run" in note

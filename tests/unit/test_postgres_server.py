"""The PostgreSQL server of the tests: it ends with the process that started it, even when that is killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fault.service_process import ROOT, eventually
from tests.postgres_server import programs

START = """
import sys, time
from pathlib import Path
from tests.postgres_server import PostgresServer
folder = Path(sys.argv[1])
PostgresServer.create(folder)
print((folder / "data" / "postmaster.pid").read_text().split()[0], flush=True)
time.sleep(600)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the unprivileged user of the server may enter."""
    made = Path(tempfile.mkdtemp(prefix="pg"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.skipif(programs() is None and not os.environ.get("CI"), reason="PostgreSQL is not installed")
def test_server_ends_when_its_starter_is_killed(folder: Path) -> None:
    command = [sys.executable, "-c", START, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        postmaster = int(starter.stdout.readline())
        starter.kill()
    eventually(lambda: not Path(f"/proc/{postmaster}").exists(), "the server has ended", 20)

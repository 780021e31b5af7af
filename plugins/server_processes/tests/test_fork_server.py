"""The socket of the process from which workers are forked: its access rights, its contents and its removal."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing import connection, util
from pathlib import Path

import pytest
from identity_server_processes import fork_server

from tests.unit.cli.test_serve import Serving, both, children, is_gone, serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

SECRET = "a-secret-of-the-environment-0123456789"
OTHER_USER = 65534
CONNECT = """
import os, socket, sys
os.setgroups([])
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
except PermissionError:
    print("not let in")
"""


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Make a folder for the temporary folders of the servers. Its path is short, because the name of a socket must be."""
    with tempfile.TemporaryDirectory(prefix="ids-") as folder:
        # Others may look for the socket there, as in the folder of the system.
        os.chmod(folder, 0o777)
        yield Path(folder)


@pytest.fixture
def running(tmp_path: Path, temporary: Path) -> Iterator[Serving]:
    environment = {"API_KEY": SECRET, "TMPDIR": str(temporary)}
    with serving(tmp_path / "data", "--workers", "2", environment=environment) as one:
        yield one


def socket_in(temporary: Path) -> Path:
    (found,) = temporary.glob("pymp-*/listener-*")
    return found


def process_of(running: Serving) -> int:
    """The process that the workers are forked from."""
    (found,) = (one for one in children(running.process.pid) if both(running.process.pid) <= {*children(one)})
    return found


def test_a_stranger_cannot_ask_for_a_process(running: Serving, temporary: Path) -> None:
    address = socket_in(temporary)
    assert stat.S_ISSOCK(address.stat().st_mode)
    assert oct(address.stat().st_mode & 0o777) == "0o600"
    assert oct(address.parent.stat().st_mode & 0o777) == "0o700"
    assert {address.stat().st_uid, address.parent.stat().st_uid} == {os.geteuid()}
    # An abstract socket has no folder that keeps anybody out: among those of the machine none is of these processes.
    processes = {running.process.pid, process_of(running), *both(running.process.pid)}
    inodes = {link for one in processes for link in links(one)}
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    assert [line[7] for line in lines if len(line) > 7 and f"socket:[{line[6]}]" in inodes] == [str(address)]
    if os.geteuid() == 0:
        # Only root can change its user.
        tried = subprocess.run(
            [sys.executable, "-I", "-c", CONNECT, str(address), str(OTHER_USER)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert tried.stdout == "not let in\n", tried


def links(process: int) -> set[str]:
    return {os.readlink(each) for each in Path(f"/proc/{process}/fd").iterdir()}


def knows_no_secret_and_has_opened_nothing(running: Serving, tmp_path: Path) -> None:
    process = process_of(running)
    assert SECRET.encode() not in Path(f"/proc/{process}/environ").read_bytes()
    assert SECRET.encode() not in Path(f"/proc/{process}/cmdline").read_bytes()
    files = [link for link in links(process) if link.startswith("/") and not link.startswith("/dev/")]
    assert {*files} <= {str(tmp_path / "data.out"), str(tmp_path / "data.log")}
    names = Path(f"/proc/{process}/maps").read_text()
    assert str(tmp_path) not in names
    assert len([*Path(f"/proc/{process}/task").iterdir()]) == 1
    assert secret_pages(process) == 0


def secret_pages(process: int) -> int:
    """How often the secret stands in its memory."""
    found = 0
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{process}/maps").read_text().splitlines():
            places, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            first, last = (int(one, 16) for one in places.split("-"))
            memory.seek(first)
            found += memory.read(last - first).count(SECRET.encode())
    return found


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGKILL])
def test_worker_knows_nothing_and_ends_with_server(
    running: Serving, temporary: Path, tmp_path: Path, ended_by: int
) -> None:
    knows_no_secret_and_has_opened_nothing(running, tmp_path)
    process, workers = process_of(running), both(running.process.pid)
    running.stop(ended_by)
    assert all(is_gone(one) for one in (process, *workers))
    assert [*temporary.glob("pymp-*")] == []


def test_worker_ends_with_killed_server(running: Serving, temporary: Path) -> None:
    process, workers = process_of(running), both(running.process.pid)
    address = socket_in(temporary)
    os.kill(process, signal.SIGKILL)
    running.stop(signal.SIGKILL)
    assert all(is_gone(one) for one in (process, *workers))
    for left in temporary.glob("pymp-*/*"):
        with socket.socket(socket.AF_UNIX) as asking, pytest.raises(ConnectionRefusedError):
            asking.connect(str(left))
    assert oct(address.parent.stat().st_mode & 0o777) == "0o700"


def test_no_release_of_python_takes_an_abstract_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """As 3.11.0 asked it before it chose one."""
    monkeypatch.setattr(util, "abstract_sockets_supported", True)
    asked: list[bool] = []
    monkeypatch.setattr(fork_server.forkserver, "ensure_running", lambda: asked.append(util.abstract_sockets_supported))
    monkeypatch.setattr(fork_server.resource, "setrlimit", lambda *_: None)
    monkeypatch.setattr(fork_server.multiprocessing, "set_forkserver_preload", lambda *_: None)
    fork_server.ensure()
    assert asked == [False]
    assert not connection.arbitrary_address("AF_UNIX").startswith("\0")

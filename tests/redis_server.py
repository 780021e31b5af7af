"""A private Redis server on a free port of the loopback interface, for tests."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.ports import free_port


@dataclass(frozen=True)
class RedisServer:
    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def freeze(self) -> None:
        """The server keeps its connections and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@contextmanager
def redis_server() -> Iterator[RedisServer]:
    """Starts the server and ends it. Where no ``redis-server`` is installed the test skips and says so; in CI it fails."""
    program = shutil.which("redis-server")
    if program is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up("redis-server is not installed (Debian: apt-get install redis-server)")
    port = free_port()
    process = subprocess.Popen(
        [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", "/tmp"],
        stdout=subprocess.DEVNULL,
    )
    server = RedisServer(port, process)
    try:
        _wait_until_it_answers(server)
        yield server
    finally:
        server.thaw()
        process.kill()
        process.wait()


def _wait_until_it_answers(server: RedisServer) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
                connection.sendall(b"PING\r\n")
                if connection.recv(16).startswith(b"+PONG"):
                    return
        except OSError:
            if server.process.poll() is not None:
                break
        time.sleep(0.02)
    raise RuntimeError("redis-server did not start")

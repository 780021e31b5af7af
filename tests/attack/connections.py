"""Connections that do what no HTTP library would: silent, dribbling, unread, from an address of one's choice."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

# How long anything may take that ends by itself within a second on a machine with nothing else to do.
SECONDS = 60.0
Address = tuple[str, int]


def address_of(url: str) -> Address:
    """Where a server listens."""
    host, _, port = url.removeprefix("http://").partition(":")
    return host, int(port)


@contextlib.contextmanager
def connected(server: Address, source: str = "127.0.0.1", *, received: int | None = None) -> Iterator[socket.socket]:
    """A connection from ``source``; ``received`` bytes are taken from the server before it has to wait."""
    with socket.socket() as connection:
        if received is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, received)
        connection.settimeout(SECONDS)
        connection.bind((source, 0))
        connection.connect(server)
        yield connection


def pour(connection: socket.socket, pieces: Iterable[bytes]) -> int:
    """Sends until the server has had enough; how many bytes went out."""
    sent = 0
    with contextlib.suppress(ConnectionError):
        for piece in pieces:
            connection.sendall(piece)
            sent += len(piece)
    return sent


def read_to_the_end(connection: socket.socket) -> bytes:
    """Everything until the server closes. Raises ``TimeoutError`` when it does not."""
    received = bytearray()
    with contextlib.suppress(ConnectionError):
        while more := connection.recv(65536):
            received += more
    return bytes(received)


def statuses(data: bytes) -> list[int]:
    """The statuses of the answers in ``data``, in order."""
    return [int(each) for each in re.findall(rb"HTTP/1\.1 (\d{3}) ", data)]


def code_of(data: bytes) -> str:
    """The code of the last answer, which has the one error shape and the id of its header."""
    head, _, body = data.rpartition(b"\r\n\r\n")
    error = orjson.loads(body)["error"]
    assert set(error) == {"code", "message", "details"}
    assert f"x-request-id: {error['details']['requestId']}\r\n".encode() in head + b"\r\n"
    return str(error["code"])


def reset(connection: socket.socket) -> None:
    """Ends the connection without a good-bye."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def is_closed_there(connection: socket.socket) -> bool:
    """Return whether the server has closed its end. Our end does not show it while unread bytes are in between.

    Source: proc(5), net/tcp: local and remote address in hexadecimal, then the state. State 01 is an open connection.
    """
    ours, theirs = (f":{place[1]:04X}" for place in (connection.getsockname(), connection.getpeername()))
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, state = line.split()[:4]
        if local.endswith(theirs) and remote.endswith(ours):
            return state != "01"
    return True


def resident_octets(process: int) -> int:
    """What a process holds of memory that is its own."""
    text = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"^RssAnon:\s+(\d+) kB$", text, re.MULTILINE)[0]) * 1024


def until(seconds: float, what: str, holds: object) -> None:
    """Waits until ``holds()``. Fails with ``what``."""
    end = time.monotonic() + seconds
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < end, what
        time.sleep(0.05)

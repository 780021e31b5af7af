"""Witnesses that do what no witness should: on loopback, byte by byte, so that no library keeps them from it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

Answer = Callable[[socket.socket, bytes], None]


@contextlib.contextmanager
def lying_witness(answer: Answer) -> Iterator[str]:
    """Its submission prefix. ``answer`` gets each connection with the request that came in; what it raises of sockets is its end."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_serve, args=(listening, answer), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        # Wakes the thread that waits for a connection.
        listening.shutdown(socket.SHUT_RDWR)


def _serve(listening: socket.socket, answer: Answer) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=_one, args=(connection, answer), daemon=True).start()


def _one(connection: socket.socket, answer: Answer) -> None:
    with connection, contextlib.suppress(OSError):
        connection.settimeout(60)
        answer(connection, _request(connection))


def _request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = (line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    length = int(next(lengths, b":0").split(b":")[1])
    while len(body) < length:
        body += connection.recv(65536)
    return body


def whole(status: str, body: bytes, *headers: str) -> bytes:
    """A complete answer that ends its connection."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body

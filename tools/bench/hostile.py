"""The attackers of ``bench_hostile``, a process of their own: ``python -m tools.bench.hostile KIND PORT SECONDS ADDRESSES``.

They come from 127.0.0.1 and as many addresses after it as are asked for, bounded in number and time. One that is refused or cut off
comes again: after a second, or after a quarter where bytes are poured.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Awaitable, Callable

import uvloop

from tests.long_log import PATH

HEAD = b"GET /health HTTP/1.1\r\nHost: h\r\n"
POURED_AT_ONCE = 25 * 2**20
PIECE = 2**16

Attack = Callable[[asyncio.AbstractEventLoop, socket.socket], Awaitable[None]]


async def silent(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
    """Says nothing until it is cut off."""
    while await loop.sock_recv(connection, PIECE):
        pass


async def dribble(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
    """A header of one byte a second."""
    await loop.sock_sendall(connection, HEAD + b"X-A: ")
    while True:
        await loop.sock_sendall(connection, b"a")
        await asyncio.sleep(1)


async def read_slowly(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
    """A kibibyte a second of a log of nine megabytes."""
    await loop.sock_sendall(connection, b"GET %s HTTP/1.1\r\nHost: h\r\n\r\n" % PATH.encode())
    while await loop.sock_recv(connection, 1024):
        await asyncio.sleep(1)


async def pour_headers(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
    """25 MB of header lines; four at once, so 100 MB."""
    await _pour(loop, connection, HEAD, b"a:b\r\n" * (PIECE // 5))


async def pour_target(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
    """A target of 25 MB."""
    await _pour(loop, connection, b"GET /", b"a" * PIECE)


async def _pour(loop: asyncio.AbstractEventLoop, connection: socket.socket, begin: bytes, piece: bytes) -> None:
    await loop.sock_sendall(connection, begin)
    for _ in range(POURED_AT_ONCE // len(piece)):
        await loop.sock_sendall(connection, piece)


# How many at once, what each does, and how long until it comes again.
ATTACKS: dict[str, tuple[int, Attack, float]] = {
    "silent": (1_000, silent, 1.0),
    "dribbling": (1_000, dribble, 1.0),
    "slow-readers": (100, read_slowly, 1.0),
    "headers": (4, pour_headers, 0.25),
    "target": (4, pour_target, 0.25),
}


async def _again_and_again(address: str, port: int, attack: Attack, pause: float) -> None:
    loop = asyncio.get_running_loop()
    while True:
        with socket.socket() as connection, contextlib.suppress(OSError):
            connection.setblocking(False)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.bind((address, 0))
            await loop.sock_connect(connection, ("127.0.0.1", port))
            await attack(loop, connection)
        await asyncio.sleep(pause)


async def _main(kind: str, port: int, seconds: float, addresses: int) -> None:
    count, attack, pause = ATTACKS[kind]
    tasks = []
    for number in range(count):
        address = f"127.0.0.{number % addresses + 1}"
        tasks.append(asyncio.create_task(_again_and_again(address, port, attack, pause)))
        # Not all of them in one go: a thousand come in a second.
        if number % 10 == 9:
            await asyncio.sleep(0.01)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.gather(*tasks)
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    uvloop.run(_main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))

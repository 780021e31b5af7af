"""The floor of everything that is served: a socket on uvloop that answers each request with the same bytes, and looks for its end only.

``BASELINE`` names the file of the bytes, ``BASELINE_PORT`` the port. A request ends with an empty line, or with a body whose
Content-Length its head names. Run by ``floor.py``.
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import uvloop

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Canned(asyncio.Protocol):
    """One connection."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n") + 4) > 3:
            length = LENGTH.search(self._received, 0, end)
            whole = end + (int(length[1]) if length else 0)
            if len(self._received) < whole:
                return
            self._received = self._received[whole:]
            if self._transport is not None:
                self._transport.write(self._answer)


async def main() -> None:
    """Serves until it is ended."""
    answer = Path(os.environ["BASELINE"]).read_bytes()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Canned(answer), "127.0.0.1", int(os.environ["BASELINE_PORT"]))
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())

"""A transport for protocol classes that are tested without a socket."""

from __future__ import annotations

import asyncio
from typing import Any


class FakeTransport(asyncio.Transport):
    """A transport that records each write. ``has_ended`` is set when it is closed."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 1), "sockname": ("192.0.2.2", 2)})
        self.writes: list[bytes] = []
        self.has_ended = False

    def write(self, data: Any) -> None:
        if data and not self.has_ended:
            self.writes.append(bytes(data))

    def is_closing(self) -> bool:
        return self.has_ended

    def close(self) -> None:
        self.has_ended = True

    abort = close

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading

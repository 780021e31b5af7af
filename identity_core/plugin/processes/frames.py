"""How server and worker talk: octets of a known length, and a letter that says what they are."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from struct import Struct
from typing import Final

ORDER: Final = b"O"
CALL: Final = b"C"

READY: Final = b"R"
UNFIT: Final = b"U"
RESULT: Final = b"A"
REFUSAL: Final = b"E"
FAULT: Final = b"F"
LOG: Final = b"L"

MAX_ANSWER_OCTETS: Final = 1 << 22
"""What the server takes from a worker. A verifier reads envelopes of 128 KiB."""

_HEAD: Final = Struct(">Ic")


class FrameRefused(Exception):
    """The other side announces more than is taken from it."""


def frame(kind: bytes, body: bytes) -> bytes:
    """``body`` as it travels."""
    return _HEAD.pack(len(body), kind) + body


class FrameReader:
    """Whole frames of whatever pieces arrive."""

    __slots__ = ("_most", "_seen")

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen = bytearray()

    def feed(self, octets: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The frames that are complete with these octets. Raises ``FrameRefused``."""
        self._seen += octets
        while len(self._seen) >= _HEAD.size:
            length, kind = _HEAD.unpack_from(self._seen)
            if length > self._most:
                raise FrameRefused(f"announced {length} octets")
            end = _HEAD.size + length
            if len(self._seen) < end:
                return
            body = bytes(self._seen[_HEAD.size : end])
            del self._seen[:end]
            yield kind, body


def receive(channel: socket.socket) -> tuple[bytes, bytes]:
    """The next frame, waited for. Raises ``EOFError`` when the other side has gone."""
    length, kind = _HEAD.unpack(_exactly(channel, _HEAD.size))
    return kind, _exactly(channel, length)


def _exactly(channel: socket.socket, length: int) -> bytes:
    octets = bytearray(length)
    view, at = memoryview(octets), 0
    while at < length:
        count = channel.recv_into(view[at:])
        if count == 0:
            raise EOFError
        at += count
    return bytes(octets)

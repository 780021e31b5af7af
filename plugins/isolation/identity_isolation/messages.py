"""Messages of a worker to the server, and frames: JSON texts of a known length."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from struct import Struct as Layout
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Raw, Struct

from identity_core.errors import IdentityError
from identity_core.plugin.border import Fault
from identity_core.plugin.isolation import read_answer
from identity_core.plugin.load import one_line

# The longest message that the server reads from a worker. A verifier reads envelopes of 128 KiB.
MAX_MESSAGE_OCTETS: Final = 1 << 22

_MAX_TEXT: Final = 2_000
_HEAD: Final = Layout(">I")


class _Upward(Struct, tag=True, forbid_unknown_fields=True):
    """The messages of a worker."""


class Ready(_Upward):
    """The prover is built."""

    suite: Annotated[str, Meta(min_length=1, max_length=200)]
    predicate_types: Annotated[frozenset[str], Meta(max_length=100)]
    extensions: Annotated[frozenset[str], Meta(max_length=100)] = frozenset()
    batches: bool = False


class Returned(_Upward):
    """The result of a call. ``value`` is parsed when the call is known, as its declared type."""

    value: Raw


class Raised(_Upward):
    """A call raised an error of the port's contract."""

    error: str
    message: str
    details: Raw

    @classmethod
    def from_error(cls, error: IdentityError) -> Raised:
        """Return the message of this object."""
        return cls(type(error).__name__, str(error), Raw(msgspec.json.encode(error.details)))

    def read(self, contract: Sequence[type[IdentityError]]) -> IdentityError:
        """Return the error. Raises ``Fault``: when it is not in the contract."""
        kind = {one.__name__: one for one in contract}.get(self.error)
        if kind is None or len(self.message) > _MAX_TEXT:
            raise Fault("refused with something else")
        return kind(self.message, details=read_answer(bytes(self.details), dict[str, Any]))


class _Words(_Upward):
    """A message of one line. Sender and receiver both enforce that."""

    text: str

    def __post_init__(self) -> None:
        self.text = one_line(self.text, _MAX_TEXT)


class Failed(_Words):
    """A call ended in another way, which ``text`` describes."""


class Ended(_Upward):
    """The outcome of each of several calls."""

    outcomes: list[Returned | Raised | Failed]


class Unfit(_Words):
    """The prover cannot be built. ``waits``: only other settings would help."""

    waits: bool


class Line(_Words):
    """A line for the server's log."""

    level: str


Message = Ready | Returned | Raised | Failed | Ended | Unfit | Line
_READER: Final = msgspec.json.Decoder(Message)


class Unreadable(Exception):
    """The other side sent a message that is too long or malformed."""


class FrameReader:
    """Reader of a worker's messages, which may arrive in pieces of any size."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield the messages that are complete with these bytes. Raises ``Unreadable``: for a message that is too long or malformed."""
        self._seen += data
        while len(self._seen) >= _HEAD.size:
            (length,) = _HEAD.unpack_from(self._seen)
            if length > MAX_MESSAGE_OCTETS:
                raise Unreadable(f"announced {length} bytes, more than is taken")
            end = _HEAD.size + length
            if len(self._seen) < end:
                return
            body = bytes(self._seen[_HEAD.size : end])
            del self._seen[:end]
            try:
                message = _READER.decode(body)
            except (ValueError, RecursionError) as error:
                raise Unreadable(f"spoke out of turn ({type(error).__name__})") from None
            yield message


def frame(body: bytes) -> bytes:
    """Return ``body`` with its length in front."""
    return _HEAD.pack(len(body)) + body


def receive(channel: socket.socket) -> bytes:
    """Wait for the next message and return its body. Raises ``EOFError``: when the other side has closed the channel."""
    (length,) = _HEAD.unpack(_exactly(channel, _HEAD.size))
    return _exactly(channel, length)


def _exactly(channel: socket.socket, length: int) -> bytes:
    data = bytearray(length)
    view, at = memoryview(data), 0
    while at < length:
        count = channel.recv_into(view[at:])
        if count == 0:
            raise EOFError
        at += count
    return bytes(data)

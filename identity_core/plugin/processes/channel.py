"""Messages between server and worker: JSON texts of a known length.

The server sends the port's own dataclasses. It parses the worker's answers, which a plugin made, as it parses untrusted requests.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from datetime import datetime
from struct import Struct as Layout
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.predicate import Predicate
from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.errors import IdentityError, PredicateUnsupported, ProofInvalid
from identity_core.plugin.border import Fault
from identity_core.plugin.load import one_line
from identity_core.plugin.processes.extended import AskFormat, Extended, read, something_else
from identity_core.ports.prover import BatchVerifier, Prover

MAX_MESSAGE_OCTETS: Final = 1 << 22
"""The longest message that the server reads from a worker. A verifier reads envelopes of 128 KiB."""

_MAX_TEXT: Final = 2_000
_HEAD: Final = Layout(">I")
_PROOFS: Final = msgspec.json.Decoder(ZkProof)

T = TypeVar("T")


class Prove(Struct, tag=True):
    """``Prover.prove``, with the open witness. Its attributes are any JSON values, which its own type cannot declare."""

    statement: Statement
    signature: bytes
    attributes: dict[str, Any]
    context: Context

    def ask(self, prover: Prover) -> ZkProof:
        """Call the prover in the worker, and return its result."""
        return prover.prove(self.statement, Witness(self.signature, self.attributes), context=self.context)

    @staticmethod
    def read(data: bytes) -> ZkProof:
        """Return the answer. Raises ``Fault``: when it is malformed. The other kinds of messages raise the same."""
        # It has only texts, so no depth and no number must be limited, and no other parser must read it.
        try:
            return _PROOFS.decode(data)
        except (ValueError, RecursionError) as error:
            raise something_else(error) from None


class Read(Struct, tag=True):
    """The message for ``Prover.read``."""

    proof: str

    def ask(self, prover: Prover) -> Presented:
        """Call the prover in the worker, and return its result."""
        return Presented.of(prover.read(self.proof))

    @staticmethod
    def read(data: bytes) -> PresentedProof:
        """Return the answer, as the domain's parsers read it."""
        presented = read(data, Presented)
        try:
            return presented.parse()
        except (ValueError, TypeError, KeyError, AttributeError, PredicateUnsupported) as error:
            raise something_else(error) from None


class Verify(Struct, tag=True):
    """The message for ``Prover.verify``."""

    statement: Statement
    proof: ZkProof
    context: Context
    now: datetime

    def ask(self, prover: Prover) -> None:
        """Call the prover in the worker, and return its result."""
        return prover.verify(self.statement, self.proof, context=self.context, now=self.now)

    @staticmethod
    def read(data: bytes) -> None:
        """Check the answer. False is not a verdict."""
        return read(data, type(None))

    @classmethod
    def refusals(cls, prover: BatchVerifier, calls: Sequence[Verify]) -> Sequence[ProofInvalid | None]:
        """Return the results of ``BatchVerifier.verify_all``."""
        return prover.verify_all([(one.statement, one.proof, one.context, one.now) for one in calls])


class VerifyTogether(Struct, tag=True):
    """Calls that wait at one time, for a ``BatchVerifier``."""

    calls: list[Verify | Extended]

    def refusals(self, prover: BatchVerifier) -> list[ProofInvalid | None]:
        """Return the error of each call, or None. Raises ``ValueError``: for another number of answers."""
        calls: list[Any] = [one.parse() if isinstance(one, Extended) else one for one in self.calls]
        found: dict[int, ProofInvalid | None] = {}
        kinds: list[Any] = [*dict.fromkeys(map(type, calls))]
        for kind in kinds:
            numbers = [number for number, call in enumerate(calls) if type(call) is kind]
            found |= zip(numbers, kind.refusals(prover, [calls[number] for number in numbers]), strict=True)
        return [found[number] for number in range(len(calls))]


class ReadTogether(Struct, tag=True):
    """Proofs to read that wait at one time: reading one costs less than a message."""

    calls: list[Read | Extended]


class ProveTogether(Struct, tag=True):
    """Proofs to make that wait at one time."""

    calls: list[Prove | Extended]


Together = VerifyTogether | ReadTogether | ProveTogether
Single = Prove | Read | Verify | Extended | AskFormat
Call = Single | Together


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
    def of(cls, error: IdentityError) -> Raised:
        """Return the message of this object."""
        return cls(type(error).__name__, str(error), Raw(msgspec.json.encode(error.details)))

    def read(self, contract: Sequence[type[IdentityError]]) -> IdentityError:
        """Return the error. Raises ``Fault``: when it is not in the contract."""
        kind = {one.__name__: one for one in contract}.get(self.error)
        if kind is None or len(self.message) > _MAX_TEXT:
            raise Fault("refused with something else")
        return kind(self.message, details=read(bytes(self.details), dict[str, Any]))


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


class Presented(Struct, forbid_unknown_fields=True):
    """A ``PresentedProof`` as a message: its schema as the signed header, its predicates as attribute, type and value, its context in
    JSON."""

    verification_method: str
    header: bytes
    predicates: list[tuple[str, str, Any]]
    context: dict[str, Any]

    @classmethod
    def of(cls, presented: PresentedProof) -> Presented:
        """Return the message of this object."""
        asked: list[tuple[str, str, Any]] = [(one.attribute, one.type.value, one.value) for one in presented.predicates]
        return cls(presented.verification_method, presented.schema.header, asked, presented.context.json)

    def parse(self) -> PresentedProof:
        """Return the content. Raises ``ValueError``: when it is malformed; ``PredicateUnsupported``: for an unknown predicate."""
        schema = Schema.from_header(self.header)
        predicates = tuple(Predicate.parse(schema, *predicate) for predicate in self.predicates)
        return PresentedProof(self.verification_method, schema, predicates, Context.from_json(self.context))


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


def encode_call(call: Single) -> bytes:
    """Return the JSON of a call."""
    try:
        return msgspec.json.encode(call)
    except UnicodeEncodeError:
        # An untrusted text may contain half a surrogate: the prover must report the error.
        return json.dumps(msgspec.to_builtins(call)).encode()


def encode_several(kind: type[Together], calls: Sequence[bytes]) -> bytes:
    """Return the JSON of a message ``kind`` with calls that ``encode_call`` made."""
    return b'{"type":"%b","calls":[%b]}' % (kind.__name__.encode(), b",".join(calls))


def decode_call(body: bytes) -> Call:
    """Return the call of its JSON, in the worker."""
    call: Call = msgspec.convert(json.loads(body), Call)
    return call


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

"""Calls of a prover or a format, as JSON messages to a worker.

The server sends the port's own values. It parses the worker's answers, which a plugin made, as untrusted requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final

import msgspec
from msgspec import Struct

from identity_codec.values import Hidden
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.predicate import Predicate
from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.errors import PredicateUnsupported, ProofInvalid
from identity_core.plugin.build import PROVER_CALLS
from identity_core.plugin.isolation import read_answer, something_else
from identity_core.ports.prover import BatchVerifier, Prover, ProverCall
from identity_core.ports.securing import Disclosed, KeyBinding, SecuredHead, SecuringFormat

_PROOFS: Final = msgspec.json.Decoder(ZkProof)


class Prove(Hidden, Struct, tag=True):
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
        return Presented.from_proof(prover.read(self.proof))

    @staticmethod
    def read(data: bytes) -> PresentedProof:
        """Return the answer, as the domain's parsers read it."""
        presented = read_answer(data, Presented)
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
        return read_answer(data, type(None))

    @classmethod
    def refusals(cls, prover: BatchVerifier, calls: Sequence[Verify]) -> Sequence[ProofInvalid | None]:
        """Return the results of ``BatchVerifier.verify_all``."""
        return prover.verify_all([(one.statement, one.proof, one.context, one.now) for one in calls])


class Presented(Struct, forbid_unknown_fields=True):
    """A ``PresentedProof`` as a message: its schema as the signed header, its predicates as attribute, type and value, its context in
    JSON."""

    verification_method: str
    header: bytes
    predicates: list[tuple[str, str, Any]]
    context: dict[str, Any]

    @classmethod
    def from_proof(cls, presented: PresentedProof) -> Presented:
        """Return the message of this object."""
        asked: list[tuple[str, str, Any]] = [(one.attribute, one.type.value, one.value) for one in presented.predicates]
        return cls(presented.verification_method, presented.schema.header, asked, presented.context.json)

    def parse(self) -> PresentedProof:
        """Return the content. Raises ``ValueError``: when it is malformed; ``PredicateUnsupported``: for an unknown predicate."""
        schema = Schema.from_header(self.header)
        predicates = tuple(Predicate.parse(schema, *predicate) for predicate in self.predicates)
        return PresentedProof(self.verification_method, schema, predicates, Context.from_json(self.context))


@cache
def calls_of(extension: str) -> Any:
    """Return the module of an extension's calls. It is not that of the extension, which no worker loads."""
    (found,) = entry_points(group=PROVER_CALLS, name=extension)
    return found.load()


class Extended(Struct, tag=True):
    """The message of a ``ProverCall``. The server has the whole call, the worker its members."""

    extension: str
    kind: str
    call: Any

    @classmethod
    def from_call(cls, call: ProverCall) -> Extended:
        """Return the message of a call."""
        return cls(call.extension, type(call).__name__, call)

    def parse(self) -> ProverCall:
        """Return the call, in the worker. Raises ``ValueError``: when it is malformed."""
        call: ProverCall = msgspec.convert(self.call, getattr(calls_of(self.extension), self.kind))
        return call

    def ask(self, prover: Prover) -> Any:
        """Run the call in the worker, and return its result."""
        return self.parse().ask(prover)

    def read(self, data: bytes) -> Any:
        """Return the answer, in the server."""
        return self.call.read(data)


class AskFormat(Struct, tag=True):
    """The message for ``SecuringFormat.read``, and with a key for ``SecuringFormat.verify``."""

    secured: str | dict[str, Any]
    public_key: str | None = None
    binding: KeyBinding | None = None

    def ask(self, securing: SecuringFormat) -> SecuredHead | Disclosed:
        """Run the call in the worker, and return its result."""
        if self.public_key is None:
            return asyncio.run(securing.read(self.secured))
        return asyncio.run(securing.verify(self.secured, self.public_key, binding=self.binding))

    def read(self, data: bytes) -> SecuredHead | Disclosed:
        """Return the answer. Raises ``Fault``: when it is malformed."""
        return read_answer(data, SecuredHead) if self.public_key is None else read_answer(data, Disclosed)


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

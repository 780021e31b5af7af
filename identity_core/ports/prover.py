"""The socket for provers: predicates over signed credentials, in zero knowledge.

Provers are plain functions without I/O. A prover runs in worker processes, which build it again from its name and settings.
The witness never appears in a proof, a log line or an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from msgspec import Struct

from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.errors import ProofInvalid


@runtime_checkable
class Prover(Protocol):
    """A proof system. It is thread-safe. Every prover of a suite verifies the proofs of that suite."""

    @property
    def suite(self) -> str:
        """The name of protocol and version; the first public signal."""

    @property
    def predicate_types(self) -> frozenset[str]:
        """Return the supported values of the six ``PredicateType`` values."""

    def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        """Return a proof that the witness satisfies the statement.

        Raises ``PredicateUnsupported``: when the suite does not support the predicate. Raises ``PredicateNotSatisfied``: when the
        witness does not satisfy it. Raises ``WitnessInvalid``: when the witness is not a credential of the issuer. No error contains a
        value.
        """

    def read(self, proof: str) -> PresentedProof:
        """Return the content of ``ZkProof.proof`` without verification. Raises ``ProofInvalid``: when it cannot be read."""

    def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        """Verify that ``proof`` proves exactly this statement in exactly this context at the aware UTC time ``now``.

        ``statement`` and ``context`` are the verifier's own. Raises ``ProofInvalid``.
        """


@runtime_checkable
class BatchVerifier(Prover, Protocol):
    """A prover that verifies many proofs in less time together than one by one. Each gets the same answer as alone: None if it
    is valid. The answers are in the order of ``asked``."""

    def verify_all(
        self, asked: Sequence[tuple[Statement, ZkProof, Context, datetime]]
    ) -> Sequence[ProofInvalid | None]:
        """Verify each tuple of statement, proof, context and time."""


CallKind = Literal["prove", "read", "verify"]
"""The kinds of calls that are sent to a worker in one batch."""


class ProverCall(Protocol):
    """A call of an extension, which runs in the worker of the prover. Its class is a msgspec Struct, under its own name in the module of
    the entry point ``extension`` in the group ``identity.prover_calls``. That module must not import the extension. Its ``PROTOCOLS``
    are the Protocols that a prover may have besides ``Prover``; the last of them takes the calls.
    A call of the kind ``verify`` also has ``refusals(prover, calls)``: the error that each of several calls would raise, or None."""

    extension: ClassVar[str]
    batch: ClassVar[CallKind]

    def ask(self, prover: Any) -> Any:
        """Call the prover, in the worker."""

    def read(self, data: bytes) -> Any:
        """Parse the answer, in the server. Raises ``Fault``: when it is malformed."""


@runtime_checkable
class ProofWorkers(Protocol):
    """The prover for use cases. Its calls run in worker processes, so that they cannot block or crash other parts.

    Besides the errors of ``Prover``, each method may raise ``PluginUnavailable`` (the prover failed, or is temporarily disabled),
    ``PluginTimeout`` (no answer within the deadline) and ``Overloaded`` (too many calls wait).
    """

    @property
    def suite(self) -> str:
        """See ``Prover.suite``; known at once."""

    @property
    def predicate_types(self) -> frozenset[str]:
        """See ``Prover.predicate_types``; known at once."""

    async def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        """Return a proof, as ``Prover.prove`` does."""

    async def read(self, proof: str) -> PresentedProof:
        """Return the content of a proof, as ``Prover.read`` does."""

    async def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        """Verify a proof, as ``Prover.verify`` does."""

    @property
    def extensions(self) -> frozenset[str]:
        """The extensions whose calls it supports (``ProverCall.extension``); known at once."""

    async def ask(self, call: ProverCall) -> Any:
        """Make the call of an extension. Raises what the call does."""


class AnonymousProvers(Struct, frozen=True):
    """The workers that verify for unauthenticated clients, separate from those of other callers."""

    provers: ProofWorkers

"""The socket for provers: predicates over signed credentials, in zero knowledge.

Plain functions without I/O: a prover runs in worker processes, so that it is built again there from its name and settings.
The witness never shows in a proof, a log line or an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.errors import ProofInvalid


@runtime_checkable
class Prover(Protocol):
    """One proof system. Thread-safe; proofs of one suite are verified by every prover of that suite."""

    @property
    def suite(self) -> str:
        """Names protocol and version; the first public signal."""

    @property
    def predicate_types(self) -> frozenset[str]:
        """Return the supported values of the six ``PredicateType`` values."""

    def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        """A proof that the witness satisfies the statement.

        Raises ``PredicateUnsupported`` for what cannot be asked, ``PredicateNotSatisfied`` when the witness does not satisfy it,
        ``WitnessInvalid`` when it is no credential of the issuer. No error tells a value.
        """

    def read(self, proof: str) -> PresentedProof:
        """Return the content of ``ZkProof.proof``. Nothing is verified; raises ``ProofInvalid`` when it cannot be
        read."""

    def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        """Accepts a proof of exactly this statement in exactly this context at the aware UTC time ``now``.

        ``statement`` and ``context`` are the verifier's own. Raises ``ProofInvalid``.
        """


@runtime_checkable
class BatchVerifier(Prover, Protocol):
    """A prover that checks many proofs in less time together than one by one. Each gets the answer that it would get alone: None where it
    is accepted. The answers stand in the order of what was asked."""

    def verify_all(
        self, asked: Sequence[tuple[Statement, ZkProof, Context, datetime]]
    ) -> Sequence[ProofInvalid | None]:
        """``verify`` of each: statement, proof, context and time."""


CallKind = Literal["prove", "read", "verify"]
"""The calls that go to a worker together."""


class ProverCall(Protocol):
    """A call of an extension, which runs in the worker of the prover. Its class is a msgspec Struct that the module of the entry point
    ``extension`` in the group ``identity.prover_calls`` has under its own name. That module must not import the extension. Its
    ``PROTOCOLS`` are what a prover may be besides ``Prover``, the last of which takes the calls.
    A call of the kind ``verify`` also has ``refusals(prover, calls)``: what each of several would raise, None where it is accepted."""

    extension: ClassVar[str]
    batch: ClassVar[CallKind]

    def ask(self, prover: Any) -> Any:
        """Call the prover, in the worker."""

    def read(self, data: bytes) -> Any:
        """Read the answer, in the server. Raises ``Fault``: when it is not one."""


@runtime_checkable
class ProofWorkers(Protocol):
    """The prover as use cases get it: its calls run in worker processes, so that they hold up nothing else and can crash nothing else.

    Beside what ``Prover`` raises, each method may raise ``PluginUnavailable`` (the prover broke, or is shut off for now),
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
        """The extensions whose calls it takes (``ProverCall.extension``); known at once."""

    async def ask(self, call: ProverCall) -> Any:
        """Make the call of an extension. Raises what the call does."""

"""The socket for provers: predicates over signed credentials, in zero knowledge.

Plain functions without I/O: a prover runs in worker processes, so that it is built again there from its name and settings.
The witness never shows in a proof, a log line or an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from identity_core.domain.proofs.presentation import (
    Acceptance,
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
)
from identity_core.domain.proofs.presented import PresentedPresentation
from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.errors import ProofInvalid


@runtime_checkable
class Prover(Protocol):
    """One proof system. Thread-safe; proofs of one suite are verified by every prover of that suite."""

    @property
    def suite(self) -> str:
        """Names protocol and version; the first public signal."""
        ...

    @property
    def predicate_types(self) -> frozenset[str]:
        """What it can prove, of the six ``PredicateType`` values. A ``PresentingProver`` knows ``neq`` too."""
        ...

    def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        """A proof that the witness satisfies the statement.

        Raises ``PredicateUnsupported`` for what cannot be asked, ``PredicateNotSatisfied`` when the witness does not satisfy it,
        ``WitnessInvalid`` when it is no credential of the issuer. No error tells a value.
        """
        ...

    def read(self, proof: str) -> PresentedProof:
        """What ``ZkProof.proof`` says about itself. Nothing is verified; raises ``ProofInvalid`` when it cannot be read."""
        ...

    def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        """Accepts a proof of exactly this statement in exactly this context at the aware UTC time ``now``.

        ``statement`` and ``context`` are the verifier's own. Raises ``ProofInvalid``.
        """
        ...


@runtime_checkable
class PresentingProver(Prover, Protocol):
    """A prover that also proves with credentials of suite 2, which are bound to their holder (PROTOCOL-2.md)."""

    def present(
        self, statement: PresentationStatement, witness: PresentationWitness, *, bound: PresentationContext
    ) -> str:
        """The text of a presentation. Raises as ``prove`` does, ``PredicateNotSatisfied`` also for a credential that is not valid on the
        day or is revoked."""
        ...

    def read_presentation(self, text: str) -> PresentedPresentation:
        """What a presentation says about itself. Nothing is verified; raises ``ProofInvalid`` when it cannot be read."""
        ...

    def verify_presentation(
        self, statement: PresentationStatement, text: str, *, bound: PresentationContext, acceptance: Acceptance
    ) -> None:
        """Accepts a presentation of exactly this statement in exactly this context; both are the verifier's own. Raises
        ``ProofInvalid``."""
        ...


@runtime_checkable
class BatchVerifier(PresentingProver, Protocol):
    """A prover that checks many proofs in less time together than one by one. Each gets the answer that it would get alone: None where it
    is accepted. The answers stand in the order of what was asked."""

    def verify_all(
        self, asked: Sequence[tuple[Statement, ZkProof, Context, datetime]]
    ) -> Sequence[ProofInvalid | None]:
        """``verify`` of each: statement, proof, context and time."""
        ...

    def verify_presentations(
        self, asked: Sequence[tuple[PresentationStatement, str, PresentationContext, Acceptance]]
    ) -> Sequence[ProofInvalid | None]:
        """``verify_presentation`` of each: statement, text, context and acceptance."""
        ...


@runtime_checkable
class ProofWorkers(Protocol):
    """The prover as use cases get it: its calls run in worker processes, so that they hold up nothing else and can crash nothing else.

    Beside what ``Prover`` raises, each method may raise ``PluginUnavailable`` (the prover broke, or is shut off for now),
    ``PluginTimeout`` (no answer within the deadline) and ``Overloaded`` (too many calls wait).
    """

    @property
    def suite(self) -> str:
        """See ``Prover.suite``; known at once."""
        ...

    @property
    def predicate_types(self) -> frozenset[str]:
        """See ``Prover.predicate_types``; known at once."""
        ...

    async def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof: ...

    async def read(self, proof: str) -> PresentedProof: ...

    async def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None: ...

    @property
    def presents(self) -> bool:
        """Whether it is a ``PresentingProver``. Where it is none, ``present`` raises ``PredicateUnsupported`` and the others
        ``ProofInvalid``."""
        ...

    async def present(
        self, statement: PresentationStatement, witness: PresentationWitness, *, bound: PresentationContext
    ) -> str: ...

    async def read_presentation(self, text: str) -> PresentedPresentation: ...

    async def verify_presentation(
        self, statement: PresentationStatement, text: str, *, bound: PresentationContext, acceptance: Acceptance
    ) -> None: ...

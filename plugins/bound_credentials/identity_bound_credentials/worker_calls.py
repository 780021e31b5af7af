"""The messages about presentations, between server and worker, as JSON.

Questions travel as their JSON and headers as they are signed, because their own parsers read them. Scalars travel as bytes, because an
integer of a message has 64 bits. The other values travel as they are, and check themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from msgspec import Struct

from identity_bbs.bls12381.backend import G1_OCTETS
from identity_bbs.frames import scalar
from identity_bbs.holders import HolderConsent
from identity_bound_credentials.domain.bound_credential import BoundHeader, Particulars
from identity_bound_credentials.domain.presentation import (
    Acceptance,
    BoundWitness,
    GapWitness,
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
    StatusPart,
)
from identity_bound_credentials.domain.presented import PresentedPresentation
from identity_bound_credentials.domain.question import Question
from identity_bound_credentials.domain.status_gaps import StatusEpoch
from identity_bound_credentials.ports import PresentingBatchVerifier, PresentingProver
from identity_codec.values import Hidden
from identity_core.domain.proofs.predicate import unsupported
from identity_core.errors import PredicateUnsupported, ProofInvalid
from identity_core.plugin.isolation import read_answer, something_else
from identity_core.ports.prover import CallKind, ProofWorkers, Prover

NAME: Final = "bound_credentials"


class Asking(Struct, forbid_unknown_fields=True):
    """A ``PresentedPresentation``."""

    question: dict[str, Any]
    headers: list[bytes]
    day: int | None
    epochs: tuple[StatusEpoch, ...]
    bound: PresentationContext
    pseudonym: bytes | None = None

    @classmethod
    def from_presented(cls, one: PresentedPresentation) -> Asking:
        headers = [credential.header.encoded for credential in one.question.credentials]
        return cls(one.question.json, headers, one.day, one.epochs, one.bound, one.pseudonym)

    def parse(self) -> PresentedPresentation:
        """Return the value. Raises ``ValueError``, ``TypeError``, ``KeyError``, ``AttributeError`` and ``PredicateUnsupported``."""
        headers = [BoundHeader.from_octets(data) for data in self.headers]
        question = Question.from_json(self.question, headers)
        if question.json != self.question:
            raise ValueError("the question is not in its one form")
        if self.pseudonym is not None and (len(self.pseudonym) != G1_OCTETS or question.pseudonym is None):
            raise ValueError("the pseudonym is not one of the question's")
        return PresentedPresentation(question, self.day, self.epochs, self.bound, self.pseudonym)


class Stated(Struct):
    """A statement with its context: the question, and the keys of credentials and status lists."""

    asking: Asking
    keys: tuple[bytes, ...]
    status_keys: list[bytes]

    @classmethod
    def from_statement(cls, statement: PresentationStatement, bound: PresentationContext) -> Stated:
        epochs = tuple(part.epoch for part in statement.status)
        asking = Asking.from_presented(PresentedPresentation(statement.question, statement.day, epochs, bound))
        return cls(asking, statement.keys, [part.public_key for part in statement.status])

    def parse(self) -> tuple[PresentationStatement, PresentationContext]:
        asked = self.asking.parse()
        status = tuple(StatusPart(*pair) for pair in zip(asked.epochs, self.status_keys, strict=True))
        return PresentationStatement(asked.question, self.keys, asked.day, status), asked.bound


class HeldCredential(Hidden, Struct):
    """A ``BoundWitness``. Its attributes are any JSON values."""

    signature: bytes
    attributes: dict[str, Any]
    particulars: Particulars
    opening: tuple[bytes, bytes] | None

    @classmethod
    def from_witness(cls, witness: BoundWitness) -> HeldCredential:
        opening = None if witness.opening is None else (scalar(witness.opening[0]), scalar(witness.opening[1]))
        return cls(witness.signature, dict(witness.attributes), witness.particulars, opening)

    def parse(self) -> BoundWitness:
        opening = None if self.opening is None else (_number(self.opening[0]), _number(self.opening[1]))
        return BoundWitness(self.signature, self.attributes, self.particulars, opening)


class Held(Struct):
    """A ``PresentationWitness``."""

    credentials: list[HeldCredential]
    gaps: tuple[GapWitness, ...]
    consent: tuple[bytes, list[bytes]] | None

    @classmethod
    def from_witness(cls, witness: PresentationWitness) -> Held:
        agreed = witness.consent
        consent = None if agreed is None else (agreed.encoded, [scalar(rho) for rho in agreed.rhos])
        return cls([HeldCredential.from_witness(one) for one in witness.credentials], witness.gaps, consent)

    def parse(self) -> PresentationWitness:
        agreed = None
        if self.consent is not None:
            data, rhos = self.consent
            agreed = HolderConsent(data, tuple(map(_number, rhos)))
        return PresentationWitness(tuple(one.parse() for one in self.credentials), self.gaps, agreed)


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


class _Call(Struct):
    """A ``ProverCall`` of this extension."""

    extension: ClassVar[str] = NAME
    batch: ClassVar[CallKind]


class Present(_Call):
    """``PresentingProver.present``."""

    batch: ClassVar[CallKind] = "prove"
    stated: Stated
    held: Held

    def ask(self, prover: Prover) -> str:
        if not isinstance(prover, PresentingProver):
            raise unsupported("the prover proves nothing with credentials of suite 2")
        statement, bound = self.stated.parse()
        return prover.present(statement, self.held.parse(), bound=bound)

    @staticmethod
    def read(data: bytes) -> str:
        """Return the answer."""
        return read_answer(data, str)


class ReadPresentation(_Call):
    """``PresentingProver.read_presentation``."""

    batch: ClassVar[CallKind] = "read"
    text: str

    def ask(self, prover: Prover) -> Asking:
        return Asking.from_presented(_presenting(prover).read_presentation(self.text))

    @staticmethod
    def read(data: bytes) -> PresentedPresentation:
        """Return the answer, as the domain's parsers read it."""
        asking = read_answer(data, Asking)
        try:
            return asking.parse()
        except (ValueError, TypeError, KeyError, AttributeError, PredicateUnsupported) as error:
            raise something_else(error) from None


class VerifyPresentation(_Call):
    """``PresentingProver.verify_presentation``."""

    batch: ClassVar[CallKind] = "verify"
    stated: Stated
    text: str
    acceptance: Acceptance

    def ask(self, prover: Prover) -> None:
        statement, text, bound, acceptance = self.arguments()
        _presenting(prover).verify_presentation(statement, text, bound=bound, acceptance=acceptance)

    def arguments(self) -> tuple[PresentationStatement, str, PresentationContext, Acceptance]:
        """Return the statement, the proof, its context and what is accepted."""
        statement, bound = self.stated.parse()
        return statement, self.text, bound, self.acceptance

    @classmethod
    def refusals(
        cls, prover: PresentingBatchVerifier, calls: Sequence[VerifyPresentation]
    ) -> Sequence[ProofInvalid | None]:
        """Call ``PresentingBatchVerifier.verify_presentations``."""
        return prover.verify_presentations([one.arguments() for one in calls])

    @staticmethod
    def read(data: bytes) -> None:
        """Return the answer, which is null. False is not a verdict."""
        return read_answer(data, type(None))


def _presenting(prover: Prover) -> PresentingProver:
    if not isinstance(prover, PresentingProver):
        raise ProofInvalid(details={"reason": "the prover reads no proofs of suite 2"})
    return prover


async def present(
    provers: ProofWorkers, statement: PresentationStatement, witness: PresentationWitness, *, bound: PresentationContext
) -> str:
    """Call ``PresentingProver.present``."""
    text: str = await provers.ask(Present(Stated.from_statement(statement, bound), Held.from_witness(witness)))
    return text


async def read_presentation(provers: ProofWorkers, text: str) -> PresentedPresentation:
    """Call ``PresentingProver.read_presentation``."""
    presented: PresentedPresentation = await provers.ask(ReadPresentation(text))
    return presented


async def verify_presentation(
    provers: ProofWorkers,
    statement: PresentationStatement,
    text: str,
    *,
    bound: PresentationContext,
    acceptance: Acceptance,
) -> None:
    """Call ``PresentingProver.verify_presentation``."""
    await provers.ask(VerifyPresentation(Stated.from_statement(statement, bound), text, acceptance))


PROTOCOLS: Final = (PresentingBatchVerifier, PresentingProver)
"""The protocols of a prover that takes these calls; the last is required."""

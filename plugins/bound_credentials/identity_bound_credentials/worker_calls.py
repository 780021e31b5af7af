"""The messages about presentations, between server and worker: as JSON, whose integers have 64 bits, so that scalars are octets.

Down goes what the server asks, in the forms that travel: questions as their JSON, headers as they are signed. What comes up is read by the
domain's own parsers.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from msgspec import Struct

from identity_bbs.bls12381.backend import G1_OCTETS
from identity_bbs.frames import scalar
from identity_bbs.holders import HolderConsent
from identity_bound_credentials.domain.bound_credential import BoundHeader, Particulars
from identity_bound_credentials.domain.presentation import (
    Acceptance,
    BoundWitness,
    ConsentTerms,
    Cover,
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
from identity_core.domain.proofs.predicate import unsupported
from identity_core.domain.proofs.proof import Context
from identity_core.errors import PredicateUnsupported, ProofInvalid
from identity_core.plugin.processes.extended import read, something_else
from identity_core.ports.prover import CallKind, ProofWorkers, Prover

NAME: Final = "bound_credentials"


class Asking(Struct, forbid_unknown_fields=True):
    """A ``PresentedPresentation``."""

    question: dict[str, Any]
    headers: list[bytes]
    day: int | None
    epochs: list[bytes]
    context: dict[str, Any]
    agent_key: bytes | None
    terms: tuple[int, int, int] | None
    pseudonym: bytes | None = None

    @classmethod
    def of(
        cls,
        question: Question,
        day: int | None,
        epochs: tuple[StatusEpoch, ...],
        bound: PresentationContext,
        pseudonym: bytes | None = None,
    ) -> Asking:
        terms = bound.consent
        return cls(
            question.json,
            [credential.header.octets for credential in question.credentials],
            day,
            [epoch.header for epoch in epochs],
            bound.context.json,
            bound.agent_key,
            None if terms is None else (int(terms.cover), terms.not_before, terms.not_after),
            pseudonym,
        )

    def parse(self) -> PresentedPresentation:
        """Raises ``ValueError``, ``TypeError``, ``KeyError``, ``AttributeError`` and ``PredicateUnsupported``."""
        headers = [BoundHeader.from_octets(octets) for octets in self.headers]
        question = Question.from_json(self.question, headers)
        if question.json != self.question:
            raise ValueError("the question is not in its one form")
        terms = None
        if self.terms is not None:
            cover, not_before, not_after = self.terms
            terms = ConsentTerms(Cover(cover), not_before, not_after)
        bound = PresentationContext(Context.from_json(self.context), self.agent_key, terms)
        epochs = tuple(StatusEpoch.from_header(octets) for octets in self.epochs)
        if self.pseudonym is not None and (len(self.pseudonym) != G1_OCTETS or question.pseudonym is None):
            raise ValueError("the pseudonym is none of the question's")
        return PresentedPresentation(question, self.day, epochs, bound, self.pseudonym)


class Stated(Struct):
    """A statement with its context: what is asked, and the keys of credentials and status lists."""

    asking: Asking
    keys: list[bytes]
    status_keys: list[bytes]

    @classmethod
    def of(cls, statement: PresentationStatement, bound: PresentationContext) -> Stated:
        epochs = tuple(part.epoch for part in statement.status)
        asking = Asking.of(statement.question, statement.day, epochs, bound)
        return cls(asking, [*statement.keys], [part.public_key for part in statement.status])

    def parse(self) -> tuple[PresentationStatement, PresentationContext]:
        asked = self.asking.parse()
        status = tuple(StatusPart(*pair) for pair in zip(asked.epochs, self.status_keys, strict=True))
        return PresentationStatement(asked.question, tuple(self.keys), asked.day, status), asked.bound


class HeldCredential(Struct):
    """A ``BoundWitness``. Its attributes are any JSON values."""

    signature: bytes
    attributes: dict[str, Any]
    id: str
    subject: str
    valid_from: datetime
    valid_until: datetime | None
    handle: int
    opening: tuple[bytes, bytes] | None

    @classmethod
    def of(cls, witness: BoundWitness) -> HeldCredential:
        about, opening = witness.particulars, witness.opening
        return cls(
            witness.signature,
            dict(witness.attributes),
            about.id,
            about.subject,
            about.valid_from,
            about.valid_until,
            about.handle,
            None if opening is None else (scalar(opening[0]), scalar(opening[1])),
        )

    def parse(self) -> BoundWitness:
        about = Particulars(self.id, self.subject, self.valid_from, self.valid_until, self.handle)
        opening = None
        if self.opening is not None:
            opening = (_number(self.opening[0]), _number(self.opening[1]))
        return BoundWitness(self.signature, self.attributes, about, opening)


class Held(Struct):
    """A ``PresentationWitness``."""

    credentials: list[HeldCredential]
    gaps: list[tuple[int, int, bytes]]
    consent: tuple[bytes, list[bytes]] | None

    @classmethod
    def of(cls, witness: PresentationWitness) -> Held:
        agreed = witness.consent
        return cls(
            [HeldCredential.of(one) for one in witness.credentials],
            [(gap.low, gap.high, gap.signature) for gap in witness.gaps],
            None if agreed is None else (agreed.octets, [scalar(rho) for rho in agreed.rhos]),
        )

    def parse(self) -> PresentationWitness:
        agreed = None
        if self.consent is not None:
            octets, rhos = self.consent
            agreed = HolderConsent(octets, tuple(map(_number, rhos)))
        gaps = tuple(GapWitness(*gap) for gap in self.gaps)
        return PresentationWitness(tuple(one.parse() for one in self.credentials), gaps, agreed)


class Accepted(Struct):
    """An ``Acceptance``; the age of a status list in seconds."""

    now: datetime
    status_max_age: float
    cover: int

    @classmethod
    def of(cls, acceptance: Acceptance) -> Accepted:
        return cls(acceptance.now, acceptance.status_max_age.total_seconds(), int(acceptance.cover))

    def parse(self) -> Acceptance:
        return Acceptance(self.now, timedelta(seconds=self.status_max_age), Cover(self.cover))


def _number(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


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
    def read(octets: bytes) -> str:
        """The answer."""
        return read(octets, str)


class ReadPresentation(_Call):
    """``PresentingProver.read_presentation``."""

    batch: ClassVar[CallKind] = "read"
    text: str

    def ask(self, prover: Prover) -> Asking:
        found = _presenting(prover).read_presentation(self.text)
        return Asking.of(found.question, found.day, found.epochs, found.bound, found.pseudonym)

    @staticmethod
    def read(octets: bytes) -> PresentedPresentation:
        """The answer, which is what the domain's parsers say that it is."""
        asking = read(octets, Asking)
        try:
            return asking.parse()
        except (ValueError, TypeError, KeyError, AttributeError, PredicateUnsupported) as error:
            raise something_else(error) from None


class VerifyPresentation(_Call):
    """``PresentingProver.verify_presentation``."""

    batch: ClassVar[CallKind] = "verify"
    stated: Stated
    text: str
    accepted: Accepted

    def ask(self, prover: Prover) -> None:
        statement, text, bound, acceptance = self.asked()
        _presenting(prover).verify_presentation(statement, text, bound=bound, acceptance=acceptance)

    def asked(self) -> tuple[PresentationStatement, str, PresentationContext, Acceptance]:
        """What is to be verified."""
        statement, bound = self.stated.parse()
        return statement, self.text, bound, self.accepted.parse()

    @classmethod
    def refusals(
        cls, prover: PresentingBatchVerifier, calls: Sequence[VerifyPresentation]
    ) -> Sequence[ProofInvalid | None]:
        """``PresentingBatchVerifier.verify_presentations``."""
        return prover.verify_presentations([one.asked() for one in calls])

    @staticmethod
    def read(octets: bytes) -> None:
        """The answer. False is no verdict."""
        return read(octets, type(None))


def _presenting(prover: Prover) -> PresentingProver:
    if not isinstance(prover, PresentingProver):
        raise ProofInvalid(details={"reason": "the prover reads no proofs of suite 2"})
    return prover


async def present(
    provers: ProofWorkers, statement: PresentationStatement, witness: PresentationWitness, *, bound: PresentationContext
) -> str:
    """Call ``PresentingProver.present``."""
    text: str = await provers.ask(Present(Stated.of(statement, bound), Held.of(witness)))
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
    await provers.ask(VerifyPresentation(Stated.of(statement, bound), text, Accepted.of(acceptance)))


PROTOCOLS: Final = (PresentingBatchVerifier, PresentingProver)
"""What a prover may be besides; the last is what these calls take."""

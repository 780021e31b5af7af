"""A presentation as it came, before anything is done on the curve (PROTOCOL-2.md §7.4): held to the verifier's own request, to the shape
of its statement, and to the agent who hands it over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from identity_bound_credentials.domain.presentation import (
    Acceptance,
    PresentationContext,
    PresentationStatement,
    StatusPart,
    unchecked,
)
from identity_bound_credentials.domain.question import Question
from msgspec import Struct

from identity_bbs.bls12381.backend import G1_OCTETS, SCALAR_OCTETS
from identity_bbs.openings import octets_of_openings
from identity_codec import ed25519
from identity_core.errors import PredicateUnsupported, ProofInvalid
from identity_prover_bbs.envelope_text import refusal
from identity_prover_bbs.suite2.envelope import PresentationEnvelope
from identity_prover_bbs.suite2.relation import PresentationRelation

POINTS_OCTETS: Final = 3 * G1_OCTETS
"""Abar, Bbar and D of a part; ``OWN_SCALARS`` responses and those of its messages follow."""
OWN_SCALARS: Final = 3


class ReceivedPresentation(Struct, frozen=True):
    """A text, and what its verifier expects: see ``PresentationVerifier.accept``."""

    text: str
    question: Question
    keys: Mapping[str, bytes]
    audience: str
    nonce: bytes
    acceptance: Acceptance
    agent_key: bytes | None = None
    capability: bytes | None = None


class VerifiedPresentation(Struct, frozen=True):
    """The verified statement. ``unchecked`` names what the question did not ask for; ``pseudonym`` is P, 48 bytes,
    where one was asked for."""

    statement: PresentationStatement
    bound: PresentationContext
    pseudonym: bytes | None
    unchecked: tuple[str, ...]

    @classmethod
    def from_envelope(
        cls, statement: PresentationStatement, bound: PresentationContext, envelope: PresentationEnvelope
    ) -> VerifiedPresentation:
        """Return what a valid proof shows."""
        return cls(statement, bound, envelope.shown_pseudonym, unchecked(statement.question))


def own_statement(
    received: ReceivedPresentation,
) -> tuple[PresentationStatement, PresentationContext, PresentationEnvelope]:
    """Return the verifier's own statement with day and epochs of the envelope, which is of exactly its request. Raises
    ``ProofInvalid``."""
    envelope, question = PresentationEnvelope.decode(received.text), received.question
    context = envelope.bound.context
    for name, found, expected in (
        ("question", envelope.question, question),
        ("audience", context.audience, received.audience),
        ("challenge", context.nonce, received.nonce),
        ("agent", envelope.bound.agent_key, received.agent_key),
        ("capability", context.capability, received.capability),
    ):
        if found != expected:
            raise refusal(f"the proof is not bound to the expected {name}")
    try:
        status = tuple(StatusPart(epoch, received.keys[epoch.method]) for epoch in envelope.epochs)
        own = tuple(received.keys[credential.header.method] for credential in question.credentials)
    except KeyError:
        raise refusal("the key of a credential or of a status list is not known") from None
    try:
        statement = PresentationStatement(question, own, envelope.day, status)
    except PredicateUnsupported as unsupported:
        raise ProofInvalid(details=unsupported.details) from None
    return statement, envelope.bound, envelope


def check_envelope(relation: PresentationRelation, bound: PresentationContext, envelope: PresentationEnvelope) -> None:
    """Check that every part of the envelope is that of the statement, and every length that of its shape. Raises ``ProofInvalid``."""
    statement = relation.statement
    question, count = statement.question, len(statement.question.credentials)
    epochs = tuple(part.epoch for part in statement.status)
    found = (envelope.question, envelope.day, envelope.epochs, envelope.bound, envelope.disclosed)
    if found != (question, statement.day, epochs, bound, relation.shown):
        raise refusal("the proof is of another question, or discloses something else than it says")
    lengths = [len(data) for data in (*envelope.credential_proofs, *envelope.gap_proofs)]
    own = [POINTS_OCTETS + SCALAR_OCTETS * (OWN_SCALARS + len(relation.owned(n))) for n in range(len(relation.parts))]
    own[0] += SCALAR_OCTETS
    plain_pseudonym = question.pseudonym is not None and not question.consented
    sets = [layout.byte_count for _, layout in relation.sets]
    if lengths != own or len(envelope.argument) != relation.layout.byte_count or [*map(len, envelope.sets)] != sets:
        raise refusal("the sub-proofs are not those of the statement")
    if (envelope.pseudonym is not None) != plain_pseudonym or (envelope.consent is not None) != question.consented:
        raise refusal("the pseudonym or the consent is missing, or was not asked for")
    expected = octets_of_openings(count, pseudonym=question.pseudonym is not None)
    if envelope.consent is not None and len(envelope.consent) != expected:
        raise refusal("the consent has not the length of one")


def check_agent(envelope: PresentationEnvelope) -> None:
    """Verify that the agent of the context hands over the proof, now and here. Raises ``ProofInvalid``."""
    key, signature = envelope.bound.agent_key, envelope.agent_signature
    if key is None:
        return
    try:
        if signature is None:
            raise ValueError
        ed25519.verify(key, envelope.agent_message, signature)
    except (ValueError, ed25519.Ed25519SignatureInvalid):
        raise refusal("the agent's signature is missing, or not one of this proof") from None

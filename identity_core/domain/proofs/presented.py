"""What a presentation says about itself, before anything of it is verified (PROTOCOL-2.md §8)."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from identity_core.codec import jcs
from identity_core.codec.multibase import base64url_encode
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.credentials.status_gaps import StatusEpoch
from identity_core.domain.proofs.presentation import (
    PresentationContext,
    PresentationStatement,
    StatusPart,
    unchecked,
)
from identity_core.domain.proofs.proof import NEVER_PROVEN, Context
from identity_core.domain.proofs.question import SUITE_2, Asked, Question
from identity_core.values import value_class


@value_class
class PresentedPresentation:
    """What a presentation says about itself, without the keys: a claim until ``PresentingProver.verify_presentation`` has accepted it under
    keys that the verifier got elsewhere. The members that a proof of suite 1 has too are those of the first credential. ``pseudonym`` are
    the 48 octets of the holder's for the question's context."""

    question: Question
    day: int | None
    epochs: tuple[StatusEpoch, ...]
    bound: PresentationContext
    pseudonym: bytes | None = None

    @property
    def verification_method(self) -> str:
        """The DID URL of the issuer's key."""
        return self.question.credentials[0].header.method

    @property
    def schema(self) -> Schema:
        """The schema of the credential."""
        return self.question.credentials[0].header.schema

    @property
    def predicates(self) -> tuple[Asked, ...]:
        """What is asked of the credential; none where only the whole question says what is proven."""
        return self.question.credentials[0].predicates if self.is_of_one_credential else ()

    @property
    def context(self) -> Context:
        """For whom and when."""
        return self.bound.context

    @property
    def methods(self) -> tuple[str, ...]:
        """The DID URLs of all keys that are needed, each once."""
        own = [credential.header.method for credential in self.question.credentials]
        return tuple(dict.fromkeys([*own, *(epoch.method for epoch in self.epochs)]))

    def statement(self, keys: Mapping[str, bytes]) -> PresentationStatement:
        """The statement to verify, under resolved keys (96 octets) by their methods. Raises ``KeyError`` and ``PredicateUnsupported``."""
        own = tuple(keys[credential.header.method] for credential in self.question.credentials)
        status = tuple(StatusPart(epoch, keys[epoch.method]) for epoch in self.epochs)
        return PresentationStatement(self.question, own, self.day, status)

    @property
    def is_of_one_credential(self) -> bool:
        """Whether its predicates are all of one credential and all hold: of alternatives, or of several credentials, a list of predicates
        would say what is not proven."""
        question = self.question
        return len(question.credentials) == 1 and not question.either and not question.same and not question.pseudonym

    @property
    def proven(self) -> frozenset[str]:
        """Which of ``NEVER_PROVEN`` it says itself, if it is right: what its question asks."""
        return frozenset(NEVER_PROVEN) - frozenset(unchecked(self.question))


def presentation_signals(question: Question, context: Context) -> tuple[str, ...]:
    """``ZKProof.publicSignals``: suite, then verification method, schema id and name, type and JCS of the value of each predicate for each
    credential, then base64url SHA-256 of the JCS of the context, and of each signed header."""
    signals = [SUITE_2]
    for credential in question.credentials:
        signals += [credential.header.method, credential.header.schema.id]
        for predicate in credential.predicates:
            asked = predicate.json
            signals += [str(asked["attributeName"]), str(asked["type"]), jcs.canonicalize(asked["value"]).decode()]
    headers = [sha256(credential.header.octets).digest() for credential in question.credentials]
    context_digest = sha256(jcs.canonicalize(context.json)).digest()
    return (*signals, *map(base64url_encode, (context_digest, *headers)))

"""Claims of a presentation before verification (PROTOCOL-2.md §8), and its hand-over (PROTOCOL-2.md §5.4).

A proof may name its agent's key. The prover leaves the signature open. The agent then signs audience, challenge and the whole
envelope, with Ed25519 over the canonical JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from identity_verification.domain.expected import ExpectedQuestion, Parts
from identity_verification.domain.received import NEVER_PROVEN
from msgspec import Struct

from identity_bound_credentials.domain.presentation import (
    PresentationContext,
    PresentationStatement,
    StatusPart,
    unchecked,
)
from identity_bound_credentials.domain.question import SUITE_2, Question
from identity_bound_credentials.domain.status_gaps import StatusEpoch
from identity_codec import jcs, strict_json
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_core.domain.credentials.credential_schema import CredentialSchema, digest
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.asked import Asked
from identity_core.domain.proofs.proof import MAX_ENVELOPE_CHARACTERS, Context
from identity_core.domain.proofs.stored import KeptCredential, KeptQuestion
from identity_core.errors import ProofInvalid


class PresentedPresentation(Struct, frozen=True):
    """Claims of a presentation, without the keys: unverified until ``PresentingProver.verify_presentation`` accepts them under keys
    that the verifier got elsewhere. The members shared with suite 1 are those of the first credential. ``pseudonym``: the holder's
    48 bytes for the question's context."""

    question: Question
    day: int | None
    epochs: tuple[StatusEpoch, ...]
    bound: PresentationContext
    pseudonym: bytes | None = None

    @property
    def verification_method(self) -> str:
        """Return the DID URL of the issuer's key."""
        return self.question.credentials[0].header.method

    @property
    def schema(self) -> Schema:
        """Return the schema of the credential."""
        return self.question.credentials[0].header.schema

    @property
    def predicates(self) -> tuple[Asked, ...]:
        """Return the predicates of the credential; empty for several credentials, of which only the whole question describes the
        proof."""
        return self.question.credentials[0].predicates if self.is_of_one_credential else ()

    @property
    def context(self) -> Context:
        """Return audience, challenge and times of the proof."""
        return self.bound.context

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the DID URLs of all required keys, each once."""
        own = [credential.header.method for credential in self.question.credentials]
        return tuple(dict.fromkeys([*own, *(epoch.method for epoch in self.epochs)]))

    def statement(self, keys: Mapping[str, bytes]) -> PresentationStatement:
        """Return the statement to verify, under resolved keys (96 bytes) by their methods. Raises ``KeyError`` and
        ``PredicateUnsupported``."""
        own = tuple(keys[credential.header.method] for credential in self.question.credentials)
        status = tuple(StatusPart(epoch, keys[epoch.method]) for epoch in self.epochs)
        return PresentationStatement(self.question, own, self.day, status)

    @property
    def is_of_one_credential(self) -> bool:
        """Return whether a list of predicates states everything that was proven: the question is about one credential, without
        alternatives, equal attributes and a pseudonym."""
        question = self.question
        return len(question.credentials) == 1 and not question.either and not question.same and not question.pseudonym

    @property
    def joint(self) -> KeptQuestion | None:
        """Return the public part of the question if a list of predicates is not enough."""
        return None if self.is_of_one_credential else self._kept_question

    @property
    def _kept_question(self) -> KeptQuestion:
        question = self.question
        credentials = tuple(
            KeptCredential("", one.header.issuer, one.header.schema.id, tuple(each.json for each in one.predicates))
            for one in question.credentials
        )
        return KeptQuestion(credentials, question.same, question.either, question.pseudonym)

    @property
    def agent_key(self) -> bytes | None:
        """Return the key of the agent that hands the proof over."""
        return self.bound.agent_key

    @property
    def cover(self) -> int | None:
        """Return the fields to which the holder consents."""
        return None if self.bound.consent is None else self.bound.consent.cover

    @property
    def consent_ends(self) -> datetime | None:
        """Return the time at which the holder's consent ends."""
        return None if self.bound.consent is None else datetime.fromtimestamp(self.bound.consent.not_after, UTC)

    @property
    def schema_ids(self) -> tuple[str, ...]:
        """Return the schema id of each credential."""
        return tuple(credential.header.schema.id for credential in self.question.credentials)

    def is_of(self, definitions: Sequence[CredentialSchema]) -> bool:
        """See ``PresentedQuestion.is_of``."""
        headers = [credential.header for credential in self.question.credentials]
        pairs = [*zip(definitions, headers, strict=True)]
        return all(one.schema == header.schema and digest(one) == header.digest for one, header in pairs)

    def is_status_recent(self, now: datetime, max_age: timedelta) -> bool | None:
        """See ``PresentedQuestion.is_status_recent``."""
        return all(epoch.is_acceptable(now, max_age) for epoch in self.epochs) if self.epochs else None

    def parts(self, expected: ExpectedQuestion) -> Parts:
        """See ``PresentedQuestion.parts``."""
        headers = [credential.header for credential in self.question.credentials]
        return expected.parts([one.issuer for one in headers], [one.schema for one in headers], self._kept_question)

    def as_made(self, text: str) -> str:
        """Return the proof as its prover made it, without the agent's signature if it names an agent's key."""
        return text if self.bound.agent_key is None else base64url_encode(jcs.canonicalize(_read(text)[0]))

    def awaits_agent(self, text: str) -> bool:
        """Return whether the proof ``text`` of this content names an agent's key and lacks the agent's signature."""
        return self.bound.agent_key is not None and self.as_made(text) == text

    @property
    def proven(self) -> frozenset[str]:
        """Return the members of ``NEVER_PROVEN`` that the proof itself proves if it is valid, as its question asks."""
        return frozenset(NEVER_PROVEN) - frozenset(unchecked(self.question))


def presentation_signals(question: Question, context: Context) -> tuple[str, ...]:
    """Return ``ZKProof.publicSignals``: suite, then verification method, schema id and name, type and JCS of the value of each
    predicate for each credential, then base64url SHA-256 of the JCS of the context, and of each signed header."""
    signals = [SUITE_2]
    for credential in question.credentials:
        signals += [credential.header.method, credential.header.schema.id]
        for predicate in credential.predicates:
            asked = predicate.json
            signals += [str(asked["attributeName"]), str(asked["type"]), jcs.canonicalize(asked["value"]).decode()]
    headers = [sha256(credential.header.encoded).digest() for credential in question.credentials]
    context_digest = sha256(jcs.canonicalize(context.json)).digest()
    return (*signals, *map(base64url_encode, (context_digest, *headers)))


def handed_over(
    text: str, key: bytes, sign: Callable[[bytes], bytes], *, audience: str | None, challenge: bytes | None
) -> str:
    """Return the proof with the signature of the agent whose Ed25519 ``key`` (32 bytes) it names. The proof must be for this
    audience and challenge (None: any). ``sign`` returns 64 bytes. Raises ``ProofInvalid``: for any other text, which is not signed."""
    envelope, bound = _read(text)
    if bound.agent_key != key:
        raise _refused("the proof names another agent's key")
    if audience is not None and bound.context.audience != audience:
        raise _refused("the proof is for another audience")
    if challenge is not None and bound.context.nonce != challenge:
        raise _refused("the proof is for another challenge")
    return _with_signature(envelope, sign(bound.agent_message(sha256(jcs.canonicalize(envelope)).digest())))


def sign_as_agent(text: str, sign: Callable[[bytes], bytes]) -> str:
    """Sign as ``handed_over`` does, with any key that the envelope names. Raises ``ProofInvalid``: for an invalid envelope or one
    that names no agent."""
    envelope, bound = _read(text)
    return _with_signature(envelope, sign(bound.agent_message(sha256(jcs.canonicalize(envelope)).digest())))


def _read(text: str) -> tuple[dict[str, Any], PresentationContext]:
    """Return the envelope without its signature, and its audience and challenge."""
    if len(text) > MAX_ENVELOPE_CHARACTERS:
        raise _refused("the envelope is too long")
    try:
        envelope = strict_json.loads(base64url_decode(text))
        key = base64url_decode(envelope["agent"]["key"])
        bound = PresentationContext(Context.from_json(envelope["context"]), key)
    except (strict_json.JsonRefused, ValueError, TypeError, KeyError, AttributeError):
        raise _refused("the proof names no agent's key") from None
    return envelope | {"agent": {"key": envelope["agent"]["key"], "signature": None}}, bound


def _with_signature(envelope: dict[str, Any], signature: bytes) -> str:
    agent = envelope["agent"] | {"signature": base64url_encode(signature)}
    text = base64url_encode(jcs.canonicalize(envelope | {"agent": agent}))
    if len(text) > MAX_ENVELOPE_CHARACTERS:
        raise _refused("the envelope is too long")
    return text


def _refused(reason: str) -> ProofInvalid:
    return ProofInvalid(details={"reason": reason})

"""What a verification says: one check after the other, each with its outcome, and what follows from them.

A check is right, wrong, or could not be made (``ok`` None): a verifier may come back for the last, and must not for the second.
Only when every check is right is a proof verified. Warnings are about what stands around the proof; they do not touch it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from identity_core.domain.issuer_key import controller_of
from identity_core.domain.proof import (
    CLOCK_SKEW,
    MAX_NONCE_OCTETS,
    MIN_NONCE_OCTETS,
    NEVER_PROVEN,
    Context,
    Expectation,
    PresentedProof,
)
from identity_core.errors import InvalidDid, InvalidRequest, JsonValue, ProofInvalid


class CheckCode(StrEnum):
    """Why a check is wrong or could not be made, and what a warning warns of. The document describes each."""

    PROOF_INVALID = "PROOF_INVALID"
    PUBLIC_SIGNALS_MISMATCH = "PUBLIC_SIGNALS_MISMATCH"
    PROOF_EXPIRED = "PROOF_EXPIRED"
    PROOF_NOT_YET_VALID = "PROOF_NOT_YET_VALID"
    PROOF_TOO_OLD = "PROOF_TOO_OLD"
    PROOF_REVOKED = "PROOF_REVOKED"
    PREDICATE_MISMATCH = "PREDICATE_MISMATCH"
    CHALLENGE_MISMATCH = "CHALLENGE_MISMATCH"
    CHALLENGE_UNKNOWN = "CHALLENGE_UNKNOWN"
    CHALLENGE_SPENT = "CHALLENGE_SPENT"
    DOMAIN_MISMATCH = "DOMAIN_MISMATCH"
    SCHEMA_MISMATCH = "SCHEMA_MISMATCH"
    ISSUER_MISMATCH = "ISSUER_MISMATCH"
    ISSUER_NOT_FOUND = "ISSUER_NOT_FOUND"
    ISSUER_DEACTIVATED = "ISSUER_DEACTIVATED"
    ISSUER_KEY_UNKNOWN = "ISSUER_KEY_UNKNOWN"
    ISSUER_UNAVAILABLE = "ISSUER_UNAVAILABLE"
    ISSUER_HAS_MANY_KEYS = "ISSUER_HAS_MANY_KEYS"
    CREDENTIAL_REVOKED = "CREDENTIAL_REVOKED"
    CREDENTIAL_SUSPENDED = "CREDENTIAL_SUSPENDED"
    CREDENTIAL_EXPIRED = "CREDENTIAL_EXPIRED"
    CREDENTIAL_UNKNOWN = "CREDENTIAL_UNKNOWN"
    DELEGATION_REVOKED = "DELEGATION_REVOKED"
    DELEGATION_EXPIRED = "DELEGATION_EXPIRED"
    DELEGATION_SUSPENDED = "DELEGATION_SUSPENDED"
    DELEGATION_UNKNOWN = "DELEGATION_UNKNOWN"
    ANCHOR_FAILED = "ANCHOR_FAILED"
    ANCHOR_REVOKED = "ANCHOR_REVOKED"


@dataclass(frozen=True, slots=True)
class Check:
    """One check by name. ``ok`` None: it could not be made. ``code`` stands unless it is right."""

    name: str
    ok: bool | None
    code: CheckCode | None = None


def right(name: str) -> Check:
    """A check that came out well."""
    return Check(name, True)


def wrong(name: str, code: CheckCode) -> Check:
    """A check that did not."""
    return Check(name, False, code)


def undecided(name: str, code: CheckCode) -> Check:
    """A check that could not be made."""
    return Check(name, None, code)


@dataclass(frozen=True, slots=True)
class ProofQuestion:
    """What the verifier asked for; None: it has no expectation there. ``predicate`` is a whole ``ZKPredicate``, ``max_age`` how long
    ago the proof may have been made, by its own word."""

    predicate: Mapping[str, JsonValue] | None = None
    challenge: str | None = None
    domain: str | None = None
    issuer: str | None = None
    schema_id: str | None = None
    max_age: timedelta | None = None

    def __post_init__(self) -> None:
        """Raises ``InvalidRequest`` for a challenge that no proof can be bound to."""
        if self.challenge is not None and not MIN_NONCE_OCTETS <= len(self.challenge.encode()) <= MAX_NONCE_OCTETS:
            raise InvalidRequest(
                f"A challenge has {MIN_NONCE_OCTETS} to {MAX_NONCE_OCTETS} octets of UTF-8.",
                details={"member": "challenge"},
            )

    def compare(self, presented: PresentedProof, now: datetime) -> Iterator[Check]:
        """A check for each expectation that there is, at ``now`` (aware UTC)."""
        if self.predicate is not None:
            expected = Expectation(None, None, (self.predicate,), None, None, None, None)
            yield _agreed("predicate", _agrees(expected, presented), CheckCode.PREDICATE_MISMATCH)
        if self.challenge is not None:
            agrees = presented.context.nonce == self.challenge.encode()
            yield _agreed("challenge", agrees, CheckCode.CHALLENGE_MISMATCH)
        if self.domain is not None:
            yield _agreed("domain", presented.context.audience == self.domain, CheckCode.DOMAIN_MISMATCH)
        if self.issuer is not None:
            yield _agreed("issuer", issuer_of(presented) == self.issuer, CheckCode.ISSUER_MISMATCH)
        if self.schema_id is not None:
            yield _agreed("schema", presented.schema.id == self.schema_id, CheckCode.SCHEMA_MISMATCH)
        if self.max_age is not None:
            yield _agreed("age", now - presented.context.issued_at <= self.max_age, CheckCode.PROOF_TOO_OLD)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The names of what the verifier said nothing about, where a proof of another question, or for somebody else, passes; and of what
        no proof says."""
        asked = {
            "predicate": self.predicate,
            "challenge": self.challenge,
            "domain": self.domain,
            "issuerDid": self.issuer,
            "schemaId": self.schema_id,
            "maxAge": self.max_age,
        }
        return (*(name for name, value in asked.items() if value is None), *NEVER_PROVEN)


def issuer_of(presented: PresentedProof) -> str | None:
    """The DID of the verification method that a proof names, or None when that is no DID URL."""
    try:
        return str(controller_of(presented.verification_method))
    except InvalidDid:
        return None


def check_time(context: Context, now: datetime) -> Check:
    """Whether ``now`` (aware UTC) lies in the proof's time; expiry is strict."""
    if now >= context.expires_at:
        return wrong("time", CheckCode.PROOF_EXPIRED)
    if context.issued_at > now + CLOCK_SKEW:
        return wrong("time", CheckCode.PROOF_NOT_YET_VALID)
    return right("time")


def moment_within(context: Context, now: datetime) -> datetime:
    """The moment of the proof's time that is nearest to ``now``, so that its mathematics can be checked apart from its time."""
    return max(context.issued_at, min(now, context.expires_at - timedelta(seconds=1)))


@dataclass(frozen=True, slots=True)
class ProofVerification:
    """The whole outcome. ``presented`` is what the proof says of itself, None when it cannot be read; it is a claim unless
    ``verified``."""

    checks: tuple[Check, ...]
    presented: PresentedProof | None
    unchecked: tuple[str, ...]
    warnings: tuple[CheckCode, ...] = ()

    @property
    def verified(self) -> bool:
        """Whether every check was made and is right."""
        return bool(self.checks) and all(check.ok for check in self.checks)

    @property
    def errors(self) -> tuple[CheckCode, ...]:
        """The codes of the checks that are not right, each once."""
        return tuple(dict.fromkeys(check.code for check in self.checks if check.code is not None))


def _agreed(name: str, agrees: bool, code: CheckCode) -> Check:
    return right(name) if agrees else wrong(name, code)


def _agrees(expected: Expectation, presented: PresentedProof) -> bool:
    try:
        expected.compare(presented)
    except ProofInvalid:
        return False
    return True

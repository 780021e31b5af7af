"""A presentation: the question with keys, day and epochs, the holder's consent, and a verifier's rules of acceptance (PROTOCOL-2.md
§5, §7).

The statement contains a day, and the epoch of each status list. Both are the same for all provers at that time. A consent covers
fields of the verifier's own request, so the verifier computes the consented message itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import IntFlag
from typing import Final

from identity_verification.domain.verification import Expectation
from msgspec import Struct

from identity_bbs.frames import frame, number
from identity_bbs.holders import HolderConsent
from identity_bound_credentials.domain.bound_credential import Particulars
from identity_bound_credentials.domain.question import SUITE_2, HolderForm, Question
from identity_bound_credentials.domain.status_gaps import StatusEpoch
from identity_codec.strict_json import JsonValue
from identity_codec.values import Hidden, replace
from identity_core.domain.proofs.predicate import unsupported
from identity_core.domain.proofs.proof import CLOCK_SKEW, Context
from identity_core.errors import PredicateUnsupported, ProofInvalid

CONSENT_TAG: Final = b"IDENTITY-SERVICE-ZKPRED-V2:consent-message"
AGENT_TAG: Final = b"IDENTITY-SERVICE-ZKPRED-V2:agent"
DAY_SKEW: Final = timedelta(seconds=300)
"""How long around midnight the neighbouring day is taken too, and how long a proof may outlive its day."""
LAST_PROOF_DAY: Final = 65_534

_DAY: Final = timedelta(days=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR_SECONDS: Final = 3_600
_DAY_SECONDS: Final = 86_400
_MAX_SECONDS: Final = 253_402_300_800


def proof_day(moment: datetime) -> int:
    """Return the UTC day of a moment, in days since 1970-01-01."""
    return (moment - _EPOCH) // _DAY


class Cover(IntFlag):
    """The fields of a request that a consent covers."""

    AUDIENCE = 1
    CHALLENGE = 2
    QUESTION = 4
    AGENT = 8
    CAPABILITY = 16


REQUEST_COVER: Final = Cover.AUDIENCE | Cover.CHALLENGE | Cover.QUESTION
"""What a consent covers by default: one proof for one question of one verifier."""
DELEGATION_COVER: Final = Cover.QUESTION | Cover.AGENT
"""The least cover of a consent in advance: one question, asked with this agent key."""


class ConsentTerms(Struct, frozen=True):
    """The terms of a consent: the fields that it covers, and its begin and end in seconds since 1970.

    The times of a consent to one challenge are whole hours, and those of any other are whole UTC days. Finer times would make
    consents of one time linkable. Without challenge and agent key, any client with the consent could use it. Raises ``ValueError``.
    """

    cover: Cover
    not_before: int
    not_after: int

    def __post_init__(self) -> None:
        if not isinstance(self.cover, Cover) or not 0 <= self.cover < 2 * Cover.CAPABILITY:
            raise ValueError("cover is a set of five fields")
        if Cover.QUESTION not in self.cover or not self.cover & (Cover.CHALLENGE | Cover.AGENT):
            raise ValueError("a consent covers the question, and the challenge or the agent's key")
        step = _HOUR_SECONDS if Cover.CHALLENGE in self.cover else _DAY_SECONDS
        if not all(type(time) is int and time % step == 0 for time in (self.not_before, self.not_after)):
            raise ValueError("the times of a consent are whole hours, without a challenge whole days")
        if not 0 <= self.not_before < self.not_after < _MAX_SECONDS:
            raise ValueError("a consent ends after it begins")

    @classmethod
    def around(cls, now: datetime, lifetime: timedelta, cover: Cover = REQUEST_COVER) -> ConsentTerms:
        """Return terms from the last hour (or day) before ``now`` until the next one after ``lifetime``."""
        step = _HOUR_SECONDS if Cover.CHALLENGE in cover else _DAY_SECONDS
        begin, end = int(now.timestamp()), int((now + lifetime).timestamp())
        return cls(cover, begin - begin % step, end - end % step + step)

    def message(self, question: Question, context: Context, agent_key: bytes | None) -> bytes:
        """Return the message M, in which an uncovered field is empty. Raises ``ValueError``: when a covered field is missing.
        Equation (5.4)."""
        values: dict[Cover, bytes | None] = {
            Cover.AUDIENCE: context.audience.encode(),
            Cover.CHALLENGE: context.nonce,
            Cover.QUESTION: question.digest,
            Cover.AGENT: agent_key,
            Cover.CAPABILITY: context.capability,
        }
        covered = [value if field in self.cover else b"" for field, value in values.items()]
        fields = [field for field in covered if field is not None]
        if len(fields) != len(covered):
            raise ValueError("the consent covers a field that the context does not have")
        times = [number(self.not_before), number(self.not_after)]
        return frame(CONSENT_TAG, [SUITE_2.encode(), number(int(self.cover)), *fields, *times])

    def check_time(self, now: datetime) -> None:
        """Check that the time is within the consent's. Raises ``ProofInvalid``."""
        seconds = now.timestamp()
        if not self.not_before <= seconds + CLOCK_SKEW.total_seconds() or seconds >= self.not_after:
            raise ProofInvalid(details={"reason": "the holder's consent is not of this time"})


class StatusPart(Struct, frozen=True):
    """A status list at an epoch, and the 96 bytes of the key that its method names, resolved by the verifier."""

    epoch: StatusEpoch
    public_key: bytes


class PresentationStatement(Struct, frozen=True):
    """The question under resolved keys (96 bytes, one for each credential), on a day if the question is about validity, with one
    status list for each credential if it is about status. Raises ``PredicateUnsupported``."""

    question: Question
    keys: tuple[bytes, ...]
    day: int | None
    status: tuple[StatusPart, ...] = ()

    def __post_init__(self) -> None:
        question = self.question
        if len(self.keys) != len(question.credentials):
            raise unsupported("there is not one key for each credential")
        if (self.day is None) == question.validity or not 1 <= (1 if self.day is None else self.day) <= LAST_PROOF_DAY:
            raise unsupported("a day stands in the statement exactly if validity is asked")
        if len(self.status) != (len(question.credentials) if question.status else 0):
            raise unsupported("there is one status list for each credential exactly if status is asked")
        for credential, part in zip(question.credentials, self.status, strict=False):
            reference, epoch = credential.header.status, part.epoch
            named = None if reference is None else (credential.header.issuer, reference.list_id, reference.period)
            if named != (epoch.issuer, epoch.list_id, epoch.period):
                raise unsupported("the status list is not the one that the credential names")


class PresentationContext(Struct, frozen=True):
    """The context of a presentation. Raises ``ValueError``.

    - ``context``: as in suite 1.
    - ``agent_key``: 32 bytes of Ed25519, of the agent that hands the proof over and signs for it.
    - ``consent``: set if the holder consents.
    """

    context: Context
    agent_key: bytes | None = None
    consent: ConsentTerms | None = None

    def __post_init__(self) -> None:
        if self.agent_key is not None and len(self.agent_key) != 32:
            raise ValueError("an agent's key has 32 bytes")

    def agent_message(self, envelope_digest: bytes) -> bytes:
        """Return the bytes that the agent signs at the hand-over. The digest is that of the envelope without the signature."""
        return frame(AGENT_TAG, [self.context.audience.encode(), self.context.nonce, envelope_digest])


class BoundWitness(Hidden, Struct, frozen=True):
    """A credential of suite 2: the issuer's 80 bytes, its values as JSON, its particulars; ``opening`` are s and b if the prover
    has them."""

    signature: bytes
    attributes: Mapping[str, JsonValue]
    particulars: Particulars
    opening: tuple[int, int] | None = None


class GapWitness(Hidden, Struct, frozen=True):
    """The gap of a status list that a handle lies in, with its 80-byte signature."""

    low: int
    high: int
    signature: bytes


class Agreement(Hidden, Struct, frozen=True):
    """A consent with its terms, as a wallet sends it; ``agent_key``: 32 bytes of Ed25519 if it covers one."""

    terms: ConsentTerms
    consent: HolderConsent
    agent_key: bytes | None = None


class PresentationWitness(Hidden, Struct, frozen=True):
    """The secrets of a prover: for each credential of the question the credential, and a gap if the question is about status. Also
    the consent if the holder consents."""

    credentials: tuple[BoundWitness, ...]
    gaps: tuple[GapWitness, ...] = ()
    consent: HolderConsent | None = None


class Acceptance(Struct, frozen=True):
    """The rules of a verifier at ``now``: the greatest age of an ended epoch of a status list, and the required cover of a consent."""

    now: datetime
    status_max_age: timedelta = timedelta(hours=1)
    cover: Cover = REQUEST_COVER

    def check(self, statement: PresentationStatement, bound: PresentationContext) -> None:
        """Check time, day, epochs and cover of a proof. Raises ``ProofInvalid``."""
        bound.context.check_time(self.now)
        try:
            check_expiry(statement.day, bound.context)
        except PredicateUnsupported as fault:
            raise ProofInvalid(details=fault.details) from None
        days = {proof_day(self.now - DAY_SKEW), proof_day(self.now + DAY_SKEW)}
        if statement.day is not None and statement.day not in days:
            raise ProofInvalid(details={"reason": "the proof says that the credentials were valid on another day"})
        if not all(part.epoch.is_acceptable(self.now, self.status_max_age) for part in statement.status):
            raise ProofInvalid(details={"reason": "the status list is of another time"})
        if statement.question.consented != (bound.consent is not None):
            raise ProofInvalid(details={"reason": "the holder's consent is missing, or was not asked for"})
        if bound.consent is not None:
            bound.consent.check_time(self.now)
            if self.cover & bound.consent.cover != self.cover:
                raise ProofInvalid(details={"reason": "the holder's consent does not cover what it must"})


def check_consent(consent: HolderConsent, commitments: Sequence[bytes], message: bytes, pseudonym: str | None) -> None:
    """Verify that the holder of the credentials with these commitments K consented to ``message``. Raises ``PredicateUnsupported``."""
    # The curve backends are slow to load, and most processes of the command line never need them.
    from identity_bbs.bls12381 import select
    from identity_bbs.consent import ConsentInvalid, check_agreed
    from identity_bbs.suite import ciphersuite

    try:
        check_agreed(ciphersuite(select()), consent.encoded, consent.rhos, commitments, message, pseudonym)
    except ConsentInvalid:
        raise unsupported("the holder's consent is not to this request, or not for these credentials") from None


def acceptance_of(expectation: Expectation, now: datetime) -> Acceptance:
    """Return how a proof is accepted at ``now`` (aware UTC), by its mathematics alone. ``Expectation.checks`` decides about an
    older list and a stated cover."""
    usual = Acceptance(now, cover=REQUEST_COVER if expectation.consent_cover is None else Cover(0))
    age = expectation.status_max_age
    return usual if age is None else replace(usual, status_max_age=max(age, usual.status_max_age))


def last_expiry(day: int) -> datetime:
    """Return the latest time at which a proof that credentials are valid on this day expires."""
    return _EPOCH + (day + 1) * _DAY + DAY_SKEW


def check_expiry(day: int | None, context: Context) -> None:
    """Require that a proof expires with its day. Raises ``PredicateUnsupported``."""
    if day is not None and context.expires_at > last_expiry(day):
        raise unsupported("a proof that says that credentials are valid ends with its day")


def unchecked(question: Question) -> tuple[str, ...]:
    """Return the names of the checks that the question does not request, so that a verdict does not cover them."""
    names = {
        "holder": question.holder is not HolderForm.NONE,
        "credentialValidity": question.validity,
        "credentialStatus": question.status,
    }
    return (*(name for name, asked in names.items() if not asked), "revocation")

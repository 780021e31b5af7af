"""The cases of the kit of presenting provers: an issuer of suite 2, its status list, and the keeper of a holder's secret."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Final

from identity_bound_credentials.domain.bound_credential import (
    BoundHeader,
    Particulars,
    SecretKeeper,
    StatusListReference,
)
from identity_bound_credentials.domain.presentation import (
    BoundWitness,
    ConsentTerms,
    GapWitness,
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
    StatusPart,
    proof_day,
)
from identity_bound_credentials.domain.question import AskedCredential, Question
from identity_bound_credentials.domain.status_gaps import StatusEpoch, chain, epoch_at, place
from msgspec import Struct

from identity_bbs import blind, interface
from identity_bbs.blind import IssueRequest
from identity_bbs.bls12381 import keys, select
from identity_bbs.consent import consent
from identity_bbs.encoding import mixed_messages_to_scalars, signature_to_octets
from identity_bbs.holders import HolderConsent
from identity_bbs.openings import HolderSecret
from identity_bbs.suite import ciphersuite
from identity_codec.deprecation import OldName
from identity_codec.strict_json import JsonValue
from identity_codec.values import Hidden, replace
from identity_core.domain.proofs.asked import parse_asked
from identity_kit.conformance.prover_cases import HANA, NOW, SCHEMA, context

SUBJECT: Final = "did:example:hana"
HANDLE: Final = 3_000_000_000
REVOKED: Final = (1_000, 2_500_000_000, 4_000_000_000)
DAY: Final = timedelta(days=1)
LIST: Final = StatusListReference("KitListOfTwentyTwoChar", 86_400)
TERMS: Final = ConsentTerms.around(NOW, timedelta(hours=1))


class BoundIssuer(Hidden, Struct, frozen=True):
    """An issuer of credentials of suite 2, which signs the status list. ``seed`` makes different keys."""

    seed: str = "issuer"

    @property
    def method(self) -> str:
        """Return the verification method of its key."""
        return f"did:example:{self.seed}#bbs"

    @property
    def public_key(self) -> bytes:
        """Return its 96 bytes."""
        return keys.public_key(self._secret)

    @property
    def header(self) -> BoundHeader:
        """Return the header of its credentials."""
        return BoundHeader(SCHEMA, self.method, LIST, SecretKeeper.CUSTODIAN, bytes(32))

    @property
    def epoch(self) -> StatusEpoch:
        """Return the epoch of ``NOW``."""
        issuer = self.method.partition("#")[0]
        return StatusEpoch(issuer, self.method, LIST.list_id, epoch_at(NOW, LIST.period), LIST.period)

    def gap(self, handle: int = HANDLE, epoch: StatusEpoch | None = None) -> GapWitness:
        """Return the signed gap that a handle lies in."""
        ends = chain(REVOKED)
        at = place(ends, handle)
        low, high = ends[at], ends[at + 1]
        header = (epoch or self.epoch).header
        suite = ciphersuite(select())
        return GapWitness(low, high, interface.sign(suite, self._secret, self.public_key, header, (low, high)))

    def issue(self, holder: HolderOfSecret, particulars: Particulars | None = None) -> BoundWitness:
        """Return a credential of ``HANA``'s values, bound to the holder's secret."""
        suite, about = ciphersuite(select()), particulars or particulars_of()
        request = IssueRequest(self.method, self.header.encoded, about.subject, b"n" * 32)
        commitment = blind.commit_to(suite, holder.secret, holder.blind, request, os.urandom)
        known = mixed_messages_to_scalars(self.header.known_messages(HANA, about))
        secret, public = self._secret, self.public_key
        signature = blind.blind_sign(suite, secret, public, self.header.encoded, known, commitment, request)
        return BoundWitness(signature_to_octets(suite, signature), HANA, about)

    @property
    def _secret(self) -> bytes:
        return keys.generate_secret(self.seed.encode().ljust(32, b"."))


class HolderOfSecret(Hidden, Struct, frozen=True):
    """The keeper of one secret, with one blind for the one credential."""

    seed: str = "hana"

    @property
    def secret(self) -> HolderSecret:
        """Return the secret s."""
        return HolderSecret.derived(ciphersuite(select()), self.seed.encode().ljust(32, b"."))

    @property
    def blind(self) -> int:
        """Return the blind b."""
        return blind.derived_blind(f"the blind of {self.seed}".encode().ljust(32, b"."))

    def agrees(self, question: Question, bound: PresentationContext) -> HolderConsent:
        """Return the consent to this question for this verifier."""
        message = TERMS.message(question, bound.context, None)
        data, rhos = consent(ciphersuite(select()), self.secret, [self.blind], message, os.urandom)
        return HolderConsent(data, rhos)


def particulars_of(
    first: datetime = NOW - 100 * DAY, last: datetime = NOW + 100 * DAY, handle: int = HANDLE
) -> Particulars:
    """Return the particulars of a credential that is valid on both days and all between."""
    begins, ends = (moment.astimezone(UTC).replace(hour=0, minute=0, second=0) for moment in (first, last + DAY))
    return Particulars("urn:uuid:1b671a64-40d5-491e-99b0-da01ff1f3341", SUBJECT, begins, ends, handle)


class BoundCase(Struct, frozen=True):
    """All data of one presentation. A test changes the part under test."""

    issuer: BoundIssuer
    holder: HolderOfSecret
    question: Question
    statement: PresentationStatement
    bound: PresentationContext
    credential: BoundWitness

    @classmethod
    def build(cls, *predicates: tuple[str, str, JsonValue], particulars: Particulars | None = None) -> BoundCase:
        """Return a case about Hana's credential of the issuer: these (attribute, type, value), and its validity and status."""
        issuer, holder = BoundIssuer(), HolderOfSecret()
        members = [{"attributeName": name, "type": kind, "value": value} for name, kind, value in predicates]
        asked = tuple(parse_asked(SCHEMA, member) for member in members)
        question = Question((AskedCredential(issuer.header, asked),), status=True)
        status = (StatusPart(issuer.epoch, issuer.public_key),)
        statement = PresentationStatement(question, (issuer.public_key,), proof_day(NOW), status)
        bound = PresentationContext(context(), None, TERMS)
        return cls(issuer, holder, question, statement, bound, issuer.issue(holder, particulars))

    of = OldName("BoundCase.of", build)

    @property
    def witness(self) -> PresentationWitness:
        """Return the witness for the prover, with a current consent."""
        gap = self.issuer.gap()
        return PresentationWitness((self.credential,), (gap,), self.holder.agrees(self.question, self.bound))

    def changed(self, **members: object) -> PresentationWitness:
        """Return the witness with other members."""
        return replace(self.witness, **members)  # type: ignore[arg-type]

"""Credentials of suite 2 and everybody around them: Ivo issues, Hana's keeper has her secret, a list that revokes, proofs and verdicts."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from identity_bound_credentials.domain.bound_credential import (
    BoundHeader,
    Particulars,
    SecretKeeper,
    StatusListReference,
)
from identity_bound_credentials.domain.presentation import (
    Acceptance,
    BoundWitness,
    ConsentTerms,
    GapWitness,
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
    StatusPart,
    proof_day,
)
from identity_bound_credentials.domain.question import AskedCredential, HolderForm, Question
from identity_bound_credentials.domain.status_gaps import StatusEpoch, chain, epoch_at, place
from identity_kit.conformance.prover_cases import HANA, SCHEMA
from identity_prover_bbs.suite2 import PresentationProver, PresentationVerifier

from identity_bbs import blind, consent, core
from identity_bbs.bls12381 import Curve, keys, select
from identity_bbs.encoding import mixed_messages_to_scalars, octets_to_public_key, signature_to_octets
from identity_bbs.holders import HolderConsent
from identity_bbs.openings import HolderSecret
from identity_bbs.suite import ciphersuite
from identity_codec.values import replace
from identity_core.domain.proofs.asked import parse_asked
from identity_core.domain.proofs.proof import Context
from identity_core.errors import ProofInvalid

NOW = datetime(2026, 11, 23, 12, 0, 30, tzinfo=UTC)
DAY = proof_day(NOW)
IVO = "did:ids:ivo"
HANA_DID = "did:ids:hana"
LIST = StatusListReference("AbCdEfGhIjKlMnOpQrStUv", 86_400)
REVOKED = (1_000, 2_500_000_000, 4_000_000_000)
HANDLE = 3_000_000_000
NONCE = b"a nonce of the verifier, 31 octets"
AUDIENCE = "https://shop.example"
CURVE = select()


def seeded(seed: int = 0):
    """A source in place of the operating system's."""
    return random.Random(seed).randbytes


@dataclass(frozen=True)
class Issuer:
    """An issuer with one key, which also signs its status list."""

    did: str = IVO
    seed: str = "ivo"
    curve: Curve = CURVE

    @property
    def secret(self) -> bytes:
        return keys.generate_secret(self.seed.encode().ljust(32, b"."))

    @property
    def public(self) -> bytes:
        return keys.public_key(self.secret)

    @property
    def method(self) -> str:
        return f"{self.did}#bbs"

    def header(self, schema=SCHEMA, *, status=LIST, keeper=SecretKeeper.WALLET) -> BoundHeader:
        return BoundHeader(schema, self.method, status, keeper, bytes(32))

    def sign(self, header: bytes, messages) -> bytes:
        """The signature on any scalars at all, as an issuer that cheats may make it too."""
        suite = ciphersuite(self.curve)
        key = octets_to_public_key(suite, self.public)
        signature = core.core_sign(suite, keys.secret_scalar(self.secret), key, header, messages)
        return signature_to_octets(suite, signature)

    def gap(self, handle: int, *, epoch: StatusEpoch | None = None, revoked=REVOKED) -> GapWitness:
        ends = chain(revoked)
        low, high = ends[(at := place(ends, handle))], ends[at + 1]
        return GapWitness(low, high, self.sign((epoch or self.epoch()).header, (low, high)))

    def epoch(self, now: datetime = NOW, **changes) -> StatusEpoch:
        return replace(
            StatusEpoch(self.did, self.method, LIST.list_id, epoch_at(now, LIST.period), LIST.period), **changes
        )


@dataclass(frozen=True)
class Held:
    """A credential as the one who proves has it, and the blind that its keeper has."""

    header: BoundHeader
    witness: BoundWitness
    commitment: bytes
    blind: int


@dataclass(frozen=True)
class Holder:
    """The keeper of a holder's secret."""

    seed: str = "hana"
    did: str = HANA_DID
    curve: Curve = CURVE

    @property
    def secret(self) -> HolderSecret:
        return HolderSecret.derived(ciphersuite(self.curve), self.seed.encode().ljust(32, b"."))

    def obtain(
        self, issuer: Issuer, *, header=None, values=HANA, handle=HANDLE, particulars=None, nonce=b"n" * 32
    ) -> Held:
        """Blind issue, both sides."""
        suite = ciphersuite(self.curve)
        header = issuer.header() if header is None else header
        particulars = particulars or about(self.did, handle=handle if header.status else 0)
        request = blind.IssueRequest(header.method, header.encoded, self.did, nonce)
        data, own_blind = blind.commit(suite, self.secret, request, seeded(len(self.seed) + handle % 97))
        known = mixed_messages_to_scalars(header.known_messages(values, particulars))
        signature = blind.blind_sign(suite, issuer.secret, issuer.public, header.encoded, known, data, request)
        point = blind.check_commitment(suite, data, request).point_octets
        blind.verify_blind(suite, issuer.public, header.encoded, known, point, signature)
        witness = BoundWitness(signature_to_octets(suite, signature), values, particulars)
        return Held(header, witness, data, own_blind)

    def consents(self, question: Question, held, context: Context, terms: ConsentTerms, agent_key=None, seed=5):
        message = terms.message(question, context, agent_key)
        data, rhos = consent.consent(
            ciphersuite(self.curve),
            self.secret,
            [one.blind for one in held],
            message,
            seeded(seed),
            question.pseudonym,
        )
        return HolderConsent(data, rhos)


def about(subject=HANA_DID, *, first=DAY - 100, last=DAY + 265, handle=HANDLE) -> Particulars:
    """Valid on both days and all between."""
    start = datetime(1970, 1, 1, tzinfo=UTC)
    return Particulars("urn:uuid:0", subject, start + timedelta(days=first), start + timedelta(days=last + 1), handle)


def ask(*credentials, **options) -> Question:
    """A question: (header, predicate, …) for each credential, predicates as (attribute, type, value)."""
    asked = []
    for header, *predicates in credentials:
        members = [{"attributeName": name, "type": kind, "value": value} for name, kind, value in predicates]
        asked.append(AskedCredential(header, tuple(parse_asked(header.schema, member) for member in members)))
    return Question(tuple(asked), **options)


def context(**changes) -> Context:
    return replace(
        Context(AUDIENCE, NONCE, NOW - timedelta(seconds=30), NOW + timedelta(minutes=9), "proof-1", None, None),
        **changes,
    )


@dataclass
class Scene:
    """One question to one holder; what a test changes it changes before ``prove`` or ``verdict``."""

    question: Question
    held: tuple[Held, ...]
    holder: Holder = field(default_factory=Holder)
    issuers: tuple[Issuer, ...] = (Issuer(),)
    curve: Curve = CURVE
    now: datetime = NOW
    seed: int = 1
    agent_key: bytes | None = None
    terms: ConsentTerms | None = None
    context: Context = field(default_factory=context)

    def __post_init__(self) -> None:
        if self.question.consented and self.terms is None:
            self.terms = ConsentTerms.around(self.now, timedelta(hours=1))

    @property
    def keys(self) -> dict[str, bytes]:
        return {issuer.method: issuer.public for issuer in self.issuers}

    @property
    def statement(self) -> PresentationStatement:
        question = self.question
        status = ()
        if question.status:
            status = tuple(
                StatusPart(self.issuer_of(one).epoch(self.now), self.keys[one.header.method])
                for one in question.credentials
            )
        own = tuple(self.keys[one.header.method] for one in question.credentials)
        return PresentationStatement(question, own, proof_day(self.now) if question.validity else None, status)

    def issuer_of(self, one) -> Issuer:
        return next(issuer for issuer in self.issuers if issuer.method == one.header.method)

    @property
    def bound(self) -> PresentationContext:
        return PresentationContext(self.context, self.agent_key, self.terms)

    @property
    def witness(self) -> PresentationWitness:
        question = self.question
        agreed = None
        credentials = tuple(one.witness for one in self.held)
        if question.consented:
            agreed = self.holder.consents(question, self.held, self.context, self.terms, self.agent_key)
        else:
            secret = self.holder.secret.scalar
            credentials = tuple(replace(one.witness, opening=(secret, one.blind)) for one in self.held)
        gaps = ()
        if question.status:
            gaps = tuple(
                self.issuer_of(asked).gap(one.witness.particulars.handle, epoch=self.issuer_of(asked).epoch(self.now))
                for asked, one in zip(question.credentials, self.held, strict=True)
            )
        return PresentationWitness(credentials, gaps, agreed)

    def prove(self, **changes) -> str:
        prover = PresentationProver(self.curve, seeded(self.seed))
        return prover.prove(self.statement, replace(self.witness, **changes), self.bound)

    def accept(self, text: str, **changes):
        expected = {
            "audience": AUDIENCE,
            "nonce": NONCE,
            "acceptance": Acceptance(self.now),
            "agent_key": self.agent_key,
        } | changes
        question = expected.pop("question", self.question)
        return PresentationVerifier(self.curve).accept(text, question, expected.pop("keys", self.keys), **expected)

    def verdict(self, text: str, **changes):
        """True, or the reason of the refusal; anything else is raised."""
        try:
            self.accept(text, **changes)
        except ProofInvalid as refused:
            return refused.details.get("reason", str(refused))
        return True


def target(**options) -> Scene:
    """The question of most tests: bound, valid now, not revoked, one 64-bit interval."""
    header = Issuer().header()
    interval = (("balance", "gt", "-9223372036854775808"), ("balance", "lt", "9223372036854775807"))
    question = ask((header, *interval), **({"status": True} | options))
    return Scene(question, (Holder().obtain(Issuer(), header=header),))


PLAIN = HolderForm.PLAIN

"""Statements, witnesses, contexts and proofs.

A ``Statement`` is the verifier's question, a ``Witness`` the holder's secret. A ``Context`` binds a proof to one verifier, nonce
and time. The proof's challenge covers all of them (PROTOCOL.md §6).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from identity_codec import jcs
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.strict_json import JsonValue
from identity_codec.values import Hidden
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.predicate import Predicate
from identity_core.errors import InternalError, ProofInvalid

MIN_NONCE_OCTETS = 16
MAX_NONCE_OCTETS = 256
MAX_TEXT = 512
MAX_METHOD = 1024
MAX_ENVELOPE_CHARACTERS = 131_072
"""The maximum length of ``ZkProof.proof`` for provers and verifiers, over HTTP and otherwise."""
CLOCK_SKEW = timedelta(seconds=60)
"""The time by which a proof's ``issued_at`` may be ahead of the verifier's clock. Expiry has no tolerance."""
_TIMES = {"issuedAt", "expiresAt"}
_REQUIRED = {"audience", "nonce", "proofId"} | _TIMES
_OPTIONAL = {"agent", "capability"}
_CAPABILITY_TAG = b"IDENTITY-SERVICE-CAPABILITY-V1:"


class WitnessInvalid(InternalError):
    """Error: the credential's signature is not that of the statement's issuer on these values. Credentials are verified when they are
    recorded, so this is a fault of the service and not of the caller."""


class IssuerKey(Struct, frozen=True):
    """The key of an assertion method, which the verifier resolves and never reads from a proof. ``public_key`` has 96 bytes."""

    verification_method: str
    public_key: bytes

    def __post_init__(self) -> None:
        if not 1 <= len(self.verification_method) <= MAX_METHOD or not self.verification_method.isprintable():
            raise ValueError(f"a verification method is 1 to {MAX_METHOD} printable characters")


class Statement(Struct, frozen=True):
    """The statement that a credential of this schema, signed by this issuer, satisfies all predicates."""

    issuer: IssuerKey
    schema: Schema
    predicates: tuple[Predicate, ...]


class Witness(Hidden, Struct, frozen=True):
    """The credential: its 80-byte BBS signature and all its attribute values as JSON (null for one without a value)."""

    signature: bytes
    attributes: Mapping[str, JsonValue]


def capability_digest(nonce: bytes, token: bytes) -> bytes:
    """Return the digest that binds a proof to the capability token of its request. It is salted with the verifier's nonce: a
    holder of the token recognises it, and others cannot link two proofs by it."""
    return hashlib.sha256(_CAPABILITY_TAG + len(nonce).to_bytes(8, "big") + nonce + token).digest()


class Context(Struct, frozen=True):
    """The verifier and the time for which a proof is made. Every field is explicit; None means that there is none.

    ``nonce`` is the verifier's, 16 to 256 bytes; ``capability`` is ``capability_digest`` or None. ``agent`` is a DID, only set
    if the verifier requests it, because it links all proofs of one agent. Times are whole seconds, aware UTC.
    """

    audience: str
    nonce: bytes
    issued_at: datetime
    expires_at: datetime
    proof_id: str
    capability: bytes | None
    agent: str | None

    def __post_init__(self) -> None:
        for text in (self.audience, self.proof_id, *(() if self.agent is None else (self.agent,))):
            if not 1 <= len(text) <= MAX_TEXT or not text.isprintable():
                raise ValueError(f"audience, proof id and agent are 1 to {MAX_TEXT} printable characters")
        if not MIN_NONCE_OCTETS <= len(self.nonce) <= MAX_NONCE_OCTETS:
            raise ValueError(f"a nonce has {MIN_NONCE_OCTETS} to {MAX_NONCE_OCTETS} bytes")
        if self.capability is not None and len(self.capability) != 32:
            raise ValueError("a capability digest has 32 bytes")
        for time in (self.issued_at, self.expires_at):
            if time.tzinfo is None or time.microsecond:
                raise ValueError("the times of a context are aware and in whole seconds")
        if self.issued_at >= self.expires_at:
            raise ValueError("a proof expires after it is issued")

    @property
    def json(self) -> dict[str, JsonValue]:
        """Return the canonical JSON form: times are seconds since 1970, bytes are base64url, fields that are None are omitted."""
        value: dict[str, JsonValue] = {
            "audience": self.audience,
            "expiresAt": int(self.expires_at.timestamp()),
            "issuedAt": int(self.issued_at.timestamp()),
            "nonce": base64url_encode(self.nonce),
            "proofId": self.proof_id,
        }
        if self.capability is not None:
            value["capability"] = base64url_encode(self.capability)
        if self.agent is not None:
            value["agent"] = self.agent
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, JsonValue]) -> Context:
        """Return the context of its JSON form; check members and types. Raises ``ValueError``."""
        if not _REQUIRED <= value.keys() <= _REQUIRED | _OPTIONAL:
            raise ValueError("a context has five members, and perhaps agent and capability")
        texts = {name: text for name, text in value.items() if isinstance(text, str)}
        if texts.keys() != value.keys() - _TIMES:
            raise ValueError("the members of a context are strings and two times")
        capability = texts.get("capability")
        return cls(
            texts["audience"],
            base64url_decode(texts["nonce"]),
            _time(value["issuedAt"]),
            _time(value["expiresAt"]),
            texts["proofId"],
            None if capability is None else base64url_decode(capability),
            texts.get("agent"),
        )

    def check_time(self, now: datetime) -> None:
        """Check the validity. Raises ``ProofInvalid``: when ``now`` is outside of it. The end has no tolerance."""
        if now >= self.expires_at:
            raise ProofInvalid(details={"reason": "the proof has expired"})
        if self.issued_at > now + CLOCK_SKEW:
            raise ProofInvalid(details={"reason": "the proof is not valid yet"})


def _time(seconds: JsonValue) -> datetime:
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 <= seconds < 253_402_300_800:
        raise ValueError("a time is a count of seconds since 1970")
    return datetime.fromtimestamp(seconds, UTC)


class ZkProof(Struct, frozen=True):
    """The ``ZKProof`` of the OpenAPI document. ``proof`` is base64url of the canonical envelope."""

    proof: str
    public_signals: tuple[str, ...]
    predicate_type: str
    proof_id: str


class PresentedProof(Struct, frozen=True):
    """The content of a proof. It is unverified until ``Prover.verify`` has accepted exactly this content, with a key from another
    source."""

    verification_method: str
    schema: Schema
    predicates: tuple[Predicate, ...]
    context: Context

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the DID URLs of all required keys: that of the issuer."""
        return (self.verification_method,)

    @property
    def proven(self) -> frozenset[str]:
        """Return the facts about holder and status that the proof itself contains: none."""
        return frozenset()

    def statement(self, public_key: bytes) -> Statement:
        """Return the statement to verify, under a key that the verifier resolved."""
        return Statement(IssuerKey(self.verification_method, public_key), self.schema, self.predicates)


def public_signals(suite: str, statement: Statement, context: Context) -> tuple[str, ...]:
    """Return the public signals: suite, verification method, schema id, then attribute name, type and JCS of the value of each
    predicate, then base64url SHA-256 of the JCS of the context and of the signed header."""
    signals = [suite, statement.issuer.verification_method, statement.schema.id]
    for predicate in statement.predicates:
        signals += [predicate.attribute, predicate.type.value, jcs.canonicalize(predicate.value).decode()]
    context_digest = hashlib.sha256(jcs.canonicalize(context.json)).digest()
    header_digest = hashlib.sha256(statement.schema.header).digest()
    return (*signals, base64url_encode(context_digest), base64url_encode(header_digest))

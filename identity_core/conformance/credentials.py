"""Credentials for the prover kit: a schema with every attribute type, its issuer, two holders, a verifier's context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from identity_core.crypto.bbs import core
from identity_core.crypto.bbs.octets import (
    mixed_messages_to_scalars,
    octets_to_public_key,
    signature_to_octets,
)
from identity_core.crypto.bbs.suite import ciphersuite
from identity_core.crypto.bls12381 import Curve, keys, select
from identity_core.domain.attributes import Attribute, AttributeType
from identity_core.domain.predicate import Predicate
from identity_core.domain.proof import Context, IssuerKey, Statement, Witness, capability_digest
from identity_core.domain.schema import Message, Schema
from identity_core.errors import JsonValue

SCHEMA = Schema(
    "https://schemas.example/resident/1",
    (
        Attribute("name", AttributeType.STRING),
        Attribute("country", AttributeType.STRING),
        Attribute("resident", AttributeType.BOOLEAN),
        Attribute("balance", AttributeType.INTEGER),
        Attribute("score", AttributeType.INTEGER, low=0, high=255),
        Attribute("height", AttributeType.DECIMAL, scale=2),
        Attribute("birthDate", AttributeType.DATE),
        Attribute("lastSeen", AttributeType.DATETIME),
        Attribute("debt", AttributeType.INTEGER),
    ),
)
HANA: Mapping[str, JsonValue] = {
    "name": "Hana Mori-Castellanos",
    "country": "JP",
    "resident": True,
    "balance": 7_318_204_915_663,
    "score": 211,
    "height": "168.25",
    "birthDate": "1969-04-01",
    "lastSeen": "2026-01-02T03:04:05.678901Z",
    "debt": None,
}
IVO: Mapping[str, JsonValue] = {
    "name": "Ivo Brandt-Olivera",
    "country": "DE",
    "resident": False,
    "balance": -88_104_277_310_951,
    "score": 4,
    "height": "191.50",
    "birthDate": "1991-12-24",
    "lastSeen": "2025-07-08T09:10:11.121314Z",
    "debt": 12,
}
ISSUED = datetime(2026, 1, 2, tzinfo=UTC)
NOW = ISSUED + timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class BbsIssuer:
    """Signs credentials as any issuer of this service does. ``seed`` makes different keys."""

    seed: str = "issuer"
    curve: Curve = field(default_factory=select)

    @property
    def key(self) -> IssuerKey:
        """The public key and its verification method."""
        return IssuerKey(f"did:example:{self.seed}#bbs", keys.public_key(self._secret))

    def credential(self, schema: Schema, values: Mapping[str, JsonValue]) -> Witness:
        """A credential of these values."""
        return Witness(self.sign(schema, schema.messages(values)), values)

    def sign(self, schema: Schema, messages: tuple[Message, ...]) -> bytes:
        """The signature of any messages at all, as an issuer that cheats may make it too."""
        suite = ciphersuite(self.curve)
        key = octets_to_public_key(suite, self.key.public_key)
        scalars = mixed_messages_to_scalars(messages)
        secret = keys.secret_scalar(self._secret)
        return signature_to_octets(suite, core.core_sign(suite, secret, key, schema.header, scalars))

    @property
    def _secret(self) -> bytes:
        return keys.generate_secret(self.seed.encode().ljust(32, b"."))


def statement(key: IssuerKey, *predicates: tuple[str, str, JsonValue], schema: Schema = SCHEMA) -> Statement:
    """The statement that these (attribute, type, value) hold."""
    return Statement(key, schema, tuple(Predicate.parse(schema, *predicate) for predicate in predicates))


def context(proof_id: str = "proof-1") -> Context:
    """A context as the service makes it for an agent's proof."""
    nonce = b"kit nonce of 16 and more octets"
    return Context(
        "https://verifier.example",
        nonce,
        ISSUED,
        ISSUED + timedelta(minutes=10),
        proof_id,
        capability_digest(nonce, b"a capability token"),
        None,
    )

"""The cases of the prover kit: a schema with every attribute type, its issuer, two holders, a verifier's context, and predicates
that hold, fail or are invalid. Also the search of a proof for values that it must not contain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct, field

from identity_bbs import interface
from identity_bbs.bls12381 import Curve, keys, select
from identity_bbs.suite import ciphersuite
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.strict_json import JsonValue
from identity_codec.values import Hidden
from identity_core.domain.credentials.attributes import Attribute, AttributeType
from identity_core.domain.credentials.schema import Message, Schema
from identity_core.domain.proofs.predicate import Predicate
from identity_core.domain.proofs.proof import Context, IssuerKey, Statement, Witness, ZkProof, capability_digest

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


class BbsIssuer(Hidden, Struct, frozen=True):
    """An issuer, which signs credentials as any issuer of this service does. ``seed`` makes different keys."""

    seed: str = "issuer"
    curve: Curve = field(default_factory=select)

    @property
    def key(self) -> IssuerKey:
        """Return the public key and its verification method."""
        return IssuerKey(f"did:example:{self.seed}#bbs", keys.public_key(self._secret))

    def credential(self, schema: Schema, values: Mapping[str, JsonValue]) -> Witness:
        """Return a credential of these values."""
        return Witness(self.sign(schema, schema.messages(values)), values)

    def sign(self, schema: Schema, messages: tuple[Message, ...]) -> bytes:
        """Return the signature of any messages, as a malicious issuer can make it."""
        suite, public = ciphersuite(self.curve), self.key.public_key
        return interface.sign(suite, self._secret, public, schema.header, messages)

    @property
    def _secret(self) -> bytes:
        return keys.generate_secret(self.seed.encode().ljust(32, b"."))


def statement(key: IssuerKey, *predicates: tuple[str, str, JsonValue], schema: Schema = SCHEMA) -> Statement:
    """Return the statement that these (attribute, type, value) hold."""
    return Statement(key, schema, tuple(Predicate.parse(schema, *predicate) for predicate in predicates))


def context(proof_id: str = "proof-1") -> Context:
    """Return a context as the service makes it for an agent's proof."""
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


Asked = tuple[str, str, JsonValue]

HOLDS: tuple[Asked, ...] = (
    ("balance", "gte", 7_318_204_915_663),
    ("balance", "gt", 7_318_204_915_662),
    ("balance", "lte", 7_318_204_915_663),
    ("balance", "lt", "9223372036854775807"),
    ("balance", "eq", 7_318_204_915_663),
    ("score", "gte", 1),
    ("score", "set_member", [210, 211, 3]),
    ("height", "lte", "168.25"),
    ("height", "eq", "168.25"),
    ("birthDate", "lt", "2008-01-02"),
    ("birthDate", "set_member", ["1969-04-01", "1900-01-01"]),
    ("lastSeen", "gte", "2026-01-01T00:00:00Z"),
    ("country", "set_member", ["DE", "JP", "ES"]),
    ("country", "eq", "JP"),
    ("resident", "eq", True),
)
FAILS: tuple[Asked, ...] = (
    ("balance", "gte", 7_318_204_915_664),
    ("balance", "gt", 7_318_204_915_663),
    ("balance", "lte", 7_318_204_915_662),
    ("balance", "lt", 7_318_204_915_663),
    ("balance", "eq", 7_318_204_915_664),
    ("score", "set_member", [210, 212]),
    ("country", "set_member", ["DE", "jp"]),
    ("country", "eq", "JPN"),
    ("resident", "eq", False),
    ("debt", "gte", 0),
    ("debt", "lte", 0),
    ("debt", "eq", 0),
    ("debt", "set_member", [0, 1]),
)
UNSUPPORTED: tuple[Asked, ...] = (
    ("nonesuch", "gte", 1),
    ("balance", "between", 1),
    ("name", "gte", "A"),
    ("resident", "gte", True),
    ("balance", "gte", "12"),
    ("balance", "gte", 1.5),
    ("balance", "gte", True),
    ("balance", "gte", None),
    ("score", "gte", 256),
    ("score", "gte", 0),
    ("score", "gt", 255),
    ("score", "set_member", []),
    ("score", "set_member", 7),
    ("height", "gte", "1.234"),
    ("birthDate", "gte", "1969-02-29"),
    ("lastSeen", "gte", "2026-01-01T00:00:00"),
)


def views(proof: ZkProof) -> bytes:
    """Return the proof and all data that can be decoded from it, for a search."""
    seen = [proof.proof.encode(), *(signal.encode() for signal in proof.public_signals)]
    for layer in range(3):
        for token in re.findall(rb"[A-Za-z0-9_-]{8,}", b" ".join(seen[layer:])):
            try:
                seen.append(base64url_decode(token.decode()))
            except ValueError:
                continue
    return b" ".join(seen)


def runs(data: bytes, length: int) -> set[bytes]:
    """Return all runs of this many bytes."""
    return {data[start : start + length] for start in range(len(data) - length + 1)}


def traces(name: str, value: JsonValue) -> Iterator[bytes]:
    """Yield the forms in which a value could appear."""
    attribute = SCHEMA.attribute(name)
    if attribute is None or value is None or attribute.type == "boolean":
        return
    typed = attribute.read(value)
    data = [typed.text.encode()] if len(typed.text) > 4 else []
    if typed.number is not None and abs(typed.number) > 1 << 32:
        data += [typed.scalar.to_bytes(8, "big"), typed.scalar.to_bytes(8, "little"), str(typed.scalar).encode()]
    for form in data:
        yield from (form, form.hex().encode(), base64url_encode(form).encode())

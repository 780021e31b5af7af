"""A schema, a key and a credential that tests share; the signatures are real, the key is known to everybody."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from identity_bound_credentials.domain.bound_format import BOUND_CREDENTIALS

from identity_bbs import interface
from identity_bbs.bls12381 import select
from identity_bbs.suite import ciphersuite
from identity_codec import multibase
from identity_codec.structs import plain
from identity_core.api.credentials import verifiable_credential
from identity_core.domain.credentials import credential_schema as schema_json
from identity_core.domain.credentials.credential import Credential, CredentialStatus, canonical_values
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.dids import keys
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import Key, PublicKey
from identity_core.domain.proofs.proof import Witness

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ISSUER = Did.parse("did:example:ivo")
HOLDER = Did.parse("did:example:hana")
ATTRIBUTES: list[dict[str, Any]] = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 150, "allowedThresholds": [18, 21], "unit": "years"},
    {"name": "name", "type": "string", "proofTypes": ["eq"]},
    {"name": "income", "type": "decimal", "scale": 2},
    {"name": "born", "type": "date", "minimum": "1900-01-01"},
    {"name": "member", "type": "boolean"},
    {"name": "big", "type": "integer"},
]
VALUES: dict[str, Any] = {
    "age": 24,
    "name": "Hana-the-secret",
    "income": "41250.5",
    "born": "2001-04-01",
    "member": True,
    "big": "9007199254740993",
}


def a_schema(schema_id: str = "urn:example:person:1") -> CredentialSchema:
    """The schema of ``VALUES``."""
    return schema_json.read(schema_id, ATTRIBUTES)


@lru_cache(maxsize=8)
def a_key(name: str = "ivo") -> Key:
    """The BLS key of a name."""
    return keys.generate("Bls12381G2Key2020", lambda count: hashlib.shake_256(name.encode()).digest(count))


def raw(pair: Key) -> bytes:
    """The 96 bytes of a public key."""
    return PublicKey.parse(pair.type, pair.public).raw


def shown_to_holder(credential: Credential, witness: Witness | None, base_url: str) -> dict[str, Any]:
    """The credential as its holder gets it."""
    assert witness is not None
    value: dict[str, Any] = plain(
        verifiable_credential(credential, witness, base_url, BOUND_CREDENTIALS, with_signature=True)
    )
    return value


def bits_of(text: str) -> bytes:
    """What an ``encodedList`` says, the first place leftmost (Bitstring Status List 1.0 §2.2)."""
    return gzip.decompress(multibase.base64url_decode(text.removeprefix("u")))


def set_in(text: str) -> set[int]:
    """The places whose bits are set."""
    bits = bits_of(text)
    return {place for place in range(len(bits) * 8) if bits[place // 8] & 0x80 >> place % 8}


def sign(schema: Schema, values: Mapping[str, Any], pair: Key | None = None) -> bytes:
    """The issuer's signature on these values."""
    return sign_messages(schema.header, schema.messages(canonical_values(schema, values)), pair or a_key())


def sign_messages(header: bytes, signed: Any, pair: Key) -> bytes:
    """A BBS signature on whatever is given, which need not make sense."""
    return interface.sign(ciphersuite(select()), pair.secret_raw, raw(pair), header, signed)


def a_credential(**changed: Any) -> Credential:
    """Ivo's credential of Hana."""
    parts: dict[str, Any] = {
        "id": "urn:uuid:8f4c0f52-0f5e-4d1e-9d0b-5f6d1c7a2b11",
        "issuer": ISSUER,
        "holder": HOLDER,
        "schema": a_schema().schema,
        "verification_method": f"{ISSUER}#{a_key().public}",
        "issuer_public_key": raw(a_key()),
        "valid_from": NOW,
        "valid_until": None,
        "status": CredentialStatus.ACTIVE,
        "status_reason": None,
        "status_index": 0,
        "version": 1,
        "created_at": NOW,
        "created_by": str(ISSUER),
    }
    return Credential(**(parts | changed))

"""A wallet's proof that it has the key which its credential shall be bound to: a JWT (OpenID4VCI 1.0 appendix F.1).

All errors are ``ValueError``, whose text quotes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from identity_client.issuer_key import absolute
from identity_codec.jose import CompactJws, JoseKey, check_claims
from identity_codec.strict_json import JsonValue

TYPE: Final = "openid4vci-proof+jwt"
DID_KEY: Final = "did:key:"
MAX_LENGTH: Final = 8_192
LIFE: Final = timedelta(minutes=10)


class PossessionProof(Struct, frozen=True):
    """A proof of possession that was parsed and not yet verified. ``key_id`` is the DID URL of the key where ``key`` is None."""

    jws: CompactJws
    nonce: str
    key: JoseKey | None
    key_id: str | None

    @classmethod
    def open(cls, text: str, *, audience: str, now: datetime) -> PossessionProof:
        """Return a proof for this issuer and of this time."""
        jws = CompactJws.open(text, longest=MAX_LENGTH)
        jws.check_type(TYPE)
        issued = check_claims(jws.claims, now, audience=(audience,), required=("aud", "iat")).issued
        if issued is None or now - issued > LIFE:
            raise ValueError("the proof is too old")
        nonce = jws.claims.get("nonce")
        if not isinstance(nonce, str):
            raise ValueError("nonce is not text")
        return cls(jws, nonce, *_key(jws.header))


def _key(header: Mapping[str, Any]) -> tuple[JoseKey | None, str | None]:
    if len({"jwk", "kid", "x5c"} & header.keys()) != 1 or "x5c" in header:
        raise ValueError("the header names the key by jwk or by kid, and by one of them")
    if "jwk" in header:
        return JoseKey.of_jwk(header["jwk"]), None
    key_id = header["kid"]
    if not isinstance(key_id, str) or not key_id.startswith("did:") or len(key_id) > 2_048:
        raise ValueError("the kid is not a DID URL")
    if key_id.startswith(DID_KEY):
        # A did:key says all that there is to know, also one on P-256, which no DID here may have as its own.
        return JoseKey.of_multikey(key_id.removeprefix(DID_KEY).partition("#")[0]), None
    return None, key_id


def key_in_document(document: Mapping[str, JsonValue], key_id: str, purposes: Sequence[str]) -> JoseKey:
    """Return the key of a DID document that serves one of the purposes. Raises ``ValueError``."""
    methods = document.get("verificationMethod")
    listed = [document.get(purpose) for purpose in purposes]
    references = [one for found in listed if isinstance(found, list) for one in found]
    did = str(document.get("id"))
    for method in methods if isinstance(methods, list) else []:
        if not isinstance(method, dict) or absolute(did, method.get("id")) != key_id or "revoked" in method:
            continue
        if not any(absolute(did, reference) == key_id for reference in references):
            raise ValueError("the key of the DID does not serve this purpose")
        text = method.get("publicKeyMultibase")
        return JoseKey.of_multikey(text) if isinstance(text, str) else JoseKey.of_jwk(method.get("publicKeyJwk"))
    raise ValueError("the DID document has no such key")

"""The key by which a proof is verified: taken from the DID document of the issuer, never from the proof.

The verification method that a proof names must stand in the document, be listed under ``assertionMethod`` and be a
``Bls12381G2Key2020`` multikey that is in force now. A key that was rotated out proves nothing any more: the time in a proof is
the prover's own word, so that anyone who has stolen an old key could date back.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from identity_core.codec import multikey, times
from identity_core.domain.dids.did import Did
from identity_core.domain.jose import JoseKey
from identity_core.errors import InvalidDid, JsonValue

MANY_KEYS: Final = 4
"""More keys than this in force at once deserve a warning: a successor or two is what rotation leaves."""


def controller_of(method_id: str) -> Did:
    """The DID whose document holds the verification method. Raises ``InvalidDid`` for what is no DID URL with a fragment."""
    text, _, fragment = method_id.partition("#")
    if not fragment:
        raise InvalidDid(details={"did": Did.parse(text).shown})
    return Did.parse(text)


def assertion_key(document: Mapping[str, JsonValue], method_id: str, now: datetime) -> bytes:
    """The 96 octets of the key. Raises ``ValueError`` when the document has no such key in force at ``now`` (aware UTC)."""
    key_type, raw = multikey.decode_public(assertion_multikey(document, method_id, now))
    if key_type != multikey.BLS12381G2:
        raise ValueError("the issuer's key is not one that signs credentials")
    return raw


def assertion_multikey(document: Mapping[str, JsonValue], method_id: str, now: datetime) -> str:
    """The same for a key of any type, as a multikey; the document may have it as a JWK."""
    did = str(document.get("id"))
    asserted = {_absolute(did, reference) for reference in _array(document.get("assertionMethod"))}
    if method_id not in asserted:
        raise ValueError("the issuer's document does not assert by this key")
    for method in _array(document.get("verificationMethod")):
        if isinstance(method, dict) and _absolute(did, method.get("id")) == method_id:
            return _key(did, method, now)
    raise ValueError("the issuer's document does not hold this key")


def signing_keys(document: Mapping[str, JsonValue], now: datetime) -> int:
    """How many keys in force sign credentials in the issuer's name. An issuer with one for each holder marks its holders."""
    asserted = {str(reference) for reference in _array(document.get("assertionMethod"))}
    return sum(_is_key(document, reference, now) for reference in asserted)


def has_many_keys(document: Mapping[str, JsonValue], now: datetime) -> bool:
    """Whether ``signing_keys`` is above ``MANY_KEYS``. Where no more than that are named, none is decoded."""
    return len(_array(document.get("assertionMethod"))) > MANY_KEYS and signing_keys(document, now) > MANY_KEYS


def _is_key(document: Mapping[str, JsonValue], reference: str, now: datetime) -> bool:
    try:
        assertion_key(document, str(_absolute(str(document.get("id")), reference)), now)
    except ValueError:
        return False
    return True


def _key(did: str, method: Mapping[str, JsonValue], now: datetime) -> str:
    revoked, text = method.get("revoked"), method.get("publicKeyMultibase")
    if isinstance(revoked, str) and now >= times.parse(revoked):
        raise ValueError("the issuer's key is revoked")
    if method.get("controller", did) != did:
        raise ValueError("the issuer's key is another's")
    if isinstance(text, str):
        return text
    key = JoseKey.of_jwk(method.get("publicKeyJwk"))
    return multikey.encode_public(key.kind, key.raw)


def _absolute(did: str, reference: JsonValue) -> str | None:
    if not isinstance(reference, str):
        return None
    return did + reference if reference.startswith("#") else reference


def _array(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []

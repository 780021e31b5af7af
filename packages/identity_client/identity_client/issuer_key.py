"""The key by which a proof is verified: taken from the DID document of the issuer, never from the proof.

The verification method that a proof names must stand in the document, be listed under ``assertionMethod`` and be a
``Bls12381G2Key2020`` multikey that is in force now. A key that was rotated out proves nothing any more: the time in a proof is
the prover's own word, so that anyone who has stolen an old key could date back.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from identity_client.data_integrity import ed25519_key_of
from identity_codec import multikey, times
from identity_codec.jose import JoseKey
from identity_codec.strict_json import JsonValue

MANY_KEYS: Final = 4
"""More keys than this in force at once deserve a warning: a successor or two is what rotation leaves."""


def assertion_key(document: Mapping[str, JsonValue], method_id: str, now: datetime) -> bytes:
    """Return the 96 bytes of the key. Raises ``ValueError`` when the document has no such key in force at ``now`` (aware UTC)."""
    key_type, raw = multikey.decode_public(assertion_multikey(document, method_id, now))
    if key_type != multikey.BLS12381G2:
        raise ValueError("the issuer's key is not one that signs credentials")
    return raw


def assertion_multikey(document: Mapping[str, JsonValue], method_id: str, now: datetime) -> str:
    """Return a key of any type as a multikey; the document may have it as a JWK. Otherwise as above."""
    method = _asserted(document).get(method_id)
    if method is None:
        raise ValueError("the issuer's document does not assert by this key, or does not hold it")
    return _key(str(document.get("id")), method, now)


def signing_keys(document: Mapping[str, JsonValue], now: datetime) -> int:
    """Return how many keys in force sign credentials in the issuer's name. An issuer with one for each holder marks its holders."""
    return sum(_is_key(str(document.get("id")), method, now) for method in _asserted(document).values())


def has_many_keys(document: Mapping[str, JsonValue], now: datetime) -> bool:
    """Return whether ``signing_keys`` is above ``MANY_KEYS``. Where no more than that are named, none is decoded."""
    return len(_asserted(document)) > MANY_KEYS and signing_keys(document, now) > MANY_KEYS


def _asserted(document: Mapping[str, JsonValue]) -> dict[str | None, Mapping[str, JsonValue]]:
    """Return the methods under ``assertionMethod`` by absolute id; a method may stand where it is used (DID Core §5.3)."""
    did, asserted = str(document.get("id")), dict[str | None, Mapping[str, JsonValue]]()
    held, listed = (document.get(name) for name in ("verificationMethod", "assertionMethod"))
    methods = [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []
    named = {absolute(did, one): one for one in reversed(methods)}
    for one in listed if isinstance(listed, list) else ():
        name = absolute(did, one)
        method = one if isinstance(one, dict) else named.get(name)
        if method is not None:
            asserted.setdefault(name, method)
    return asserted


def _is_key(did: str, method: Mapping[str, JsonValue], now: datetime) -> bool:
    try:
        return multikey.decode_public(_key(did, method, now))[0] == multikey.BLS12381G2
    except ValueError:
        return False


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


def absolute(did: str, reference: JsonValue) -> str | None:
    """Return the absolute DID URL of a reference within the document of ``did``, or of the verification method that stands there."""
    name = reference.get("id") if isinstance(reference, dict) else reference
    if not isinstance(name, str):
        return None
    return did + name if name.startswith("#") else name


def agent_key_of(text: str) -> bytes:
    """Return the 32 bytes of an agent's key of its Ed25519 multikey. Raises ``ValueError`` for any other one, and for a key that is
    not safe."""
    return ed25519_key_of(text)

"""Public keys as JWKs (RFC 7517, RFC 7518 §6.2, RFC 8037 §2), which documents of others have in ``publicKeyJwk``.

Ed25519, X25519 and P-256. Members that are not understood are ignored (RFC 7517 §4). A private key is refused.
"""

from __future__ import annotations

from typing import Final

from identity_codec import multibase, multikey, p256
from identity_codec.strict_json import JsonValue

_PRIVATE: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"})
_TEXTS: Final = ("kty", "crv", "x", "y", "use", "alg", "kid")
_OKP: Final = {"Ed25519": multikey.ED25519, "X25519": multikey.X25519}


def is_public(value: JsonValue) -> bool:
    """Return whether ``value`` is a JWK of any kind (RFC 7517 §4.1) without a private member."""
    return isinstance(value, dict) and isinstance(value.get("kty"), str) and not _PRIVATE & value.keys()


def public_multikey(value: JsonValue) -> str:
    """Return the multikey of a public JWK. Whether the key is weak is not checked.

    Raises ``ValueError``: when ``value`` is not an object, has a private member or a member of the wrong type, or is not a key on
    Ed25519, X25519 or P-256. The text is a sentence that quotes nothing.
    """
    if not isinstance(value, dict) or not is_public(value):
        raise ValueError("A JWK is an object with kty and without private members.")
    operations = value.get("key_ops", [])
    if any(type(value.get(name, "")) is not str for name in _TEXTS) or type(operations) is not list:
        raise ValueError("A member of the JWK has the wrong type.")
    if any(type(one) is not str for one in operations) or value.get("use", "sig") not in ("sig", "enc"):
        raise ValueError("The JWK is for an unknown use.")
    try:
        x = multibase.base64url_decode(str(value.get("x", "")))
        match value.get("kty"), value.get("crv"):
            case "EC", "P-256":
                y = multibase.base64url_decode(str(value.get("y", "")))
                p256.check_public_key(x, y)
                return multikey.encode_public(multikey.P256, p256.compress(x, y))
            case "OKP", "Ed25519" | "X25519" as curve:
                return multikey.encode_public(_OKP[curve], x)
        raise ValueError("another kind of key")
    except ValueError as error:
        raise ValueError("A JWK is not a key on Ed25519, X25519 or P-256.") from error


def verifies(value: JsonValue, algorithms: tuple[str, ...]) -> bool:
    """Return whether ``use``, ``key_ops`` and ``alg`` of a public JWK allow to verify by ``algorithms`` (RFC 7517 §4.2 to §4.4)."""
    if not isinstance(value, dict):
        return False
    operations = value.get("key_ops")
    may_verify = operations is None or (isinstance(operations, list) and "verify" in operations)
    return may_verify and value.get("use", "sig") == "sig" and value.get("alg", algorithms[0]) in algorithms

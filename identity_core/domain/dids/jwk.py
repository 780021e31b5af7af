"""Public keys as JWKs (RFC 7517, RFC 7518 §6.2, RFC 8037 §2), which documents of others have in ``publicKeyJwk``.

Ed25519, X25519 and P-256. A JWK with another member is refused: ``d`` would be a private key, and what nobody here understands might
forbid what the key is used for.
"""

from __future__ import annotations

from typing import Final

from identity_core.codec import multibase, multikey
from identity_core.crypto import p256
from identity_core.domain.dids import keys
from identity_core.errors import InvalidDocument, JsonValue

_COMMON: Final = frozenset({"kty", "crv", "x"})
_MORE: Final = frozenset({"use", "alg", "kid"})
_OKP: Final = {"Ed25519": multikey.ED25519, "X25519": multikey.X25519}


def check(value: JsonValue) -> None:
    """Raises ``InvalidDocument`` unless ``value`` is a public key of a kind named above, and not a weak one."""
    public_key(value)


def public_key(value: JsonValue) -> keys.PublicKey:
    """The key of a JWK. Raises as ``check``."""
    if type(value) is not dict or {*map(type, value.values())} - {str}:
        raise InvalidDocument("A JWK is an object of texts.", details={"member": "publicKeyJwk"})
    kind = value.get("kty"), value.get("crv")
    needed = _COMMON | ({"y"} if kind == ("EC", "P-256") else set())
    if not needed <= value.keys() <= needed | _MORE or value.get("use", "sig") not in ("sig", "enc"):
        raise InvalidDocument("A JWK lacks a member, or has one too many.", details={"member": "publicKeyJwk"})
    try:
        x = multibase.base64url_decode(str(value["x"]))
        if kind == ("EC", "P-256"):
            y = multibase.base64url_decode(str(value["y"]))
            p256.check_public_key(x, y)
            return keys.PublicKey.parse(multikey.P256, multikey.encode_public(multikey.P256, p256.compress(x, y)))
        if kind[0] == "OKP" and kind[1] in _OKP:
            name = _OKP[str(kind[1])]
            return keys.PublicKey.parse(name, multikey.encode_public(name, x))
        raise ValueError("another kind of key")
    except ValueError as error:
        raise InvalidDocument(
            "A JWK is no key on Ed25519, X25519 or P-256.", details={"member": "publicKeyJwk"}
        ) from error

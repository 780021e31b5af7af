"""Encrypted presentations, to a key of the request alone (OpenID4VP 1.0 §8.3, ``direct_post.jwt``).

The key is made with the request and kept sealed with it, so that the transmitted text is unreadable once the request is deleted. All
errors are ``ValueError``, whose text quotes nothing of what came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from identity_codec import multibase, strict_json
from identity_codec.strict_json import JsonValue
from identity_wallets import jwe

KEY_ID: Final = "1"
_NEEDED: Final = frozenset({"alg", "enc", "kid", "epk"})
_TEXTS: Final = frozenset({"apu", "apv", "typ", "cty"})
_POINT: Final = frozenset({"kty", "crv", "x", "y"})


def metadata(secret: bytes) -> dict[str, JsonValue]:
    """Return the members of the verifier's metadata by which a wallet encrypts (§5.1)."""
    key: dict[str, JsonValue] = {**jwe.public_members(secret), "use": "enc", "alg": jwe.ALGORITHM, "kid": KEY_ID}
    return {"jwks": {"keys": [key]}, "encrypted_response_enc_values_supported": [*jwe.ENCODINGS]}


def decrypt(secret: bytes, text: str) -> Mapping[str, Any]:
    """Return the members of a response that is encrypted to this key."""
    try:
        _check(strict_json.loads(multibase.base64url_decode(text.partition(".")[0])))
        found = strict_json.loads(jwe.decrypt(secret, text))
    except strict_json.JsonRefused as error:
        raise ValueError(f"the response holds no JSON that can be read: {error.reason}") from error
    except jwe.JweInvalid as error:
        raise ValueError("the response is not encrypted to the key of the request") from error
    if not isinstance(found, dict):
        raise ValueError("the response holds no JSON object")
    return found


def _check(header: JsonValue) -> None:
    """Refuse an unsupported header: compression, a key from elsewhere, an extension."""
    if not isinstance(header, dict) or not _NEEDED <= header.keys() <= _NEEDED | _TEXTS:
        raise ValueError("the header of the response has alg, enc, kid and epk, and may have apu, apv, typ and cty")
    if header["alg"] != jwe.ALGORITHM or header["enc"] not in jwe.ENCODINGS or header["kid"] != KEY_ID:
        raise ValueError("the response is encrypted by another algorithm, or to another key")
    point = header["epk"]
    if not isinstance(point, dict) or point.keys() != _POINT or (point["kty"], point["crv"]) != ("EC", "P-256"):
        raise ValueError("epk is a key on P-256")
    if not all(isinstance(point[name], str) for name in "xy") or not all(
        isinstance(header.get(name, ""), str) for name in _TEXTS
    ):
        raise ValueError("a member of the header is not text")

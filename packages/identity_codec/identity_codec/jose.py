"""Compact JWSs and the keys that sign them, as wallets and their issuers use them: ES256 (RFC 7518 §3.4) and EdDSA (RFC 8037, RFC 9864).

The reader decides which ``typ``, members and claims a JWS must have. Here a text has one reading or none: canonical base64url, strict
JSON, no ``crit``; and the key decides which algorithms there are, never the header. All errors are ``ValueError``, whose text quotes
nothing of what came.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

from msgspec import Struct

from identity_codec import ed25519, jcs, jwk, multibase, multikey, p256, strict_json
from identity_codec.strict_json import JsonValue
from identity_codec.values import Hidden

ES256: Final = "ES256"
ALGORITHMS: Final = {multikey.P256: (ES256,), multikey.ED25519: ("EdDSA", "Ed25519")}
"""What a key of a type signs with; the first is what is written here."""
SIGNATURE_OCTETS: Final = 64
LEEWAY: Final = timedelta(seconds=60)
"""How far the clock of the one who signed may be ahead of ours."""
LAST_SECOND: Final = 253_402_300_799
Claims = Mapping[str, Any]


class CompactJws(Hidden, Struct, frozen=True):
    """A JWS that was parsed and not yet verified."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signing_input: bytes
    signature: bytes

    @classmethod
    def open(cls, text: str, *, longest: int) -> Self:
        """Return the three parts of a text of at most ``longest`` characters; header and claims are JSON objects."""
        parts = text.split(".", 3) if len(text) <= longest else []
        if len(parts) != 3:
            raise ValueError("not a compact JWS, or too long")
        header, claims = (strict_json.loads(multibase.base64url_decode(part)) for part in parts[:2])
        if not isinstance(header, dict) or not isinstance(claims, dict):
            raise ValueError("header and claims of a JWS are JSON objects")
        if "crit" in header or "b64" in header:
            raise ValueError("the JWS has an extension that is not supported")
        return cls(header, claims, f"{parts[0]}.{parts[1]}".encode("ascii"), multibase.base64url_decode(parts[2]))

    def check_type(self, *types: str) -> None:
        """Raise unless the header states one of these types."""
        if media_type(self.header) not in types:
            raise ValueError(f"the typ is not {' or '.join(types)}")


def media_type(header: Mapping[str, Any]) -> str | None:
    """Return the ``typ`` in lower case, without ``application/`` before it (RFC 7515 §4.1.9)."""
    found = header.get("typ")
    return found.lower().removeprefix("application/") if isinstance(found, str) else None


class ClaimTimes(Struct, frozen=True):
    """``iat``, ``nbf`` and ``exp`` of a JWT, as aware UTC times."""

    issued: datetime | None
    begins: datetime | None
    ends: datetime | None


def check_claims(
    claims: Claims, now: datetime | None, *, audience: Collection[str] | None, required: Collection[str] = ()
) -> ClaimTimes:
    """Check the registered claims that every JWT may have (RFC 7519 §4.1.3 to §4.1.6), and return its times.

    ``now`` None compares no time, ``audience`` None no audience: that is left to the caller. ``audience`` are the names of the reader; a
    JWT without ``aud`` is for any reader, unless ``required`` names that claim. The issuer's clock may be ``LEEWAY`` ahead; an expiry has
    none.
    """
    for name in required:
        if name not in claims:
            raise ValueError(f"{name} is missing")
    times = ClaimTimes(*(_numeric_date(claims, name) for name in ("iat", "nbf", "exp")))
    named = claims.get("aud")
    names = [one for one in (named if isinstance(named, list) else [named]) if isinstance(one, str)]
    if audience is not None and "aud" in claims and not {*names} & {*audience}:
        raise ValueError("aud names another audience")
    if now is None:
        return times
    if times.ends is not None and now >= times.ends:
        raise ValueError("exp is in the past")
    if any(time is not None and time > now + LEEWAY for time in (times.issued, times.begins)):
        raise ValueError("iat or nbf is in the future")
    return times


def _numeric_date(claims: Claims, name: str) -> datetime | None:
    """RFC 7519 §2: seconds, also with a fraction. A null, a text or a truth value is none."""
    if name not in claims:
        return None
    value = claims[name]
    if type(value) not in (int, float) or not 0 <= value <= LAST_SECOND:
        raise ValueError(f"{name} is no NumericDate")
    return datetime.fromtimestamp(value, UTC)


class JoseKey(Struct, frozen=True):
    """A public key that may sign: ``kind`` is a key of ``ALGORITHMS``, ``raw`` what its multikey holds."""

    kind: str
    raw: bytes

    @classmethod
    def of_multikey(cls, text: str) -> JoseKey:
        """Return the key of a multikey that is on Ed25519 or P-256."""
        kind, raw = multikey.decode_public(text)
        return cls.checked(kind, raw)

    @classmethod
    def checked(cls, kind: str, raw: bytes) -> JoseKey:
        """Return the key, if it is of a kind that signs, and not a weak one."""
        if kind not in ALGORITHMS:
            raise ValueError("the key is neither on P-256 nor on Ed25519")
        check = p256.check_compressed_key if kind == multikey.P256 else ed25519.check_public_key
        try:
            check(raw)
        except ValueError as error:
            raise ValueError("the key is not valid") from error
        return cls(kind, raw)

    @classmethod
    def of_jwk(cls, value: JsonValue) -> JoseKey:
        """Return the key of a public JWK. A private one is refused."""
        try:
            kind, raw = multikey.decode_public(jwk.public_multikey(value))
        except ValueError as error:
            raise ValueError("the JWK is no public key on P-256 or Ed25519") from error
        if not jwk.verifies(value, ALGORITHMS.get(kind, ("none",))):
            raise ValueError("the JWK is no key that signs")
        return cls.checked(kind, raw)

    @property
    def jwk(self) -> dict[str, JsonValue]:
        """The members that RFC 7638 counts."""
        encode = multibase.base64url_encode
        if self.kind == multikey.P256:
            x, y = p256.coordinates(self.raw)
            return {"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)}
        return {"kty": "OKP", "crv": "Ed25519", "x": encode(self.raw)}

    @property
    def thumbprint(self) -> str:
        """RFC 7638, with SHA-256."""
        return multibase.base64url_encode(hashlib.sha256(jcs.canonicalize(self.jwk)).digest())

    def verify(self, jws: CompactJws) -> None:
        """Raise unless this key signed it with an algorithm of its own."""
        if jws.header.get("alg") not in ALGORITHMS[self.kind]:
            raise ValueError("the alg is not one of the key")
        verify = p256.verify if self.kind == multikey.P256 else ed25519.verify
        try:
            verify(self.raw, jws.signing_input, jws.signature)
        except (p256.P256SignatureInvalid, ed25519.Ed25519SignatureInvalid) as error:
            raise ValueError("the signature is not of this key") from error


def signing_input(header: Mapping[str, JsonValue], claims: Mapping[str, JsonValue]) -> str:
    """Return the text whose ASCII bytes are signed (RFC 7515 §5.1)."""
    return ".".join(multibase.base64url_encode(jcs.canonicalize(dict(part))) for part in (header, claims))

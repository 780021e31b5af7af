"""Compact JWSs and the keys that sign them, as wallets and their issuers use them: ES256 (RFC 7518 §3.4) and EdDSA (RFC 8037, RFC 9864).

Which ``typ``, members and claims a JWS must have is for its reader to say. Here a text has one reading or none: canonical base64url, strict
JSON, no ``crit``; and the key decides which algorithms there are, never the header. All errors are ``ValueError``, whose text quotes
nothing of what came.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from identity_core.codec import jcs, multibase, multikey, strict_json
from identity_core.crypto import ed25519, p256
from identity_core.domain.dids import jwk
from identity_core.domain.dids.keys import PublicKey
from identity_core.errors import InvalidDocument, JsonValue
from identity_core.values import value_class

ES256: Final = "ES256"
ALGORITHMS: Final = {multikey.P256: (ES256,), multikey.ED25519: ("EdDSA", "Ed25519")}
"""What a key of a type signs with; the first is what is written here."""
SIGNATURE_OCTETS: Final = 64


@value_class
class CompactJws:
    """One that was opened and not yet believed."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signing_input: bytes
    signature: bytes

    @classmethod
    def open(cls, text: str, *, longest: int) -> CompactJws:
        """The three parts of a text of at most ``longest`` characters; header and claims are JSON objects."""
        parts = text.split(".", 3) if len(text) <= longest else []
        if len(parts) != 3:
            raise ValueError("not a compact JWS, or too long")
        header, claims = (strict_json.loads(multibase.base64url_decode(part)) for part in parts[:2])
        if not isinstance(header, dict) or not isinstance(claims, dict):
            raise ValueError("header and claims of a JWS are JSON objects")
        if "crit" in header or "b64" in header:
            raise ValueError("the JWS has an extension that nobody here understands")
        signature = multibase.base64url_decode(parts[2])
        return cls(header, claims, f"{parts[0]}.{parts[1]}".encode("ascii"), signature)

    def check_type(self, typ: str) -> None:
        """Raises unless the header says that the text is one of these; ``application/`` before it may be left out (RFC 7515 §4.1.9)."""
        found = self.header.get("typ")
        if not isinstance(found, str) or found.lower().removeprefix("application/") != typ:
            raise ValueError(f"the typ is not {typ}")


@value_class
class JoseKey:
    """A public key that may sign: ``kind`` is a key of ``ALGORITHMS``, ``raw`` what its multikey holds."""

    kind: str
    raw: bytes

    @classmethod
    def of_multikey(cls, text: str) -> JoseKey:
        """The key of a multikey that is on Ed25519 or P-256."""
        kind, raw = multikey.decode_public(text)
        return cls.checked(kind, raw)

    @classmethod
    def checked(cls, kind: str, raw: bytes) -> JoseKey:
        """The key, if it is of a kind that signs, and not a weak one."""
        if kind not in ALGORITHMS:
            raise ValueError("the key is neither on P-256 nor on Ed25519")
        try:
            PublicKey.parse(kind, multikey.encode_public(kind, raw))
        except InvalidDocument as error:
            raise ValueError("the key is not valid") from error
        return cls(kind, raw)

    @classmethod
    def of_jwk(cls, value: JsonValue) -> JoseKey:
        """The key of a public JWK. A private one is refused."""
        try:
            key = jwk.public_key(value)
        except InvalidDocument as error:
            raise ValueError("the JWK is no public key on P-256 or Ed25519") from error
        if not jwk.verifies(value, ALGORITHMS.get(key.type, ("none",))):
            raise ValueError("the JWK is no key that signs")
        return cls.checked(key.type, key.raw)

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
        """Raises unless this key signed it with an algorithm of its own."""
        if jws.header.get("alg") not in ALGORITHMS[self.kind]:
            raise ValueError("the alg is not one of the key")
        verify = p256.verify if self.kind == multikey.P256 else ed25519.verify
        try:
            verify(self.raw, jws.signing_input, jws.signature)
        except (p256.P256SignatureInvalid, ed25519.Ed25519SignatureInvalid) as error:
            raise ValueError("the signature is not of this key") from error


def signing_input(header: Mapping[str, JsonValue], claims: Mapping[str, JsonValue]) -> str:
    """The text whose ASCII octets are signed (RFC 7515 §5.1)."""
    return ".".join(multibase.base64url_encode(jcs.canonicalize(dict(part))) for part in (header, claims))

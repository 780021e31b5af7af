"""JSON Web Signatures with Ed25519 (RFC 7515, RFC 8037, RFC 9864) by joserfc.

This module only verifies that a key made a signature. The private key stays in the custodian, which signs the bytes of a signing
input. ``domain/tokens.py`` checks header members and claims. Detached and unencoded payloads are not supported, nor are algorithms
other than Ed25519.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from joserfc import errors, jws
from joserfc.jwk import OKPKey
from joserfc.registry import JWS_HEADER_REGISTRY
from msgspec import Struct

# The older name is what most readers still know; RFC 9864 gave the curve a name of its own. Both are Ed25519 here.
ISSUED_ALGORITHM: Final = "EdDSA"
ALGORITHMS: Final = (ISSUED_ALGORITHM, "Ed25519")


class JwsSignatureInvalid(Exception):
    """A text that is not a JWS signed by this key."""


class _Registry(jws.JWSRegistry):
    """A registry of only three header members, so that neither a key nor an extension (RFC 7797) arrives with a token.

    It also silences a warning of joserfc about the name EdDSA, which may mean Ed448; the keys here are Ed25519 keys.
    """

    def __init__(self) -> None:
        super().__init__(algorithms=ALGORITHMS)
        self.header_registry = {name: JWS_HEADER_REGISTRY[name] for name in ("alg", "typ", "kid")}

    def get_alg(self, name: str) -> Any:
        if name not in ALGORITHMS:
            raise errors.UnsupportedAlgorithmError(name)
        return self.algorithms[name]


_REGISTRY: Final = _Registry()


class VerificationKey(Struct, frozen=True):
    """An Ed25519 public key: ``kid`` is its RFC 7638 thumbprint, ``jwk`` is its entry in a JWK Set."""

    kid: str
    jwk: Mapping[str, str]
    _key: OKPKey

    @classmethod
    def from_bytes(cls, public: bytes) -> VerificationKey:
        """Return the key of 32 raw bytes."""
        members = {"kty": "OKP", "crv": "Ed25519", "x": base64.urlsafe_b64encode(public).rstrip(b"=").decode("ascii")}
        key = OKPKey.import_key(dict(members))
        kid = key.thumbprint()
        return cls(kid, {**members, "use": "sig", "alg": ISSUED_ALGORITHM, "kid": kid}, key)

    def verify(self, text: str) -> None:
        """Verify that ``text`` is a compact JWS signed by this key. Raises ``JwsSignatureInvalid``: in every other case."""
        try:
            jws.deserialize_compact(text.encode("ascii"), self._key, registry=_REGISTRY)
        except (errors.JoseError, ValueError, TypeError) as error:
            # A TypeError is what joserfc makes of a ``crit`` that is not a list.
            raise JwsSignatureInvalid from error

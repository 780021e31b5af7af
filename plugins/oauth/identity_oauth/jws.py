"""JSON Web Signatures with Ed25519 (RFC 7515, RFC 8037, RFC 9864) by joserfc.

Verification only: the private key stays with the custodian, who signs the bytes of a signing input. Which header
members and claims a token must have is for ``domain/tokens.py`` to say; here it is decided whether a key made the
signature. Left out: detached and unencoded payloads, every algorithm but Ed25519.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from joserfc import errors, jws
from joserfc.jwk import OKPKey
from joserfc.registry import JWS_HEADER_REGISTRY

from identity_codec.values import value_class

# The older name is what most readers still know; RFC 9864 gave the curve a name of its own. Both are Ed25519 here.
ISSUED_ALGORITHM: Final = "EdDSA"
ALGORITHMS: Final = (ISSUED_ALGORITHM, "Ed25519")


class JwsSignatureInvalid(Exception):
    """The text is no JWS that this key has signed."""


class _Registry(jws.JWSRegistry):
    """No header member but these three, so that neither a key nor an extension (RFC 7797) comes with a token. And joserfc
    warns of the name EdDSA at each use, because it may also mean Ed448; our keys are Ed25519 keys."""

    def __init__(self) -> None:
        super().__init__(algorithms=ALGORITHMS)
        self.header_registry = {name: JWS_HEADER_REGISTRY[name] for name in ("alg", "typ", "kid")}

    def get_alg(self, name: str) -> Any:
        if name not in ALGORITHMS:
            raise errors.UnsupportedAlgorithmError(name)
        return self.algorithms[name]


_REGISTRY: Final = _Registry()


@value_class
class VerificationKey:
    """An Ed25519 public key: ``kid`` is its RFC 7638 thumbprint, ``jwk`` what a JWK Set shows of it."""

    kid: str
    jwk: Mapping[str, str]
    _key: OKPKey

    @classmethod
    def of(cls, public: bytes) -> VerificationKey:
        """Return the key of 32 raw bytes."""
        members = {"kty": "OKP", "crv": "Ed25519", "x": base64.urlsafe_b64encode(public).rstrip(b"=").decode("ascii")}
        key = OKPKey.import_key(dict(members))
        kid = key.thumbprint()
        return cls(kid, {**members, "use": "sig", "alg": ISSUED_ALGORITHM, "kid": kid}, key)

    def verify(self, text: str) -> None:
        """Returns when ``text`` is a compact JWS signed by this key; raises ``JwsSignatureInvalid`` in every other case."""
        try:
            jws.deserialize_compact(text.encode("ascii"), self._key, registry=_REGISTRY)
        except (errors.JoseError, ValueError, TypeError) as error:
            # A TypeError is what joserfc makes of a ``crit`` that is no list.
            raise JwsSignatureInvalid from error

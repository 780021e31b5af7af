"""A client's assertion of who it is, ``private_key_jwt``: RFC 7523 §2.2 and §3, and draft-ietf-oauth-rfc7523bis for ``typ`` and ``aud``.

The client is a DID, and the key one of its authentication keys. The signature is the caller's to verify before an assertion is
accepted, and so is that its ``jti`` works once. Claims that are not named here are ignored. All errors are ``ValueError``, whose text
is not shown outside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from identity_codec.jose import LEEWAY, check_claims, media_type
from identity_codec.values import value_class
from identity_oauth import jws
from identity_oauth.domain.tokens import Envelope

ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
AUTH_METHOD: Final = "private_key_jwt"
TYPE: Final = "client-authentication+jwt"
MAX_LIFETIME_SECONDS: Final = 3_600
"""What common libraries write where they are told nothing; the ``jti`` is kept as long."""
LONGEST: Final = LEEWAY + timedelta(seconds=MAX_LIFETIME_SECONDS)

MAX_IDENTIFIER: Final = 256


@value_class
class ClientAssertion:
    """The content of an assertion: the DID, the DID URL of the key if it names one, and the ``jti`` with the end of its
    life."""

    client: str
    key_id: str | None
    identifier: str
    expires_at: datetime

    @classmethod
    def read(
        cls, envelope: Envelope, now: datetime, *, issuer: str, token_endpoints: frozenset[str]
    ) -> ClientAssertion:
        """Return the assertion, if it is for us and of this time. One whose ``typ`` is ``TYPE`` is for the ``issuer`` alone; of the
        others, which are older, a token endpoint may be the audience."""
        explicit = _check_header(envelope.header)
        claims = envelope.claims
        client = _text(claims, "iss", 2_048)
        if claims.get("sub") != client:
            raise ValueError("iss and sub differ")
        # One audience alone: a client that names several could be impersonated by any of them.
        if isinstance(claims.get("aud"), list) and (explicit or len(claims["aud"]) != 1):
            raise ValueError("aud is not one audience")
        audience = {issuer} if explicit else {issuer, *token_endpoints}
        expires_at = check_claims(claims, now, audience=audience, required=("aud", "exp")).ends
        if expires_at is None or expires_at > now + LONGEST:
            raise ValueError("the assertion lives for too long")
        key_id = _text(envelope.header, "kid", 2_048) if "kid" in envelope.header else None
        return cls(client, key_id, _text(claims, "jti", MAX_IDENTIFIER), expires_at)

    @property
    def digest(self) -> bytes:
        """By which the assertion is spent: the SHA-256 of client and ``jti``."""
        return hashlib.sha256(f"identity: client assertion, v1\n{self.client}\n{self.identifier}".encode()).digest()


def _check_header(header: Mapping[str, Any]) -> bool:
    """Return whether the ``typ`` says what the text is. A header that brings a key, or an extension, is none of ours."""
    if not {"alg"} <= header.keys() <= {"alg", "typ", "kid"}:
        raise ValueError("the header has other members than alg, typ and kid")
    if header["alg"] not in jws.ALGORITHMS:
        raise ValueError("the algorithm is another")
    if "typ" in header and media_type(header) not in ("jwt", TYPE):
        raise ValueError("the typ is another")
    return media_type(header) == TYPE


def _text(members: Mapping[str, Any], name: str, longest: int) -> str:
    value = members.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        raise ValueError(f"{name} is a text of at most {longest} characters")
    return value

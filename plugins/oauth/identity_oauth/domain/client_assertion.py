"""A client's assertion of its identity, ``private_key_jwt``: RFC 7523 §2.2 and §3, and draft-ietf-oauth-rfc7523bis for ``typ`` and
``aud``.

The client is a DID, and the key is one of its authentication keys. Before an assertion is accepted, the caller must verify the
signature and that its ``jti`` was not used. Claims that are not named here are ignored. All errors are ``ValueError``, whose text
is not shown outside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from identity_codec.jose import LEEWAY, check_claims, media_type
from identity_oauth.domain.tokens import ALGORITHMS, Envelope

ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
AUTH_METHOD: Final = "private_key_jwt"
TYPE: Final = "client-authentication+jwt"
MAX_LIFETIME_SECONDS: Final = 3_600
"""What common libraries write where they are told nothing; the ``jti`` is kept as long."""
LONGEST: Final = LEEWAY + timedelta(seconds=MAX_LIFETIME_SECONDS)

MAX_IDENTIFIER: Final = 256


class ClientAssertion(Struct, frozen=True):
    """The content of an assertion: the DID, the DID URL of the key if it names one, and the ``jti`` with its expiry."""

    client: str
    key_id: str | None
    identifier: str
    expires_at: datetime

    @classmethod
    def read(
        cls, envelope: Envelope, now: datetime, *, issuer: str, token_endpoints: frozenset[str]
    ) -> ClientAssertion:
        """Return the assertion if it is for this service and in force. If its ``typ`` is ``TYPE``, its audience must be the
        ``issuer``. The older form may name a token endpoint instead."""
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
        """Return the SHA-256 of client and ``jti``, which marks the assertion as used."""
        return hashlib.sha256(f"identity: client assertion, v1\n{self.client}\n{self.identifier}".encode()).digest()


def _check_header(header: Mapping[str, Any]) -> bool:
    """Return whether the ``typ`` states the kind of the text. A header with a key or an extension is refused."""
    if not {"alg"} <= header.keys() <= {"alg", "typ", "kid"}:
        raise ValueError("the header has other members than alg, typ and kid")
    if header["alg"] not in ALGORITHMS:
        raise ValueError("the algorithm is another")
    if "typ" in header and media_type(header) not in ("jwt", TYPE):
        raise ValueError("the typ is another")
    return media_type(header) == TYPE


def _text(members: Mapping[str, Any], name: str, longest: int) -> str:
    value = members.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        raise ValueError(f"{name} is a text of at most {longest} characters")
    return value

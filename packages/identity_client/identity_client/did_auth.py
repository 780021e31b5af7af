"""Signatures of challenges (openapi/DECISIONS.md §3.1), made only if the text authorises what the caller requested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from identity_client.challenge import (
    CHANGES,
    DID_AUTH,
    ChallengeRefused,
    ForeignOrigin,
    build_header,
    origin_field,
    parse_offered,
)
from identity_codec import ed25519, multikey
from identity_codec.deprecation import OldName
from identity_codec.ed25519 import Ed25519KeyPair
from identity_codec.values import Hidden

_UNBOUND: Final = "the challenge is not bound to a purpose and a body: request one with purpose, and for a change of a DID with bodyHash"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Signer(Hidden, Struct, frozen=True):
    """A DID and the secret multikey (``z3u2…``) of one of its authentication keys, or of its recovery key."""

    did: str
    secret: str

    @classmethod
    def from_keys(cls, issued: Mapping[str, Any], purpose: str = "authentication") -> Signer:
        """Return the signer of an answer of ``createDid``, or of a keys file of ``identity did create``: with the key
        for ``purpose``, which is ``authentication`` or ``recovery``. Raises ``KeyError`` where none was issued."""
        return cls(issued["did"], issued["keys"][purpose]["privateKey"])

    of = OldName("Signer.of", from_keys)

    @property
    def pair(self) -> Ed25519KeyPair:
        """The Ed25519 key pair of ``secret``. Raises ``ValueError`` for a key of another type."""
        kind, secret = multikey.decode_secret(self.secret)
        if kind != multikey.ED25519:
            raise ValueError("a DID signs with an Ed25519 key")
        return ed25519.generate(secret)

    def header(
        self,
        challenge: str,
        *,
        purpose: str,
        digest: str | None = None,
        target: str | None = None,
        scheme: str = DID_AUTH,
        origin: str | None = None,
        named: bool = False,
    ) -> str:
        """Return the value of the Authorization header: the scheme and ``base64(did.base64url(signature))``; where ``named``, with the
        challenge instead of the DID.

        ``purpose``, ``digest`` (``hash_body``) and ``target`` (path and query) are what the caller means to authorise. A ``digest`` of
        None is no body, a ``target`` of None a challenge that names none. ``origin`` is the service that is called, None where the caller
        knows whose the challenge is. Raises ``ChallengeRefused`` for a text that is not a challenge for this DID, or not bound to that,
        and ``ForeignOrigin`` for a challenge that a service had from another.

        A challenge without purpose is refused, and one for a change of the DID without the hash of a body: in the log of a DID without
        ``strictEvidence`` it serves for every change.
        """
        read = parse_offered(challenge)
        if read.did != self.did:
            raise ChallengeRefused("the challenge is for another DID")
        if read.purpose is None or (read.purpose in CHANGES and read.body_hash is None):
            raise ChallengeRefused(_UNBOUND)
        issuer = read.origin.partition("#")[0]
        if (read.purpose, read.body_hash, read.origin) != (purpose, digest, origin_field(issuer, target)):
            raise ChallengeRefused("the challenge authorises something else than the request")
        if origin is not None and _place(issuer) != _place(origin):
            raise ForeignOrigin(issuer)
        return f"{scheme} {build_header(challenge if named else self.did, self.pair.sign(challenge.encode()))}"


def _place(origin: str) -> tuple[str, str | None, int | None]:
    """Return the part by which two origins are compared. The names of this machine are one: no other machine listens there."""
    parts = urlsplit(origin)
    host = "localhost" if parts.hostname in _LOOPBACK else parts.hostname
    return parts.scheme, host, parts.port or {"http": 80, "https": 443}.get(parts.scheme)

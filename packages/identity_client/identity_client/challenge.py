"""The challenge that a controller signs, and the header that carries the signature (openapi/DECISIONS.md §3.1).

One line, fields separated by one space::

    didauth:v1 <origin> <did> <purpose or -> <body hash or -> <nonce> <expiry>

The text names the service, the DID, the purpose and the end, so a signature over it authorises nothing else. The body hash is base64url
of the SHA-256 of the body's JCS. If a challenge is bound to a target, the first field is ``<origin>#<target hash>``: base64url of the
SHA-256 of ``canonical_target``. A log does not compare this field with anything, so programs that do not know targets can verify
entries. The header value is ``base64(did.base64url(signature))``, which names no challenge, or
``base64(challenge.base64url(signature))``, which does.
"""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import datetime
from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct

from identity_client.did import split_did
from identity_codec import jcs, multibase, times
from identity_codec.strict_json import JsonValue

DID_AUTH: Final = "DIDAuth"
RECOVERY_KEY: Final = "RecoveryKey"

LABEL: Final = "didauth:v1"
UPDATE: Final = "update"
DEACTIVATE: Final = "deactivate"
ROTATE: Final = "rotate"
RECOVER: Final = "recover"
TOKEN: Final = "token"  # noqa: S105  (the name of a purpose)
CREDENTIAL: Final = "credential"
DELEGATE: Final = "delegate"
PROVE: Final = "prove"
READ: Final = "read"
ERASE: Final = "erase"
NICKNAME: Final = "label"
DISCLOSURES: Final = "disclosures"
HOLDER_SECRET: Final = "holder-secret"  # noqa: S105 - the name of a purpose
AUTHORIZE: Final = "authorize"
CHANGES: Final = frozenset({UPDATE, DEACTIVATE, ROTATE, RECOVER})
PURPOSES: Final = CHANGES | {
    *(TOKEN, CREDENTIAL, DELEGATE, PROVE, READ, ERASE, NICKNAME, DISCLOSURES, HOLDER_SECRET, AUTHORIZE)
}

NONCE_BYTES: Final = 32
HASH_BYTES: Final = 32
MAX_TEXT: Final = 2048

_NONE: Final = "-"
_ORIGIN: Final = re.compile(r"[!-~]{1,512}", re.ASCII)
_EXPIRY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", re.ASCII)


class Challenge(Struct, frozen=True):
    """A parsed challenge. ``purpose`` and ``body_hash`` are None where the text is not bound to any. ``origin`` is ``origin_field``."""

    origin: str
    did: str
    purpose: str | None
    body_hash: str | None
    nonce: str
    expires_at: datetime

    # The same text is parsed when it is issued, searched for, used and recorded.
    @staticmethod
    @lru_cache(maxsize=4096)
    def parse(text: str) -> Challenge:
        """Return the parts of a challenge. Raises ``ValueError`` unless ``text`` is exactly what ``build`` writes."""
        fields = text.split(" ") if len(text) <= MAX_TEXT else []
        if len(fields) != 7 or fields[0] != LABEL:
            raise ValueError("not a DIDAuth challenge")
        _, origin, did, purpose, body_hash, nonce, expiry = fields
        if _ORIGIN.fullmatch(origin) is None or (purpose != _NONE and purpose not in PURPOSES):
            raise ValueError("not a DIDAuth challenge")
        if body_hash != _NONE and len(multibase.base64url_decode(body_hash)) != HASH_BYTES:
            raise ValueError("the body hash is not a SHA-256")
        if len(multibase.base64url_decode(nonce)) != NONCE_BYTES:
            raise ValueError("the nonce has another length")
        if _EXPIRY.fullmatch(expiry) is None:
            raise ValueError("the expiry is not a time in whole seconds")
        split_did(did)
        named, bound = (None if one == _NONE else one for one in (purpose, body_hash))
        return Challenge(origin, did, named, bound, nonce, times.parse(expiry))

    @property
    def text(self) -> str:
        """Return the text of the challenge; a challenge has one text."""
        nonce = multibase.base64url_decode(self.nonce)
        return join(self.origin, self.did, self.purpose, self.body_hash, nonce, self.expires_at)

    def fits(self, origin: str, purpose: str, body_hash: str | None, target: str | None = None) -> bool:
        """Return whether a signature over this challenge may authorise a request to ``origin`` for ``purpose`` with this body and
        ``target``. Bound fields must be equal. A challenge with a purpose and no hash is for a request without a body. Other unbound
        fields allow everything."""
        is_bound = self.purpose in (None, purpose) and self.body_hash in body_hashes(self.purpose, body_hash)
        return is_bound and self.origin in (origin, origin_field(origin, target))


def body_hashes(purpose: str | None, body_hash: str | None) -> tuple[str | None, ...]:
    """Return the body hashes that a challenge for ``purpose`` may have if the request's body has ``body_hash``."""
    return (body_hash,) if purpose is not None else (body_hash, None)


class ChallengeRefused(ValueError):
    """A challenge that is malformed, or authorises something else than the request; nothing was signed."""


class ForeignOrigin(ChallengeRefused):
    """A service hands on a challenge of another one: anyone who signs it signs in there. Holds the ``origin`` of the challenge."""

    def __init__(self, origin: str) -> None:
        super().__init__(f"the challenge is one of {origin}")
        self.origin = origin


def parse_offered(text: str) -> Challenge:
    """Return a challenge that a service offers for a signature. Raises ``ChallengeRefused``."""
    try:
        return Challenge.parse(text)
    except ValueError as error:
        raise ChallengeRefused(str(error)) from error


def build(
    *, origin: str, did: str, purpose: str | None, body_hash: str | None, nonce: bytes, expires_at: datetime
) -> str:
    """Return the text of a challenge. ``nonce`` is 32 bytes; the end is written in whole seconds. Raises ``ValueError``."""
    Challenge.parse(text := join(origin, did, purpose, body_hash, nonce, expires_at))
    return text


def join(origin: str, did: str, purpose: str | None, body_hash: str | None, nonce: bytes, expires_at: datetime) -> str:
    """Return the same text for fields that were checked before."""
    named, bound = (_NONE if one is None else one for one in (purpose, body_hash))
    return f"{LABEL} {origin} {did} {named} {bound} {multibase.base64url_encode(nonce)} {times.printed(expires_at)}"


def hash_body(body: JsonValue) -> str:
    """Return the body hash of a challenge: base64url of the SHA-256 of the body's JCS. Raises ``ValueError``."""
    return _hash(jcs.canonicalize(body))


def _hash(content: bytes) -> str:
    return multibase.base64url_encode(hashlib.sha256(content).digest())


def origin_field(origin: str, target: str | None) -> str:
    """Return the first field of a challenge: the origin, and the hash of the target where it is bound to one."""
    return origin if target is None else f"{origin}#{_hash(canonical_target(target).encode())}"


def canonical_target(target: str) -> str:
    """Return path and query of a request in the one form that is hashed.

    The path is that below ``/api/v1``. Each segment, and each name and value of the query, is decoded and encoded again: all but the
    unreserved characters of RFC 3986 §2.3 are ``%XX``. The pairs ``name=value`` are sorted; an empty query is left out.
    """
    path, _, query = target.removeprefix("/api/v1").partition("?")
    pairs = (pair.replace("+", "%20").partition("=") for pair in query.split("&") if pair)
    ordered = "&".join(sorted(f"{_encoded(name)}={_encoded(value)}" for name, _, value in pairs))
    return "/".join(map(_encoded, path.split("/"))) + (f"?{ordered}" if ordered else "")


def _encoded(text: str) -> str:
    return quote(unquote_to_bytes(text), safe="")


def build_header(signer: str, signature: bytes) -> str:
    """Return the value that follows ``DIDAuth`` or ``RecoveryKey``; ``signer`` is the DID or the whole challenge."""
    return base64.b64encode(f"{signer}.{multibase.base64url_encode(signature)}".encode()).decode("ascii")

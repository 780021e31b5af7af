"""The challenge that a controller signs, and the header that carries the signature (contract §3).

One line, fields separated by one space::

    didauth:v1 <origin> <did> <purpose or -> <body hash or -> <nonce> <expiry>

The text says who asks, whom, for what and until when, so that a signature over it can never pass for one over something
else. The body hash is base64url of the SHA-256 of the body's JCS. The header value is
``base64(did.base64url(signature))``, which names no challenge, or ``base64(challenge.base64url(signature))``, which does.
What the nonce is made of: ``challenge_mac.py``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from identity_core.codec import jcs, multibase
from identity_core.domain import times
from identity_core.domain.did import Did
from identity_core.errors import AuthFailed, InvalidDid, JsonValue

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
PURPOSES: Final = frozenset({UPDATE, DEACTIVATE, ROTATE, RECOVER, TOKEN, CREDENTIAL, DELEGATE, PROVE, READ})

NONCE_BYTES: Final = 32
HASH_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
MAX_TEXT: Final = 2048
MAX_HEADER: Final = 4 * ((MAX_TEXT + 1 + 86 + 2) // 3)

_NONE: Final = "-"
_ORIGIN: Final = re.compile(r"[!-~]{1,512}", re.ASCII)
_EXPIRY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Challenge:
    """A parsed challenge. ``purpose`` and ``body_hash`` are None where the text is not bound to any."""

    origin: str
    did: str
    purpose: str | None
    body_hash: str | None
    nonce: str
    expires_at: datetime

    @classmethod
    def parse(cls, text: str) -> Challenge:
        """Raises ``ValueError`` unless ``text`` is exactly what ``build`` writes."""
        fields = text.split(" ") if len(text) <= MAX_TEXT else []
        if len(fields) != 7 or fields[0] != LABEL:
            raise ValueError("not a DIDAuth challenge")
        _, origin, did, purpose, body_hash, nonce, expiry = fields
        if _ORIGIN.fullmatch(origin) is None or (purpose != _NONE and purpose not in PURPOSES):
            raise ValueError("not a DIDAuth challenge")
        if body_hash != _NONE and len(multibase.base64url_decode(body_hash)) != HASH_BYTES:
            raise ValueError("the body hash is no SHA-256")
        if len(multibase.base64url_decode(nonce)) != NONCE_BYTES:
            raise ValueError("the nonce has another length")
        if _EXPIRY.fullmatch(expiry) is None:
            raise ValueError("the expiry is not a time in whole seconds")
        try:
            Did.parse(did)
        except InvalidDid as error:
            raise ValueError("the challenge names no DID") from error
        return cls(
            origin,
            did,
            None if purpose == _NONE else purpose,
            None if body_hash == _NONE else body_hash,
            nonce,
            times.parse(expiry),
        )

    @property
    def text(self) -> str:
        """What ``parse`` read: there is one way to write a challenge."""
        nonce = multibase.base64url_decode(self.nonce)
        return join(self.origin, self.did, self.purpose, self.body_hash, nonce, self.expires_at)

    def fits(self, origin: str, purpose: str, body_hash: str | None) -> bool:
        """Whether a signature over this challenge may authorise a request to ``origin`` for ``purpose`` with this body: bound fields
        must be the same, unbound ones allow everything."""
        return self.origin == origin and self.purpose in (None, purpose) and self.body_hash in (None, body_hash)


def build(
    *, origin: str, did: str, purpose: str | None, body_hash: str | None, nonce: bytes, expires_at: datetime
) -> str:
    """The text of a challenge. ``nonce`` is 32 octets; ``expires_at`` is written in whole seconds. Raises ``ValueError`` when a
    field cannot stand in it."""
    text = join(origin, did, purpose, body_hash, nonce, expires_at)
    Challenge.parse(text)
    return text


def join(origin: str, did: str, purpose: str | None, body_hash: str | None, nonce: bytes, expires_at: datetime) -> str:
    """The same, unchecked: for fields that were checked before."""
    return " ".join(
        (
            LABEL,
            origin,
            did,
            purpose if purpose is not None else _NONE,
            body_hash if body_hash is not None else _NONE,
            multibase.base64url_encode(nonce),
            times.printed(expires_at),
        )
    )


def hash_body(body: JsonValue) -> str:
    """What a challenge binds a body by: base64url of the SHA-256 of its JCS. Raises ``ValueError``."""
    return multibase.base64url_encode(hashlib.sha256(jcs.canonicalize(body)).digest())


@dataclass(frozen=True, slots=True)
class SignedHeader:
    """Who signed, the 64-byte signature, and the challenge where the header names it."""

    did: Did
    signature: bytes
    named: Challenge | None = None


def build_header(signer: str, signature: bytes) -> str:
    """The value that follows ``DIDAuth`` or ``RecoveryKey``; ``signer`` is the DID or the whole challenge."""
    return base64.b64encode(f"{signer}.{multibase.base64url_encode(signature)}".encode()).decode("ascii")


def parse_header(value: str) -> SignedHeader:
    """Raises ``AuthFailed`` for whatever ``build_header`` would not have written.

    The text is split at the last dot, because DIDs have dots.
    """
    try:
        if len(value) > MAX_HEADER:
            raise ValueError("too long")
        octets = base64.b64decode(value.encode("ascii"), validate=True)
        if base64.b64encode(octets).decode("ascii") != value:
            raise ValueError("base64 with bits left over")
        text, _, encoded = octets.decode("ascii").rpartition(".")
        named = Challenge.parse(text) if text.startswith(f"{LABEL} ") else None
        did = Did.parse(text if named is None else named.did)
        signature = multibase.base64url_decode(encoded)
        if len(signature) != SIGNATURE_BYTES:
            raise ValueError("a signature has 64 bytes")
    except (ValueError, binascii.Error, InvalidDid) as error:
        raise AuthFailed from error
    return SignedHeader(did, signature, named)

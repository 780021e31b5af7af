"""The challenge that a controller signs, and the header that carries the signature (openapi/DECISIONS.md §3.1).

One line, fields separated by one space::

    didauth:v1 <origin> <did> <purpose or -> <body hash or -> <nonce> <expiry>

The text says who asks, whom, for what and until when, so that a signature over it can never pass for one over something
else. The body hash is base64url of the SHA-256 of the body's JCS. Of a challenge that is bound to a target, the first field is
``<origin>#<target hash>``: base64url of the SHA-256 of ``canonical_target``. A log does not compare this field with anything, so
entries can be verified by programs that do not know of targets. The header value is
``base64(did.base64url(signature))``, which names no challenge, or ``base64(challenge.base64url(signature))``, which does.

Each challenge is handed out once. Its nonce has 16 random bytes and a MAC of 16 bytes (HMAC-SHA-256, truncated) over everything that
the challenge states, the random bytes among it. So a header that names its challenge needs no stored record. For a header that does
not, the store remembers which challenges were handed out, by ``ChallengeScope`` (``store/README.md``).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from identity_codec import jcs, multibase, times
from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthFailed, InvalidDid

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
DISCLOSURES: Final = "disclosures"
HOLDER_SECRET: Final = "holder-secret"  # noqa: S105 - the name of a purpose
AUTHORIZE: Final = "authorize"
CHANGES: Final = frozenset({UPDATE, DEACTIVATE, ROTATE, RECOVER})
PURPOSES: Final = CHANGES | {TOKEN, CREDENTIAL, DELEGATE, PROVE, READ, ERASE, DISCLOSURES, HOLDER_SECRET, AUTHORIZE}

NONCE_BYTES: Final = 32
HASH_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
MAX_TEXT: Final = 2048
MAX_HEADER: Final = 4 * ((MAX_TEXT + 1 + 88 + 2) // 3)

_NONE: Final = "-"
_ORIGIN: Final = re.compile(r"[!-~]{1,512}", re.ASCII)
_EXPIRY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", re.ASCII)


@value_class
class Challenge:
    """A parsed challenge. ``purpose`` and ``body_hash`` are None where the text is not bound to any. ``origin`` is ``origin_field``."""

    origin: str
    did: str
    purpose: str | None
    body_hash: str | None
    nonce: str
    expires_at: datetime

    # A challenge is handed out, its signature is looked for, spent and drafted with the same text.
    @staticmethod
    @lru_cache(maxsize=4096)
    def parse(text: str) -> Challenge:
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
        asked, bound = (None if one == _NONE else one for one in (purpose, body_hash))
        return Challenge(origin, did, asked, bound, nonce, times.parse(expiry))

    @property
    def text(self) -> str:
        """What ``parse`` read: there is one way to write a challenge."""
        nonce = multibase.base64url_decode(self.nonce)
        return join(self.origin, self.did, self.purpose, self.body_hash, nonce, self.expires_at)

    def fits(self, origin: str, purpose: str, body_hash: str | None, target: str | None = None) -> bool:
        """Whether a signature over this challenge may authorise a request to ``origin`` for ``purpose`` with this body and ``target``:
        bound fields must be the same, unbound ones allow everything."""
        is_bound = self.purpose in (None, purpose) and self.body_hash in (None, body_hash)
        return is_bound and self.origin in (origin, origin_field(origin, target))


def build(
    *, origin: str, did: str, purpose: str | None, body_hash: str | None, nonce: bytes, expires_at: datetime
) -> str:
    """The text of a challenge. ``nonce`` is 32 octets, the end written in whole seconds. Raises ``ValueError`` for what cannot be said."""
    Challenge.parse(text := join(origin, did, purpose, body_hash, nonce, expires_at))
    return text


def join(origin: str, did: str, purpose: str | None, body_hash: str | None, nonce: bytes, expires_at: datetime) -> str:
    """The same, unchecked: for fields that were checked before."""
    said, bound = (_NONE if one is None else one for one in (purpose, body_hash))
    return f"{LABEL} {origin} {did} {said} {bound} {multibase.base64url_encode(nonce)} {times.printed(expires_at)}"


def hash_body(body: JsonValue) -> str:
    """What a challenge binds a body by: base64url of the SHA-256 of its JCS. Raises ``ValueError``."""
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


@value_class
class SignedHeader:
    """Who signed, the 64-byte signature, and the challenge where the header names it."""

    did: Did
    signature: bytes
    named: Challenge | None = None


def build_header(signer: str, signature: bytes) -> str:
    """The value that follows ``DIDAuth`` or ``RecoveryKey``; ``signer`` is the DID or the whole challenge."""
    return base64.b64encode(f"{signer}.{multibase.base64url_encode(signature)}".encode()).decode("ascii")


def strip_padding(text: str) -> str:
    """Return base64 or base64url text without its padding, which may be left out (RFC 4648 §3.2). Raises ``ValueError`` when it
    has another length than the text needs."""
    bare = text.rstrip("=")
    if text not in (bare, bare + "=" * (-len(bare) % 4)):
        raise ValueError("the padding has another length")
    return bare


# A request calls this twice: to find the signer, and to verify the signature.
@lru_cache(maxsize=64)
def parse_header(value: str) -> SignedHeader:
    """Return the parts of a header value. Base64 and base64url are read with and without padding, and otherwise strictly.

    The text is split at the last dot, because DIDs contain dots. Raises ``AuthFailed``: ``details.reason`` names the part that
    cannot be read.
    """
    reason = f"the value is not base64 of at most {MAX_HEADER} characters"
    try:
        bare = strip_padding(value)
        octets = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
        if len(value) > MAX_HEADER or base64.b64encode(octets).decode("ascii").rstrip("=") != bare:
            raise ValueError(reason)
        reason = "the decoded value does not begin with a DID or a challenge of this service, and a dot"
        text, _, encoded = octets.decode("ascii").rpartition(".")
        named = Challenge.parse(text) if text.startswith(f"{LABEL} ") else None
        did = Did.parse(text if named is None else named.did)
        reason = "the signature is not base64url"
        signature = multibase.base64url_decode(strip_padding(encoded))
        reason = f"the signature has {len(signature)} bytes; {SIGNATURE_BYTES} are needed"
        if len(signature) != SIGNATURE_BYTES:
            raise ValueError(reason)
    except (ValueError, InvalidDid) as error:
        raise AuthFailed(f"The signature header cannot be read: {reason}.", details={"reason": reason}) from error
    return SignedHeader(did, signature, named)


NUMBER_BYTES: Final = 16
MAC_BYTES: Final = 16

VERIFICATIONS: Final = 64
"""The most signatures that one search for a challenge makes the service verify: pairs of a challenge and a key. A request has one search,
or two where it repeats a change with its ``Idempotency-Key``."""

SKEW: Final = timedelta(seconds=30)
"""How far the clocks of two replicas may differ."""

_LABEL: Final = b"identity: challenge, v1\n"
_SCOPE_BYTES: Final = 16


@value_class
class ChallengeScope:
    """All fields of a challenge but its nonce. ``purpose`` and ``body_hash`` are None where the challenge is not bound."""

    origin: str
    did: str
    purpose: str | None
    body_hash: str | None
    expires_at: datetime

    @property
    def around(self) -> tuple[str, str]:
        """The text before and after the nonce."""
        return around(join(self.origin, self.did, self.purpose, self.body_hash, b"", self.expires_at))

    @property
    def digest(self) -> bytes:
        """16 bytes that stand for the scope without its expiry."""
        return hashlib.sha256(self.around[0].encode()).digest()[:_SCOPE_BYTES]


def around(text: str) -> tuple[str, str]:
    """Return what is before and after the nonce of a challenge."""
    before, _, after = text.rsplit(" ", 2)
    return f"{before} ", f" {after}"


@value_class
class ChallengeKey:
    """A MAC key for challenges. ``secret``: 32 bytes that all processes derive from the custodian."""

    secret: bytes = field(repr=False)

    def text(self, around: tuple[str, str], number: bytes) -> str:
        """Return the challenge with this number of 16 bytes. ``around`` is that of its scope."""
        return multibase.base64url_encode(number + self._mac(around, number)).join(around)

    def is_ours(self, said: Challenge) -> bool:
        """Return whether this key wrote it, in constant time."""
        nonce = multibase.base64url_decode(said.nonce)
        return hmac.compare_digest(nonce[NUMBER_BYTES:], self._mac(around(said.text), nonce[:NUMBER_BYTES]))

    def _mac(self, around: tuple[str, str], number: bytes) -> bytes:
        message = _LABEL + multibase.base64url_encode(number + bytes(MAC_BYTES)).join(around).encode()
        return hmac.digest(self.secret, message, hashlib.sha256)[:MAC_BYTES]


def expiry_for(moment: datetime, lifetime: timedelta) -> datetime:
    """Return the end of a challenge that is handed out at ``moment``, in whole seconds."""
    return datetime.fromtimestamp(int((moment + lifetime).timestamp()), UTC)


def is_current(expires_at: datetime, moment: datetime, lifetime: timedelta) -> bool:
    """Return whether a challenge with this end may be used at ``moment``. If the clock was set back, an end beyond any that is handed
    out now is refused."""
    return moment < expires_at <= moment + lifetime + SKEW

"""The challenge that a controller signs, and the header that carries the signature (openapi/DECISIONS.md §3.1).

One line, fields separated by one space::

    didauth:v1 <origin> <did> <purpose or -> <body hash or -> <nonce> <expiry>

The text says who asks, whom, for what and until when, so that a signature over it can never pass for one over something
else. The body hash is base64url of the SHA-256 of the body's JCS. The header value is
``base64(did.base64url(signature))``, which names no challenge, or ``base64(challenge.base64url(signature))``, which does.

Challenges that no one has to remember (openapi/DECISIONS.md §3.1): what was handed out is known by a MAC, and only what was spent is
stored.

The nonce of a challenge is a number of 16 octets and a MAC of 16 octets (HMAC-SHA-256, cut) over everything that the challenge
says, the number among it. The header of a signature need not name its challenge, so the service must be able to write every
challenge that such a signature may be over: expiries lie on a grid of half a lifetime, and the numbers of one saying (origin,
DID, purpose, body, expiry) count from zero, a few beyond those that are spent. A header that names its challenge allows any
number, a random one among them, and costs one verification a key.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import count, islice
from typing import Final

from identity_core.codec import jcs, multibase, times
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthFailed, InvalidDid, JsonValue
from identity_core.values import value_class

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
        return _parsed(text)

    @property
    def text(self) -> str:
        """What ``parse`` read: there is one way to write a challenge."""
        nonce = multibase.base64url_decode(self.nonce)
        return join(self.origin, self.did, self.purpose, self.body_hash, nonce, self.expires_at)

    def fits(self, origin: str, purpose: str, body_hash: str | None) -> bool:
        """Whether a signature over this challenge may authorise a request to ``origin`` for ``purpose`` with this body: bound fields
        must be the same, unbound ones allow everything."""
        return self.origin == origin and self.purpose in (None, purpose) and self.body_hash in (None, body_hash)


# A challenge is handed out, its signature is looked for, spent and drafted with the same text.
@lru_cache(maxsize=4096)
def _parsed(text: str) -> Challenge:
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
    return Challenge(
        origin,
        did,
        None if purpose == _NONE else purpose,
        None if body_hash == _NONE else body_hash,
        nonce,
        times.parse(expiry),
    )


def build(
    *, origin: str, did: str, purpose: str | None, body_hash: str | None, nonce: bytes, expires_at: datetime
) -> str:
    """The text of a challenge. ``nonce`` is 32 octets, the end written in whole seconds. Raises ``ValueError`` for what cannot be said."""
    text = join(origin, did, purpose, body_hash, nonce, expires_at)
    Challenge.parse(text)
    return text


def join(origin: str, did: str, purpose: str | None, body_hash: str | None, nonce: bytes, expires_at: datetime) -> str:
    """The same, unchecked: for fields that were checked before."""
    said, bound = (_NONE if one is None else one for one in (purpose, body_hash))
    return f"{LABEL} {origin} {did} {said} {bound} {multibase.base64url_encode(nonce)} {times.printed(expires_at)}"


def hash_body(body: JsonValue) -> str:
    """What a challenge binds a body by: base64url of the SHA-256 of its JCS. Raises ``ValueError``."""
    return multibase.base64url_encode(hashlib.sha256(jcs.canonicalize(body)).digest())


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

VERIFICATIONS: Final = 256
"""What one attempt may cost: every pair of a key and a challenge that the request may be signed over is tried."""

SKEW: Final = timedelta(seconds=30)
"""How far the clocks of two replicas may differ."""

SPENT_READ: Final = 32
"""How many spent numbers of a saying are looked at: one that lies further back is given up for lost."""

_KINDS: Final = 4  # bound to the purpose or not, and to the body or not
_EXPIRIES: Final = 3  # of one moment: two, and near the end of a half a third
_LABEL: Final = b"identity: challenge, v1\n"
_SAYING_BYTES: Final = 16
_NO_NONCE: Final = multibase.base64url_encode(bytes(NONCE_BYTES))


@value_class
class Saying:
    """Everything that a challenge says but its nonce. ``purpose`` and ``body_hash`` are None where it is bound to none."""

    origin: str
    did: str
    purpose: str | None
    body_hash: str | None
    expires_at: datetime

    @classmethod
    def of(cls, said: Challenge) -> Saying:
        """What ``said`` says."""
        return cls(said.origin, said.did, said.purpose, said.body_hash, said.expires_at)

    def text(self, nonce: bytes) -> str:
        """The challenge with this nonce of 32 octets."""
        return join(self.origin, self.did, self.purpose, self.body_hash, nonce, self.expires_at)

    @property
    def around(self) -> tuple[str, str]:
        """What stands before and after the nonce."""
        before, _, after = self.text(bytes(NONCE_BYTES)).rsplit(" ", 2)
        return f"{before} ", f" {after}"

    @property
    def digest(self) -> bytes:
        """16 octets under which the numbers of this saying are counted."""
        return saying_digest(self.text(bytes(NONCE_BYTES)))


def saying_digest(text: str) -> bytes:
    """The ``digest`` of the saying of a challenge, whatever its nonce."""
    before, _, after = text.rsplit(" ", 2)
    return hashlib.sha256(f"{before} {_NO_NONCE} {after}".encode()).digest()[:_SAYING_BYTES]


@value_class
class ChallengeKey:
    """Writes challenges and knows its own. ``secret``: 32 octets that all processes derive from the custodian."""

    secret: bytes = field(repr=False)

    def text(self, around: tuple[str, str], number: bytes) -> str:
        """The challenge of this number, 16 octets. ``around`` is that of its saying."""
        return multibase.base64url_encode(number + self._mac(around, number)).join(around)

    def is_ours(self, said: Challenge) -> bool:
        """Whether this key wrote it; takes the same time for every MAC."""
        nonce = multibase.base64url_decode(said.nonce)
        number, mac = nonce[:NUMBER_BYTES], nonce[NUMBER_BYTES:]
        return hmac.compare_digest(mac, self._mac(Saying.of(said).around, number))

    def _mac(self, around: tuple[str, str], number: bytes) -> bytes:
        message = _LABEL + multibase.base64url_encode(number + bytes(MAC_BYTES)).join(around).encode()
        return hmac.digest(self.secret, message, hashlib.sha256)[:MAC_BYTES]


def counted(number: int) -> bytes:
    """A counted number as it stands in the nonce."""
    return number.to_bytes(NUMBER_BYTES, "big")


def count_of(said: Challenge) -> int | None:
    """The number of a challenge that was counted; None for a random one."""
    number = int.from_bytes(multibase.base64url_decode(said.nonce)[:NUMBER_BYTES], "big")
    return number if number < 1 << 62 else None


def expiry_for(moment: datetime, lifetime: timedelta) -> datetime:
    """When a challenge that is handed out at ``moment`` ends: after more than half of ``lifetime`` and at most all of it."""
    half = _half(lifetime)
    return datetime.fromtimestamp((int(moment.timestamp()) // half + 2) * half, UTC)


def expiries(moment: datetime, lifetime: timedelta) -> Sequence[datetime]:
    """The ends of the challenges that may be used at ``moment``, the latest first: also those of a replica whose clock is ahead."""
    half, seconds = _half(lifetime), moment.timestamp()
    last = int(seconds) // half + 2
    ahead = int(seconds + min(SKEW.total_seconds(), half / 5)) // half + 2
    return [datetime.fromtimestamp(end * half, UTC) for end in dict.fromkeys((ahead, last, last - 1))]


def open_numbers(spent: Sequence[int], most: int) -> list[int]:
    """The ``most`` lowest numbers that are not among ``spent``, which are the highest spent ones of a saying."""
    taken = set(spent)
    first = max(0, max(spent) + 1 - SPENT_READ) if spent else 0
    return list(islice((number for number in count(first) if number not in taken), most))


def numbers_of_a_saying(cap: int, keys: int) -> int:
    """How many numbers of one saying are open for a DID with ``keys`` keys that may sign: at most ``cap``, and so few that every
    pair of key and challenge, and one challenge twice, can be tried within ``VERIFICATIONS``."""
    return max(1, min(cap, (VERIFICATIONS // max(1, keys) - 1) // (_KINDS * _EXPIRIES)))


def _half(lifetime: timedelta) -> int:
    return max(1, int(lifetime.total_seconds()) // 2)

"""Headers that carry the signature of a challenge, and the MAC of a challenge (``identity_client.challenge``: the text).

Each challenge is issued once. Its nonce has 16 random bytes and a MAC of 16 bytes (HMAC-SHA-256, truncated) over everything that
the challenge states, the random bytes among it. So a header that names its challenge needs no stored record. For a header that does
not, the store remembers which challenges were issued, by ``ChallengeScope`` (``store/README.md``).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from msgspec import Struct

from identity_client.challenge import LABEL, MAX_TEXT, Challenge, join
from identity_codec import multibase
from identity_codec.values import Hidden
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthFailed, InvalidDid

SIGNATURE_BYTES: Final = 64
MAX_HEADER: Final = 4 * ((MAX_TEXT + 1 + 88 + 2) // 3)


class SignedHeader(Hidden, Struct, frozen=True):
    """The signer, the 64-byte signature, and the challenge if the header names it."""

    did: Did
    signature: bytes
    named: Challenge | None = None


def strip_padding(text: str) -> str:
    """Return base64 or base64url text without its padding, which is optional (RFC 4648 §3.2). Raises ``ValueError``: when the padding
    does not have the length that the text needs."""
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
        data = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
        if len(value) > MAX_HEADER or base64.b64encode(data).decode("ascii").rstrip("=") != bare:
            raise ValueError(reason)
        reason = "the decoded value does not begin with a DID or a challenge of this service, and a dot"
        text, _, encoded = data.decode("ascii").rpartition(".")
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
"""The maximum difference between the clocks of two replicas."""

_LABEL: Final = b"identity: challenge, v1\n"
_SCOPE_BYTES: Final = 16


class ChallengeScope(Struct, frozen=True):
    """All fields of a challenge but its nonce. ``purpose`` and ``body_hash`` are None if the challenge is not bound."""

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
        """Return 16 bytes that identify the scope without its expiry."""
        return hashlib.sha256(self.around[0].encode()).digest()[:_SCOPE_BYTES]


def around(text: str) -> tuple[str, str]:
    """Return the text before and after the nonce of a challenge."""
    before, _, after = text.rsplit(" ", 2)
    return f"{before} ", f" {after}"


class ChallengeKey(Hidden, Struct, frozen=True):
    """A MAC key for challenges. ``secret``: 32 bytes that all processes derive from the custodian."""

    secret: bytes

    def text(self, around: tuple[str, str], number: bytes) -> str:
        """Return the challenge with this number of 16 bytes. ``around`` is that of its scope."""
        return multibase.base64url_encode(number + self._mac(around, number)).join(around)

    def is_ours(self, said: Challenge) -> bool:
        """Return whether this key made the MAC of the challenge, in constant time."""
        nonce = multibase.base64url_decode(said.nonce)
        return hmac.compare_digest(nonce[NUMBER_BYTES:], self._mac(around(said.text), nonce[:NUMBER_BYTES]))

    def _mac(self, around: tuple[str, str], number: bytes) -> bytes:
        message = _LABEL + multibase.base64url_encode(number + bytes(MAC_BYTES)).join(around).encode()
        return hmac.digest(self.secret, message, hashlib.sha256)[:MAC_BYTES]


def expiry_for(moment: datetime, lifetime: timedelta) -> datetime:
    """Return the expiry of a challenge that is issued at ``moment``, in whole seconds."""
    return datetime.fromtimestamp(int((moment + lifetime).timestamp()), UTC)


def is_current(expires_at: datetime, moment: datetime, lifetime: timedelta) -> bool:
    """Return whether a challenge with this expiry may be used at ``moment``. An expiry later than that of a challenge issued now is
    refused, because the clock was set back."""
    return moment < expires_at <= moment + lifetime + SKEW

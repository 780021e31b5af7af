"""Pre-authorised codes, the access tokens that they are exchanged for, and nonces (OpenID4VCI 1.0 §3.5, §6, §7).

Nothing is stored before one is spent: a code and a token are sealed under a secret of the service, and a nonce has its MAC, so that every
process knows its own, also after a restart. What makes them one-use is the caller's. All errors are ``ValueError``.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

import orjson
from msgspec import Struct

from identity_codec import multibase, sealing
from identity_codec.values import Hidden, replace

PRE_AUTHORIZED: Final = "urn:ietf:params:oauth:grant-type:pre-authorized_code"
CODE_LIFE: Final = timedelta(minutes=10)
TOKEN_LIFE: Final = timedelta(minutes=10)
NONCE_LIFE: Final = timedelta(minutes=5)
MOST_TRIES: Final = 5
"""How often a transaction code may be guessed."""
TRANSACTION_DIGITS: Final = 6
MAX_TEXT: Final = 1_024
_ID_OCTETS: Final = 16
_NONCE_OCTETS: Final = 16
_MAC_OCTETS: Final = 32


class Stage(StrEnum):
    """The kind of a sealed grant."""

    CODE = "pre-authorized code"
    TOKEN = "access token"  # noqa: S105 - a name


class WalletGrant(Hidden, Struct, frozen=True):
    """The grant of an offer: the credential of this id, once, until ``expires_at`` (aware UTC, whole seconds). ``transaction_code`` is
    what the holder has to type in, None for nothing. ``id`` is random."""

    id: str
    credential_id: str
    expires_at: datetime
    transaction_code: str | None = None

    def __repr__(self) -> str:
        return "WalletGrant(…)"

    def digest(self, use: str) -> bytes:
        """Return the 32 bytes that mark a ``use`` of it as consumed."""
        return hashlib.sha256(f"identity: wallet grant, v1\n{use}\n{self.id}".encode()).digest()

    def has_code(self, text: str) -> bool:
        """Return whether this is the transaction code."""
        return hmac.compare_digest((self.transaction_code or "").encode(), text.encode())


class WalletGrants(Hidden, Struct, frozen=True):
    """``secret`` has 32 bytes, ``random`` is the operating system's random source."""

    secret: bytes
    random: Callable[[int], bytes]

    def offer(self, credential_id: str, now: datetime, *, with_transaction_code: bool) -> WalletGrant:
        """Return a new grant."""
        code = None
        if with_transaction_code:
            # 64 random bits leave no bias that a guesser of five tries could use.
            number = int.from_bytes(self.random(8)) % 10**TRANSACTION_DIGITS
            code = f"{number:0{TRANSACTION_DIGITS}d}"
        expires_at = now.replace(microsecond=0) + CODE_LIFE
        return WalletGrant(multibase.base64url_encode(self.random(_ID_OCTETS)), credential_id, expires_at, code)

    def for_token(self, grant: WalletGrant, now: datetime) -> WalletGrant:
        """Return what the access token of a code grants."""
        return replace(grant, expires_at=now.replace(microsecond=0) + TOKEN_LIFE, transaction_code=None)

    def seal(self, stage: Stage, grant: WalletGrant) -> str:
        """Return the code or the token."""
        expires = int(grant.expires_at.timestamp())
        plain = orjson.dumps([grant.id, grant.credential_id, expires, grant.transaction_code])
        return multibase.base64url_encode(sealing.seal(self.secret, plain, _bound(stage), random=self.random))

    def open(self, stage: Stage, text: str, now: datetime) -> WalletGrant:
        """Return what a code or token grants at ``now``."""
        if len(text) > MAX_TEXT:
            raise ValueError("the text is too long")
        try:
            plain = sealing.unseal(self.secret, multibase.base64url_decode(text), _bound(stage))
        except sealing.BoxInvalid as error:
            raise ValueError("the text is not one of ours") from error
        identifier, credential_id, expires, code = orjson.loads(plain)
        grant = WalletGrant(identifier, credential_id, datetime.fromtimestamp(expires, UTC), code)
        if now >= grant.expires_at:
            raise ValueError("the text has expired")
        return grant

    def nonce(self, now: datetime) -> str:
        """Return a nonce for a proof of possession."""
        told = int((now + NONCE_LIFE).timestamp()).to_bytes(8) + self.random(_NONCE_OCTETS)
        return multibase.base64url_encode(told + self._mac(told))

    def nonce_end(self, text: str, now: datetime) -> datetime:
        """Return the end of a nonce of this service that is in force."""
        data = multibase.base64url_decode(text) if len(text) <= MAX_TEXT else b""
        told, mac = data[:-_MAC_OCTETS], data[-_MAC_OCTETS:]
        if len(told) != 8 + _NONCE_OCTETS or not hmac.compare_digest(mac, self._mac(told)):
            raise ValueError("the nonce is not one of ours")
        end = datetime.fromtimestamp(int.from_bytes(told[:8]), UTC)
        if now >= end:
            raise ValueError("the nonce has expired")
        return end

    def _mac(self, told: bytes) -> bytes:
        return hmac.digest(self.secret, b"identity: wallet nonce, v1\n" + told, "sha256")


def _bound(stage: Stage) -> bytes:
    return f"identity: wallet {stage}, v1".encode()

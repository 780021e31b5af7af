"""Challenges that nobody has to remember (contract §3): what was handed out is known by a MAC, and only what was spent is stored.

The nonce of a challenge is a number of 16 octets and a MAC of 16 octets (HMAC-SHA-256, cut) over everything that the challenge
says, the number among it. The header of a signature need not name its challenge, so the service must be able to write every
challenge that such a signature may be over: expiries lie on a grid of half a lifetime, and the numbers of one saying (origin,
DID, purpose, body, expiry) count from zero, a few beyond those that are spent. A header that names its challenge allows any
number, a random one among them, and costs one verification a key.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from typing import Final

from identity_core.codec import multibase
from identity_core.domain import challenge
from identity_core.domain.challenge import Challenge

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


@dataclass(frozen=True, slots=True)
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
        return challenge.join(self.origin, self.did, self.purpose, self.body_hash, nonce, self.expires_at)

    @property
    def digest(self) -> bytes:
        """16 octets under which the numbers of this saying are counted."""
        return hashlib.sha256(self.text(bytes(challenge.NONCE_BYTES)).encode()).digest()[:_SAYING_BYTES]


@dataclass(frozen=True, slots=True)
class ChallengeKey:
    """Writes challenges and knows its own. ``secret``: 32 octets that all processes derive from the custodian."""

    secret: bytes = field(repr=False)

    def text(self, saying: Saying, number: bytes) -> str:
        """The challenge of this number, 16 octets."""
        return saying.text(number + self._mac(saying, number))

    def is_ours(self, said: Challenge) -> bool:
        """Whether this key wrote it; takes the same time for every MAC."""
        nonce = multibase.base64url_decode(said.nonce)
        number, mac = nonce[:NUMBER_BYTES], nonce[NUMBER_BYTES:]
        return hmac.compare_digest(mac, self._mac(Saying.of(said), number))

    def _mac(self, saying: Saying, number: bytes) -> bytes:
        message = _LABEL + saying.text(number + bytes(MAC_BYTES)).encode()
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
    half = timedelta(seconds=_half(lifetime))
    last = expiry_for(moment, lifetime)
    ahead = expiry_for(moment + min(SKEW, half / 5), lifetime)
    return list(dict.fromkeys((ahead, last, last - half)))


def open_numbers(spent: Sequence[int], most: int) -> list[int]:
    """The ``most`` lowest numbers that are not among ``spent``, which are the highest spent ones of a saying."""
    taken = set(spent)
    first = max(0, max(spent) + 1 - SPENT_READ) if spent else 0
    return list(islice((number for number in count(first) if number not in taken), most))


def numbers_of_a_saying(cap: int, keys: int) -> int:
    """How many numbers of one saying are open for a DID with ``keys`` keys that may sign: at most ``cap``, and so few that every
    pair of key and challenge can be tried within ``VERIFICATIONS``."""
    return max(1, min(cap, VERIFICATIONS // (_KINDS * _EXPIRIES * max(1, keys))))


def _half(lifetime: timedelta) -> int:
    return max(1, int(lifetime.total_seconds()) // 2)

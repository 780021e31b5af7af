"""Challenges as this service hands them out and takes them back. Nothing is stored before one is spent."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count

from identity_core.domain import challenge_mac
from identity_core.domain.challenge import Challenge
from identity_core.domain.challenge_mac import ChallengeKey, Saying
from identity_core.ports.repositories import ChallengeUseRow, SpentChallenges


@dataclass(frozen=True, slots=True)
class ChallengeRequest:
    """What a challenge is for: the DID, purpose and body hash (None where it is bound to none), the ``moment`` that counts, and
    how many ``keys`` of the DID may sign."""

    did: str
    purpose: str | None
    body_hash: str | None
    moment: datetime
    keys: int


@dataclass(frozen=True, slots=True)
class ChallengeBook:
    """``random`` is the operating system's random source. ``turn`` lets requests that come at once get different numbers."""

    key: ChallengeKey
    spent: SpentChallenges
    random: Callable[[int], bytes]
    origin: str
    lifetime: timedelta
    cap: int
    turn: count[int] = field(default_factory=count, repr=False)

    async def offer(self, asked: ChallengeRequest, *, named: bool) -> Challenge:
        """A challenge to sign. One that will be ``named`` has a random number, and nobody else ever gets it."""
        end = challenge_mac.expiry_for(asked.moment, self.lifetime)
        saying = Saying(self.origin, asked.did, asked.purpose, asked.body_hash, end)
        if named:
            number = b"\x80" + self.random(challenge_mac.NUMBER_BYTES - 1)
        else:
            (spent,) = await self.spent.numbers([saying.digest], limit=challenge_mac.SPENT_READ)
            numbers = challenge_mac.open_numbers(spent, challenge_mac.numbers_of_a_saying(self.cap, asked.keys))
            number = challenge_mac.counted(numbers[next(self.turn) % len(numbers)])
        return Challenge.parse(self.key.text(saying, number))

    def takes(self, named: Challenge, asked: ChallengeRequest) -> bool:
        """Whether a challenge that a header names may authorise what is asked. Whether it was spent is asked when it is spent."""
        return (
            named.did == asked.did
            and named.expires_at in challenge_mac.expiries(asked.moment, self.lifetime)
            and named.fits(self.origin, asked.purpose or "", asked.body_hash)
            and self.key.is_ours(named)
        )

    async def candidates(self, asked: ChallengeRequest) -> AsyncIterator[str]:
        """Every challenge that a signature without a name may be over, the likeliest first: low numbers before high ones, and what is
        bound most closely first, because our own clients bind everything."""
        sayings = self._sayings(asked)
        spent = await self.spent.numbers([one.digest for one in sayings], limit=challenge_mac.SPENT_READ)
        most = challenge_mac.numbers_of_a_saying(self.cap, asked.keys)
        for row in zip(*(challenge_mac.open_numbers(numbers, most) for numbers in spent), strict=True):
            for saying, number in zip(sayings, row, strict=True):
                yield self.key.text(saying, challenge_mac.counted(number))

    async def spend(self, text: str) -> bool:
        """Spends it, durably. False when it was spent before."""
        said = Challenge.parse(text)
        digest = hashlib.sha256(text.encode()).digest()
        saying = Saying.of(said).digest
        return await self.spent.spend(ChallengeUseRow(digest, saying, challenge_mac.count_of(said), said.expires_at))

    def _sayings(self, asked: ChallengeRequest) -> Sequence[Saying]:
        purposes = dict.fromkeys((asked.purpose, None))
        body_hashes = dict.fromkeys((asked.body_hash, None))
        ends = challenge_mac.expiries(asked.moment, self.lifetime)
        return [
            Saying(self.origin, asked.did, purpose, body_hash, end)
            for body_hash in body_hashes
            for purpose in purposes
            for end in ends
        ]

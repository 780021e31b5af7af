"""Challenges as this service hands them out and takes them back. Nothing is stored before one is spent.

getDidAuthChallenge: the text that a controller signs (openapi/DECISIONS.md §3.1).

Checks a DIDAuth or RecoveryKey signature and spends its challenge.

A header that names its challenge costs one verification a key. One that does not names neither key nor challenge, so every
challenge that fits the request is tried with every key that may sign; ``domain/dids/challenge.py`` bounds their number. The
challenge is spent, durably, before anything is appended, and stays spent whatever becomes of the operation.

Forgets what has expired, whether or not anybody asks for anything: spent challenges, stored answers, counters of past days.

A spent challenge is kept for an hour beyond its end, so that a clock that is set back does not make it fresh again; a change of a
DID is refused a second time by its log anyway. A verifier's challenge that was spent says who may ask for the status of a proof, so it
is kept for the life of a proof that was made at its end. Left out: what has retention rules of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Final

from identity_core.cache import BoundedCache
from identity_core.codec import multibase, multikey
from identity_core.crypto import ed25519
from identity_core.domain.dids import challenge as challenge_mac
from identity_core.domain.dids import state as history
from identity_core.domain.dids.challenge import Challenge, ChallengeKey, Saying, SignedHeader
from identity_core.domain.dids.changes import Authorization
from identity_core.domain.dids.evidence import RECOVERY_KEY
from identity_core.errors import AuthFailed, InvalidRequest, JsonValue
from identity_core.ports.activity import IdempotencyKeys, VerifierChallenges
from identity_core.ports.api_keys import Usage
from identity_core.ports.clock import Clock
from identity_core.ports.consents import ConsentReplies
from identity_core.ports.presentations import Presentations
from identity_core.ports.repositories import ChallengeUseRow, SpentChallenges
from identity_core.use_cases.background import Repeating
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.records import SOON_SECONDS, StepSize
from identity_core.values import value_class
from identity_core.wire import GetDidAuthChallengeQuery

OFFERED_KEPT: Final = 4_096


@value_class
class ChallengeRequest:
    """What a challenge is for: the DID, purpose and body hash (None where it is bound to none), the ``moment`` that counts, and
    how many ``keys`` of the DID may sign."""

    did: str
    purpose: str | None
    body_hash: str | None
    moment: datetime
    keys: int


@value_class
class ChallengeBook:
    """``random`` is the operating system's random source. ``turn`` lets requests that come at once get different numbers.
    ``offered`` is the newest challenge of a saying that this process handed out: the first that is tried, and not more."""

    key: ChallengeKey
    spent: SpentChallenges
    random: Callable[[int], bytes]
    origin: str
    lifetime: timedelta
    cap: int
    turn: count[int] = field(default_factory=count, repr=False)
    offered: BoundedCache[Saying, str] = field(default_factory=lambda: BoundedCache(OFFERED_KEPT), repr=False)

    async def offer(self, asked: ChallengeRequest, *, named: bool) -> Challenge:
        """A challenge to sign. One that will be ``named`` has a random number, and no one else ever gets it."""
        end = challenge_mac.expiry_for(asked.moment, self.lifetime)
        saying = Saying(self.origin, asked.did, asked.purpose, asked.body_hash, end)
        if named:
            return Challenge.parse(self.key.text(saying.around, b"\x80" + self.random(challenge_mac.NUMBER_BYTES - 1)))
        (spent,) = await self.spent.numbers([saying.digest], limit=challenge_mac.SPENT_READ)
        numbers = challenge_mac.open_numbers(spent, challenge_mac.numbers_of_a_saying(self.cap, asked.keys))
        number = challenge_mac.counted(numbers[next(self.turn) % len(numbers)])
        return Challenge.parse(self.offered.put(saying, self.key.text(saying.around, number)))

    def takes(self, named: Challenge, asked: ChallengeRequest) -> bool:
        """Whether a challenge that a header names may authorise what is asked. Whether it was spent is asked when it is spent."""
        return (
            named.did == asked.did
            and named.expires_at in challenge_mac.expiries(asked.moment, self.lifetime)
            and named.fits(self.origin, asked.purpose or "", asked.body_hash)
            and self.key.is_ours(named)
        )

    def newest(self, asked: ChallengeRequest) -> str | None:
        """What was handed out here last of those that a signature without a name may be over, and the likeliest of them."""
        return next(filter(None, map(self.offered.get, self._sayings(asked))), None)

    async def candidates(self, asked: ChallengeRequest) -> Iterator[str]:
        """Every challenge that such a signature may be over: low numbers before high ones, and what is bound most closely first, because
        our own clients bind everything."""
        sayings = [*self._sayings(asked)]
        spent = await self.spent.numbers([one.digest for one in sayings], limit=challenge_mac.SPENT_READ)
        most = challenge_mac.numbers_of_a_saying(self.cap, asked.keys)
        rows = zip(*(challenge_mac.open_numbers(numbers, most) for numbers in spent), strict=True)
        around = [saying.around for saying in sayings]
        return (
            self.key.text(place, challenge_mac.counted(number))
            for row in rows
            for place, number in zip(around, row, strict=True)
        )

    async def spend(self, text: str) -> bool:
        """Spends it, durably. False when it was spent before."""
        said = Challenge.parse(text)
        digest, saying = hashlib.sha256(text.encode()).digest(), challenge_mac.saying_digest(text)
        return await self.spent.spend(ChallengeUseRow(digest, saying, challenge_mac.count_of(said), said.expires_at))

    def _sayings(self, asked: ChallengeRequest) -> Iterator[Saying]:
        purposes = dict.fromkeys((asked.purpose, None))
        body_hashes = dict.fromkeys((asked.body_hash, None))
        ends = challenge_mac.expiries(asked.moment, self.lifetime)
        for body_hash in body_hashes:
            for purpose in purposes:
                for end in ends:
                    yield Saying(self.origin, asked.did, purpose, body_hash, end)


@value_class
class GetDidAuthChallenge:
    """Raises ``DidNotFound``, also for a DID that may not sign in here, ``DidDeactivated``, and ``InvalidRequest`` for a purpose that is
    none and a body hash that is no SHA-256. Stores nothing."""

    reader: DidReader
    challenges: ChallengeBook
    clock: Clock

    async def __call__(self, query: GetDidAuthChallengeQuery) -> Challenge:
        did = self.reader.parse(query.did)
        if query.purpose is not None and query.purpose not in challenge_mac.PURPOSES:
            raise InvalidRequest("The purpose is unknown.", details={"supported": [*sorted(challenge_mac.PURPOSES)]})
        body_hash = None if query.body_hash is None else _read_hash(query.body_hash)
        state = (await self.reader.caller(did)).head.state
        now = self.clock.now()
        # The next entry is later than the last, also when the clock went back; a challenge has to outlive that moment.
        asked = ChallengeRequest(
            did=str(did),
            purpose=query.purpose,
            body_hash=body_hash,
            moment=max(now, state.updated_at),
            keys=len(history.authentication_keys(state, now)),
        )
        return await self.challenges.offer(asked, named=query.named)


def _read_hash(text: str) -> str:
    """Return the hash without padding, which the query may have."""
    try:
        digest = multibase.base64url_decode(bare := challenge_mac.strip_padding(text))
    except ValueError as error:
        raise InvalidRequest("bodyHash is not base64url.") from error
    if len(digest) != challenge_mac.HASH_BYTES:
        raise InvalidRequest("bodyHash is not a SHA-256.")
    return bare


@value_class
class AuthenticateDid:
    """Turns a signature into an ``Authorization``. Raises ``DidNotFound``, ``DidDeactivated``, ``AuthFailed``."""

    reader: DidReader
    challenges: ChallengeBook
    clock: Clock

    async def __call__(
        self, signed: SignedHeader, *, scheme: str, purpose: str, body_hash: str | None, body: JsonValue = None
    ) -> Authorization:
        """``body`` is what ``body_hash`` is of, where a change is authorised that may have to keep it."""
        state = (await self.reader.caller(signed.did)).head.state
        now = self.clock.now()
        keys = history.authentication_keys(state, now)
        asked = ChallengeRequest(str(signed.did), purpose, body_hash, max(now, state.updated_at), len(keys))
        if scheme == RECOVERY_KEY:
            keys = () if state.recovery_key is None else (state.recovery_key,)
        found = await self._found(signed, asked, keys)
        if found is None or not await self.challenges.spend(found[1]):
            # What the signature should have been for is no secret, and what most clients get wrong; whether it was, is not said.
            raise AuthFailed(details={"purpose": purpose} | ({"bodyHash": body_hash} if body_hash else {}))
        key, text = found
        return Authorization(scheme, key, text, signed.signature, body, None if body is None else body_hash)

    async def _found(
        self, signed: SignedHeader, asked: ChallengeRequest, keys: Sequence[str]
    ) -> tuple[str, str] | None:
        """The key and the challenge of the signature."""
        raw_keys = [(key, multikey.decode_public(key)[1]) for key in keys]
        if signed.named is not None:
            text = signed.named.text
            return _signer(raw_keys, text, signed.signature) if self.challenges.takes(signed.named, asked) else None
        # Nearly always it is the first, and the others are not made.
        newest = self.challenges.newest(asked)
        found = None if newest is None else _signer(raw_keys, newest, signed.signature)
        if found is not None:
            return found
        signers = (_signer(raw_keys, text, signed.signature) for text in await self.challenges.candidates(asked))
        return next(filter(None, signers), None)


def _signer(raw_keys: Sequence[tuple[str, bytes]], text: str, signature: bytes) -> tuple[str, str] | None:
    for key, raw in raw_keys:
        try:
            ed25519.verify(raw, text.encode(), signature)
        except ed25519.Ed25519SignatureInvalid:
            continue
        return key, text
    return None


CLOCK_SET_BACK: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)


@dataclass(slots=True)
class ForgetExpired(Repeating):
    """One step deletes some rows of each kind. ``monotonic`` is in seconds."""

    complaint = "what has expired cannot be deleted"
    interval_seconds = 30.0

    challenges: SpentChallenges
    asked: VerifierChallenges
    presentations: Presentations
    proof_lifetime: timedelta
    answers: IdempotencyKeys
    consents: ConsentReplies
    usage: Usage
    clock: Clock
    monotonic: Callable[[], float]
    sizes: Sequence[StepSize] = field(init=False)

    def __post_init__(self) -> None:
        self.sizes = [StepSize(self.monotonic) for _ in range(6)]

    async def step(self) -> float:
        """Comes back soon while there is more."""
        now = self.clock.now()
        today = timedelta(seconds=now.timestamp()) // DAY
        asked_until = now - max(self.proof_lifetime, CLOCK_SET_BACK)
        forget: Sequence[Callable[[int], Awaitable[int]]] = (
            lambda limit: self.challenges.forget(now - CLOCK_SET_BACK, limit=limit),
            lambda limit: self.asked.forget(asked_until, limit=limit),
            lambda limit: self.presentations.forget(now - CLOCK_SET_BACK, limit=limit),
            lambda limit: self.answers.forget(now, limit=limit),
            lambda limit: self.consents.forget(now, limit=limit),
            lambda limit: self.usage.forget(today, limit=limit),
        )
        more = [await size.step(each) for size, each in zip(self.sizes, forget, strict=True)]
        return SOON_SECONDS if any(more) else self.interval_seconds

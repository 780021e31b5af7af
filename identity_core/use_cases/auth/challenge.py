"""DIDAuth and RecoveryKey challenges: issue, verify, use up; and the deletion of expired records.

getDidAuthChallenge returns the text that a controller signs (openapi/DECISIONS.md §3.1).

A header that names its challenge needs one verification for each key. Other headers name neither key nor challenge. The store has the
issued challenges with their client addresses, so the service tries those of the same address first. Requests of other addresses
cannot displace them. The challenge is used up durably before anything is appended, independent of the outcome of the operation.

A background task deletes expired records: used challenges, stored answers, counters of past days.

A used challenge is stored for an hour after its expiry, so that a clock that is set back does not make it valid again; the log of a
DID refuses a repeated change anyway. A verifier's used challenge determines who may read the status of a proof. So it is stored for the
lifetime of a proof that was made at its expiry. Left out: records with their own retention rules.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from identity_client.challenge import HASH_BYTES, PURPOSES, RECOVERY_KEY, Challenge, body_hashes, origin_field
from identity_codec import ed25519, multibase, multikey
from identity_codec.strict_json import JsonValue
from identity_codec.values import replace
from identity_core.domain.dids import challenge as challenge_mac
from identity_core.domain.dids import state as history
from identity_core.domain.dids.challenge import ChallengeKey, ChallengeScope, SignedHeader
from identity_core.domain.dids.changes import Authorization
from identity_core.errors import AuthFailed, InvalidRequest
from identity_core.ports.activity import IdempotencyKeys
from identity_core.ports.clock import Clock
from identity_core.ports.key_store import Usage
from identity_core.ports.repositories import ChallengeOfferRow, ChallengeUseRow, SpentChallenges
from identity_core.use_cases.background import CLOCK_SET_BACK, SOON_SECONDS, Repeating, StepSize, erasing_time
from identity_core.use_cases.dids.index import DidReader
from identity_core.wire import GetDidAuthChallengeQuery

USED: Final = "This challenge was used. Fetch another from /auth/challenge and sign it."
_SEARCH: Final = (
    (True, False, challenge_mac.VERIFICATIONS),
    (True, True, 8),
    (False, False, challenge_mac.VERIFICATIONS),
)
"""The order of the search: whether the challenge was issued to the same address, whether it was used, and the number of tried ones. Used
ones are tried so that the refusal can state it."""
FREE_VERIFICATIONS: Final = 8
"""The number of verifications for the request's own rate limit token, and for each further token of the address."""


class Payer(Struct, frozen=True):
    """The client address of a request. ``name`` is that of its bucket: an IPv4 address, or the /64 of an IPv6 address.

    ``require``: raises ``RateLimited`` if the bucket has fewer tokens; it takes none. ``pay``: takes them."""

    name: str
    require: Callable[[int], Awaitable[None]]
    pay: Callable[[int], Awaitable[None]]


class ChallengeRequest(Struct, frozen=True):
    """Request for a challenge: the DID, purpose, body hash and target (None for an unbound one), and the ``moment`` that counts."""

    did: str
    purpose: str | None
    body_hash: str | None
    moment: datetime
    target: str | None = None


class ChallengeBook(Struct, frozen=True):
    """The challenges of an installation. ``random`` is the operating system's random source; ``cap`` limits how many a search tries."""

    key: ChallengeKey
    spent: SpentChallenges
    random: Callable[[int], bytes]
    origin: str
    lifetime: timedelta
    cap: int = challenge_mac.VERIFICATIONS

    async def offer(self, asked: ChallengeRequest, address: str, *, named: bool) -> Challenge:
        """Return a challenge that no other request gets. Unless it will be ``named``, store it with ``address``."""
        end = challenge_mac.expiry_for(asked.moment, self.lifetime)
        scope = ChallengeScope(origin_field(self.origin, asked.target), asked.did, asked.purpose, asked.body_hash, end)
        number = self.random(challenge_mac.NUMBER_BYTES)
        text = self.key.text(scope.around, number)
        if not named:
            digest = hashlib.sha256(text.encode()).digest()
            await self.spent.offer(ChallengeOfferRow(digest, scope.digest, address, number, end, asked.moment))
        return Challenge.parse(text)

    def takes(self, named: Challenge, asked: ChallengeRequest) -> bool:
        """Return whether a challenge that a header names may authorise ``asked``. Whether it was used is checked later."""
        return (
            named.did == asked.did
            and challenge_mac.is_current(named.expires_at, asked.moment, self.lifetime)
            and named.fits(self.origin, asked.purpose or "", asked.body_hash, asked.target)
            and self.key.is_ours(named)
        )

    async def candidates(
        self, asked: ChallengeRequest, address: str, *, own: bool, used: bool, limit: int
    ) -> Sequence[str]:
        """Return the newest ``limit`` candidates for a signature: issued to ``address`` or to others, used or open."""
        scopes = {
            scope.digest: scope
            for purpose in dict.fromkeys((asked.purpose, None))
            for body_hash in body_hashes(purpose, asked.body_hash)
            for scope in [ChallengeScope(self.origin, asked.did, purpose, body_hash, asked.moment)]
        }
        rows = await self.spent.offered([*scopes], address, own=own, used=used, limit=limit)
        return [
            self.key.text(replace(scopes[row.scope], expires_at=row.expires_at).around, row.number)
            for row in rows
            if challenge_mac.is_current(row.expires_at, asked.moment, self.lifetime)
        ]

    async def spend(self, text: str) -> bool:
        """Use up the challenge, durably. Return False if it was used before."""
        digest = hashlib.sha256(text.encode()).digest()
        return await self.spent.spend(ChallengeUseRow(digest, digest[:16], None, Challenge.parse(text).expires_at))


class GetDidAuthChallenge(Struct, frozen=True):
    """Use case getDidAuthChallenge. Raises ``DidNotFound``: also when the DID may not sign in here. Raises ``DidDeactivated``. Raises
    ``InvalidRequest``: when the purpose is unknown, the body hash is not a SHA-256, or a target comes without ``named``, because a
    search would have to try each pair of targets."""

    reader: DidReader
    challenges: ChallengeBook
    clock: Clock

    async def __call__(self, query: GetDidAuthChallengeQuery, address: str) -> Challenge:
        did = self.reader.parse(query.did)
        if query.purpose is not None and query.purpose not in PURPOSES:
            raise InvalidRequest("The purpose is unknown.", details={"supported": [*sorted(PURPOSES)]})
        if query.target is not None and not query.named:
            raise InvalidRequest("A challenge with target must be named.", details={"remedy": "Add named=true."})
        body_hash = None if query.body_hash is None else _read_hash(query.body_hash)
        state = (await self.reader.caller(did)).head.state
        # The next entry is later than the last, also when the clock went back; a challenge has to outlive that moment.
        moment = max(self.clock.now(), state.updated_at)
        asked = ChallengeRequest(str(did), query.purpose, body_hash, moment, query.target)
        return await self.challenges.offer(asked, address, named=query.named)


def _read_hash(text: str) -> str:
    """Return the hash without padding, which the query may have."""
    try:
        digest = multibase.base64url_decode(bare := challenge_mac.strip_padding(text))
    except ValueError as error:
        raise InvalidRequest("bodyHash is not base64url.") from error
    if len(digest) != HASH_BYTES:
        raise InvalidRequest("bodyHash is not a SHA-256.")
    return bare


FormerSigner = Callable[[], Awaitable[tuple[str, str] | None]]
"""A function that returns the scheme and key that signed the earlier attempt of a request; None if no such attempt is recorded."""


class AuthenticateDid(Struct, frozen=True):
    """The authentication by a signature. Raises ``DidNotFound``, ``DidDeactivated``, ``AuthFailed``, ``RateLimited``."""

    reader: DidReader
    challenges: ChallengeBook
    clock: Clock

    async def __call__(
        self,
        signed: SignedHeader,
        *,
        scheme: str,
        purpose: str,
        body_hash: str | None,
        target: str,
        body: JsonValue = None,
        payer: Payer | None = None,
        former: FormerSigner | None = None,
    ) -> Authorization:
        """Verify a signature and return the ``Authorization``. ``target`` is the canonical one of the request. ``body`` is the source of
        ``body_hash``, for a change that may have to store it. Without a ``payer`` the header must name its challenge. If no key in force
        signed, the key of ``former`` is tried; the authorization then ``is_former``."""
        state = (await self.reader.caller(signed.did)).head.state
        now = self.clock.now()
        keys = history.authentication_keys(state, now)
        if scheme == RECOVERY_KEY:
            keys = () if state.recovery_key is None else (state.recovery_key,)
        asked = ChallengeRequest(str(signed.did), purpose, body_hash, max(now, state.updated_at), target)
        found, is_former = await self._find_challenge(signed, asked, _decoded(keys), payer), False
        if found is None and former is not None:
            is_former, earlier = True, await former()
            is_known = earlier is not None and earlier[0] == scheme
            # The same work without an earlier attempt, so that neither time nor tokens show whether there is one.
            tried = earlier[1:] if earlier is not None and is_known else keys[:1]
            again = await self._find_challenge(signed, asked, _decoded(tried), payer)
            found = again if is_known else None
        # The expected content of the signature is public, and a wrong one is the usual error of clients. The answer does not disclose
        # whether the key was wrong.
        bound = {"bodyHash": body_hash} if body_hash else {}
        details: dict[str, JsonValue] = {"purpose": purpose, **bound, "target": target}
        if found is None:
            raise AuthFailed(details=details | ({"reason": "unnamed"} if signed.named is None else {}))
        key, text = found
        if not await self.challenges.spend(text):
            raise AuthFailed(USED, details=details | {"reason": USED})
        return Authorization(scheme, key, text, signed.signature, body, None if body is None else body_hash, is_former)

    async def _find_challenge(
        self, signed: SignedHeader, asked: ChallengeRequest, keys: Sequence[tuple[str, bytes]], payer: Payer | None
    ) -> tuple[str, str] | None:
        """Return the key and the challenge of the signature. An unsuccessful search takes rate limit tokens of the address for each
        verification."""
        if signed.named is not None:
            is_ours = self.challenges.takes(signed.named, asked)
            return _signer(keys, signed.named.text, signed.signature) if is_ours else None
        if payer is None or not keys:
            return None
        tried, left = 0, max(1, min(self.challenges.cap, challenge_mac.VERIFICATIONS // len(keys)))
        for own, used, most in _SEARCH:
            if not (limit := min(most, left)):
                break
            texts = await self.challenges.candidates(asked, payer.name, own=own, used=used, limit=limit)
            left, tried = left - len(texts), tried + len(texts) * len(keys)
            if tokens := _tokens(tried):
                await payer.require(tokens)
            found = next(filter(None, (_signer(keys, text, signed.signature) for text in texts)), None)
            if found is not None:
                return found
        if tokens := _tokens(tried):
            await payer.pay(tokens)
        return None


def _decoded(keys: Sequence[str]) -> Sequence[tuple[str, bytes]]:
    return [(key, multikey.decode_public(key)[1]) for key in keys]


def _tokens(verifications: int) -> int:
    return max(0, -(-verifications // FREE_VERIFICATIONS) - 1)


def _signer(keys: Sequence[tuple[str, bytes]], text: str, signature: bytes) -> tuple[str, str] | None:
    for key, raw in keys:
        try:
            ed25519.verify(raw, text.encode(), signature)
        except ed25519.Ed25519SignatureInvalid:
            continue
        return key, text
    return None


DAY: Final = timedelta(days=1)


@dataclass(slots=True)
class ForgetExpired(Repeating):
    """A background task whose step deletes some expired rows of each kind. ``monotonic`` is in seconds."""

    complaint = "what has expired cannot be deleted"
    interval_seconds = 30.0

    challenges: SpentChallenges
    answers: IdempotencyKeys
    usage: Usage
    clock: Clock
    monotonic: Callable[[], float]
    sizes: Sequence[StepSize] = field(init=False)

    def __post_init__(self) -> None:
        self.sizes = [StepSize(self.monotonic) for _ in range(4)]

    async def step(self) -> float:
        """Delete some rows. Return the pause, which is short while there are more."""
        now = erasing_time(self.clock)
        today = timedelta(seconds=now.timestamp()) // DAY
        forget: Sequence[Callable[[int], Awaitable[int]]] = (
            lambda limit: self.challenges.forget(now - CLOCK_SET_BACK, limit=limit),
            lambda limit: self.challenges.forget_offered(now, limit=limit),
            lambda limit: self.answers.forget(now, limit=limit),
            lambda limit: self.usage.forget(today, limit=limit),
        )
        more = [await size.step(each) for size, each in zip(self.sizes, forget, strict=True)]
        return SOON_SECONDS if any(more) else self.interval_seconds

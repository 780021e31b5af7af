"""getDidAuthChallenge: the text that a controller signs (contract §3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from identity_core.domain import challenge, history
from identity_core.domain.did import Did
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import Challenge, Challenges
from identity_core.use_cases.dids.reader import DidReader


@dataclass(frozen=True, slots=True)
class GetDidAuthChallenge:
    """Raises ``DidNotFound``, ``DidDeactivated``. At the cap the live challenge with the longest life left is handed out
    again: evicting one would let anybody lock the owner out. The more keys may sign, the lower the cap, so that an attempt costs
    a bounded number of verifications and still every live challenge is tried."""

    reader: DidReader
    challenges: Challenges
    clock: Clock
    random: Callable[[int], bytes]
    origin: str
    lifetime: timedelta
    cap: int

    async def __call__(self, did: Did, *, purpose: str | None, body_hash: str | None) -> Challenge:
        state = (await self.reader.active(did)).head.state
        now = self.clock.now()
        # The next entry is later than the last, also when the clock went back; a challenge has to outlive that moment.
        expires_at = max(now, state.updated_at).replace(microsecond=0) + self.lifetime
        text = challenge.build(
            origin=self.origin,
            did=str(did),
            purpose=purpose,
            body_hash=body_hash,
            nonce=self.random(32),
            expires_at=expires_at,
        )
        cap = challenge.live_of_a_kind(self.cap, len(history.authentication_keys(state, now)))
        return await self.challenges.add(Challenge(text, str(did), expires_at), now, cap=cap)

"""getDidAuthChallenge: the text that a controller signs (contract §3)."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain import history
from identity_core.domain.challenge import Challenge
from identity_core.domain.did import Did
from identity_core.ports.clock import Clock
from identity_core.use_cases.auth.challenges import ChallengeBook, ChallengeRequest
from identity_core.use_cases.dids.reader import DidReader


@dataclass(frozen=True, slots=True)
class GetDidAuthChallenge:
    """Raises ``DidNotFound``, also for a DID that may not sign in here, and ``DidDeactivated``. Stores nothing."""

    reader: DidReader
    challenges: ChallengeBook
    clock: Clock

    async def __call__(self, did: Did, *, purpose: str | None, body_hash: str | None, named: bool = False) -> Challenge:
        state = (await self.reader.caller(did)).head.state
        now = self.clock.now()
        # The next entry is later than the last, also when the clock went back; a challenge has to outlive that moment.
        asked = ChallengeRequest(
            did=str(did),
            purpose=purpose,
            body_hash=body_hash,
            moment=max(now, state.updated_at),
            keys=len(history.authentication_keys(state, now)),
        )
        return await self.challenges.offer(asked, named=named)

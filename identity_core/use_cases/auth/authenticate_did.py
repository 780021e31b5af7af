"""Checks a DIDAuth or RecoveryKey signature and spends its challenge.

The header names neither key nor challenge, so every live challenge of the DID that fits the request is tried with every key
that may sign; ``domain/challenge.py`` bounds their number. The challenge is spent, durably, before anything is appended, and
stays spent whatever becomes of the operation.
"""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.codec import multikey
from identity_core.crypto import ed25519
from identity_core.domain import challenge, history
from identity_core.domain.change import Authorization
from identity_core.domain.did import Did
from identity_core.domain.errors import AuthFailed
from identity_core.domain.evidence import RECOVERY_KEY
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import Challenges
from identity_core.use_cases.dids.reader import DidReader


@dataclass(frozen=True, slots=True)
class AuthenticateDid:
    """Turns a signature into an ``Authorization``. Raises ``DidNotFound``, ``DidDeactivated``, ``AuthFailed``."""

    reader: DidReader
    challenges: Challenges
    clock: Clock
    origin: str

    async def __call__(
        self, did: Did, signature: bytes, *, scheme: str, purpose: str, body_hash: str | None
    ) -> Authorization:
        state = (await self.reader.active(did)).head.state
        now = self.clock.now()
        candidates: tuple[str, ...]
        if scheme == RECOVERY_KEY:
            candidates = () if state.recovery_key is None else (state.recovery_key,)
        else:
            candidates = history.authentication_keys(state, now)
        # What the signature should have been for is no secret, and what most clients get wrong; whether it was, is not said.
        refused = AuthFailed(details={"purpose": purpose} | ({"bodyHash": body_hash} if body_hash else {}))
        live = await self.challenges.live(str(did), now, purpose=purpose, body_hash=body_hash)
        # The signature is checked first and the text read afterwards: a wrong one costs a verification a challenge, and no more.
        raw_keys = [(key, multikey.decode_public(key)[1]) for key in candidates]
        for text in challenge.likeliest((offer.text for offer in reversed(live)), self.origin, len(raw_keys)):
            for key, raw in raw_keys:
                try:
                    ed25519.verify(raw, text.encode(), signature)
                except ed25519.SignatureInvalid:
                    continue
                if not challenge.Challenge.parse(text).fits(self.origin, purpose, body_hash):
                    raise refused
                if not await self.challenges.consume(text, now):
                    raise refused
                return Authorization(scheme, key, text, signature)
        raise refused

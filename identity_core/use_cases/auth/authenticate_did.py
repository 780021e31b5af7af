"""Checks a DIDAuth or RecoveryKey signature and spends its challenge.

A header that names its challenge costs one verification a key. One that does not names neither key nor challenge, so every
challenge that fits the request is tried with every key that may sign; ``domain/challenge_mac.py`` bounds their number. The
challenge is spent, durably, before anything is appended, and stays spent whatever becomes of the operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from identity_core.codec import multikey
from identity_core.crypto import ed25519
from identity_core.domain import history
from identity_core.domain.challenge import SignedHeader
from identity_core.domain.change import Authorization
from identity_core.domain.evidence import RECOVERY_KEY
from identity_core.errors import AuthFailed
from identity_core.ports.clock import Clock
from identity_core.use_cases.auth.challenges import ChallengeBook, ChallengeRequest
from identity_core.use_cases.dids.reader import DidReader


@dataclass(frozen=True, slots=True)
class AuthenticateDid:
    """Turns a signature into an ``Authorization``. Raises ``DidNotFound``, ``DidDeactivated``, ``AuthFailed``."""

    reader: DidReader
    challenges: ChallengeBook
    clock: Clock

    async def __call__(
        self, signed: SignedHeader, *, scheme: str, purpose: str, body_hash: str | None
    ) -> Authorization:
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
        return Authorization(scheme, key, text, signed.signature)

    async def _found(
        self, signed: SignedHeader, asked: ChallengeRequest, keys: Sequence[str]
    ) -> tuple[str, str] | None:
        """The key and the challenge of the signature."""
        raw_keys = [(key, multikey.decode_public(key)[1]) for key in keys]
        if signed.named is not None:
            text = signed.named.text
            return _signer(raw_keys, text, signed.signature) if self.challenges.takes(signed.named, asked) else None
        async for text in self.challenges.candidates(asked):
            found = _signer(raw_keys, text, signed.signature)
            if found is not None:
                return found
        return None


def _signer(raw_keys: Sequence[tuple[str, bytes]], text: str, signature: bytes) -> tuple[str, str] | None:
    for key, raw in raw_keys:
        try:
            ed25519.verify(raw, text.encode(), signature)
        except ed25519.Ed25519SignatureInvalid:
            continue
        return key, text
    return None

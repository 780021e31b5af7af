"""rotateApiKey: a successor with the same rights and limits; the old key works until the end of the grace period.

Both keys are one caller: they share what the old one created, its bucket and its audit trail (``ApiKey.lineage``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from identity_core.domain.caller import ApiKey
from identity_core.errors import IdentityError, InvalidRequest
from identity_core.ports.clock import Clock
from identity_core.use_cases.api_keys.change_stored import ChangeStored
from identity_core.use_cases.api_keys.create import MintedKey, NewApiKey, mint

MAX_GRACE = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class RotatedKey:
    """The successor with its text, and the old key with the end of its life in ``revoked_at``."""

    successor: MintedKey
    predecessor: ApiKey


@dataclass(frozen=True, slots=True)
class RotateApiKey:
    """``random`` gives octets of the operating system's random source."""

    change: ChangeStored
    clock: Clock
    random: Callable[[int], bytes]

    async def __call__(self, key_id: str, *, grace: timedelta) -> RotatedKey:
        """The two keys. Raises ``ApiKeyNotFound``, and ``InvalidRequest`` for a key that is revoked or expired already,
        or a grace period longer than 90 days."""
        if not timedelta(0) <= grace <= MAX_GRACE:
            raise InvalidRequest("A grace period lasts from 0 seconds to 90 days.", details={"field": "graceSeconds"})
        now = self.clock.now()
        old = await self.change(key_id, lambda key: _still_usable(key, now))
        successor = mint(_like(old), now, self.random, lineage=old.lineage or old.id)
        # The successor first: a crash in between leaves a key that nobody holds, not a caller without a key.
        await self.change.store.create(successor.key)
        try:
            predecessor = await self.change(key_id, lambda key: _retire(_still_usable(key, now), now + grace))
        except IdentityError:
            await self.change(successor.key.id, lambda key: _retire(key, now))
            raise
        return RotatedKey(successor, predecessor)


def _still_usable(key: ApiKey, now: datetime) -> ApiKey:
    if not key.usable(now):
        raise InvalidRequest("The key is revoked or expired; create a new one.")
    return key


def _like(key: ApiKey) -> NewApiKey:
    return NewApiKey(
        key.name, key.scopes, key.allowed_targets, key.requests_per_second, key.burst, expires_at=key.expires_at
    )


def _retire(key: ApiKey, at: datetime) -> ApiKey:
    """Revoked at ``at``, or earlier if that was said before: the end of a key never moves away."""
    return replace(key, revoked_at=at if key.revoked_at is None else min(key.revoked_at, at))

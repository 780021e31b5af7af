"""revokeApiKey: the key stops working, at once in this process, within two seconds in the others, and for good."""

from __future__ import annotations

from dataclasses import dataclass, replace

from identity_core.domain.caller import ApiKey
from identity_core.ports.clock import Clock
from identity_core.use_cases.api_keys.change_stored import ChangeStored


@dataclass(frozen=True, slots=True)
class RevokeApiKey:
    """Final."""

    change: ChangeStored
    clock: Clock

    async def __call__(self, key_id: str) -> ApiKey:
        """The key, revoked now or earlier. Raises ``ApiKeyNotFound``."""
        now = self.clock.now()
        return await self.change(
            key_id,
            lambda key: key if key.revoked_at is not None and key.revoked_at <= now else replace(key, revoked_at=now),
        )

"""getApiKey: one key of the store, without its text, which nobody has."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain.caller import ApiKey
from identity_core.errors import ApiKeyNotFound
from identity_core.ports.key_store import WritableKeyStore


@dataclass(frozen=True, slots=True)
class GetApiKey:
    """One look-up."""

    store: WritableKeyStore

    async def __call__(self, key_id: str) -> ApiKey:
        """The key. Raises ``ApiKeyNotFound``."""
        key = await self.store.get(key_id)
        if key is None:
            raise ApiKeyNotFound(details={"id": key_id})
        return key

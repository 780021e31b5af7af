"""How an administrator's change reaches the store when another one comes at the same time: read, decide, write if
nothing changed in between, else again. So an update never undoes a revocation that it did not see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from identity_core.domain.caller import ApiKey
from identity_core.errors import ApiKeyNotFound, Overloaded, VersionConflict
from identity_core.ports.key_store import WritableKeyStore
from identity_core.use_cases.api_keys.authenticate import ApiKeyCache

ATTEMPTS = 16


@dataclass(frozen=True, slots=True)
class ChangeStored:
    """Read, decide, write."""

    store: WritableKeyStore
    known: ApiKeyCache

    async def __call__(self, key_id: str, decide: Callable[[ApiKey], ApiKey]) -> ApiKey:
        """The key as ``decide`` changed it. Raises ``ApiKeyNotFound``, ``Overloaded`` after 16 lost races, and what
        ``decide`` raises."""
        for _ in range(ATTEMPTS):
            key = await self.store.get(key_id)
            if key is None:
                raise ApiKeyNotFound(details={"id": key_id})
            changed = decide(key)
            if changed == key:
                return key
            try:
                await self.store.replace(changed, expected=key)
            except VersionConflict:
                continue
            finally:
                # Also after a failure, whose outcome may be unknown: the next look-up asks the store.
                self.known.forget(key.digest)
            return changed
        raise Overloaded

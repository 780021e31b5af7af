"""Changes of stored API keys that lose no other change."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from identity_core.domain.activity import RequestAttempt
from identity_core.domain.callers import ApiKey
from identity_core.errors import ApiKeyNotFound, Overloaded, VersionConflict
from identity_core.ports.key_store import WritableKeyStore
from identity_core.use_cases.auth.authenticate import ApiKeyCache

ATTEMPTS = 16


class ChangeStored(Struct, frozen=True):
    """A change of a stored key: read, decide, and write if the key did not change in between, else repeat. So an update never undoes a
    revocation that it did not read."""

    store: WritableKeyStore
    known: ApiKeyCache

    async def __call__(
        self, key_id: str, decide: Callable[[ApiKey], ApiKey], attempt: RequestAttempt | None = None
    ) -> ApiKey:
        """Return the key as ``decide`` changed it; ``attempt`` stores both states before. Raises ``ApiKeyNotFound``. Raises
        ``Overloaded``: after 16 lost races. Raises the errors of ``decide``."""
        for _ in range(ATTEMPTS):
            key = await self.store.get(key_id)
            if key is None:
                raise ApiKeyNotFound(details={"id": key_id})
            changed = decide(key)
            if changed == key:
                return key
            if attempt is not None:
                await attempt.intend({"before": state_of(key)})
            try:
                await self.store.replace(changed, expected=key)
            except VersionConflict:
                continue
            finally:
                # Also after a failure, whose outcome may be unknown: the next look-up reads the store.
                self.known.forget(key.digest)
            return changed
        raise Overloaded


def state_of(key: ApiKey) -> str:
    """Return a text that identifies the state of a stored key."""
    sets = [None if each is None else sorted(each) for each in (key.scopes, key.allowed_targets)]
    return repr([*sets, key.name, key.requests_per_second, key.burst, key.expires_at, key.revoked_at])

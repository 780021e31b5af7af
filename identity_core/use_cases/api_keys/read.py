"""getApiKey and listApiKeys: the records of the writable store, revoked ones included, and not those of files and of the environment:
anyone who may read those places sees them there.
"""

from __future__ import annotations

from collections.abc import Sequence

from identity_codec.values import value_class
from identity_core.domain.callers import ApiKey
from identity_core.errors import ApiKeyNotFound
from identity_core.ports.key_store import WritableKeyStore
from identity_core.wire import ListApiKeysQuery


@value_class
class GetApiKey:
    """One look-up."""

    store: WritableKeyStore

    async def __call__(self, key_id: str) -> ApiKey:
        """The key. Raises ``ApiKeyNotFound``."""
        key = await self.store.get(key_id)
        if key is None:
            raise ApiKeyNotFound(details={"id": key_id})
        return key


@value_class
class ListApiKeys:
    """One page."""

    store: WritableKeyStore

    async def __call__(self, query: ListApiKeysQuery, *, after: str | None) -> Sequence[ApiKey]:
        """Keys in order of id, those after ``after`` first; one more than the limit where there is one."""
        return await self.store.list(after=after, limit=query.limit + 1)

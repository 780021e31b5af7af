"""API keys: their use cases, for the admin operations and for the command line."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass

from identity_core.bootstrap.clock import SystemClock
from identity_core.bootstrap.plugins import open_key_stores
from identity_core.ports.key_store import KeyStore, PreparedKeyStore, WritableKeyStore
from identity_core.settings import Settings, StartError
from identity_core.use_cases.api_keys.authenticate import KnownKeys
from identity_core.use_cases.api_keys.change_stored import ChangeStored
from identity_core.use_cases.api_keys.create import CreateApiKey
from identity_core.use_cases.api_keys.get import GetApiKey
from identity_core.use_cases.api_keys.list import ListApiKeys
from identity_core.use_cases.api_keys.revoke import RevokeApiKey
from identity_core.use_cases.api_keys.rotate import RotateApiKey
from identity_core.use_cases.api_keys.update import UpdateApiKey


@dataclass(frozen=True, slots=True)
class KeyDesk:
    """The use cases on API keys, for the admin operations and for the command line."""

    create: CreateApiKey
    list: ListApiKeys
    get: GetApiKey
    update: UpdateApiKey
    rotate: RotateApiKey
    revoke: RevokeApiKey

    @classmethod
    def over(cls, stores: tuple[KeyStore, ...], known: KnownKeys, clock: SystemClock) -> KeyDesk:
        """The desk of the first store that can be written. Raises ``StartError`` where none can."""
        writable = next((store for store in stores if isinstance(store, WritableKeyStore)), None)
        if writable is None:
            raise StartError("no key store can be written: add sql to key_stores")
        change = ChangeStored(writable, known)
        return cls(
            create=CreateApiKey(writable, clock, secrets.token_bytes),
            list=ListApiKeys(writable),
            get=GetApiKey(writable),
            update=UpdateApiKey(change, clock),
            rotate=RotateApiKey(change, clock, secrets.token_bytes),
            revoke=RevokeApiKey(change, clock),
        )


@contextlib.asynccontextmanager
async def key_desk(settings: Settings) -> AsyncIterator[KeyDesk]:
    """The use cases on API keys, without a server around them."""
    clock = SystemClock()
    async with open_key_stores(settings) as stores:
        yield KeyDesk.over(stores, KnownKeys(clock), clock)


async def has_api_keys(stores: tuple[KeyStore, ...]) -> bool:
    """Whether any store has a key, as far as stores can tell."""
    for store in stores:
        if isinstance(store, WritableKeyStore):
            if await store.list(after=None, limit=1):
                return True
        elif isinstance(store, PreparedKeyStore) and store.configured:
            return True
    return False

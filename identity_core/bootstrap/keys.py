"""API keys: their use cases, for the admin operations and for the command line."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

from identity_core.bootstrap.clock import SystemClock
from identity_core.bootstrap.own_keys import is_adopted, note_adopted
from identity_core.bootstrap.plugins import load_plugins
from identity_core.bootstrap.store import store_beside
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import Custodian
from identity_core.ports.key_store import KeyStore, PreparedKeyStore, WritableKeyStore
from identity_core.ports.repositories import AuditLog
from identity_core.settings import Settings, StartError
from identity_core.store import Store
from identity_core.use_cases.api_keys.authenticate import ApiKeyCache
from identity_core.use_cases.api_keys.change_stored import ChangeStored
from identity_core.use_cases.api_keys.create import CreateApiKey
from identity_core.use_cases.api_keys.get import GetApiKey
from identity_core.use_cases.api_keys.list import ListApiKeys
from identity_core.use_cases.api_keys.revoke import RevokeApiKey
from identity_core.use_cases.api_keys.rotate import RotateApiKey
from identity_core.use_cases.api_keys.tagged import TaggedKeys
from identity_core.use_cases.api_keys.update import UpdateApiKey


@dataclass(frozen=True, slots=True)
class ApiKeyAdministration:
    """The use cases on API keys, for the admin operations and for the command line."""

    create: CreateApiKey
    list: ListApiKeys
    get: GetApiKey
    update: UpdateApiKey
    rotate: RotateApiKey
    revoke: RevokeApiKey

    @classmethod
    def over(cls, writable: WritableKeyStore, known: ApiKeyCache, clock: Clock) -> ApiKeyAdministration:
        """The administration of this store."""
        change = ChangeStored(writable, known)
        return cls(
            create=CreateApiKey(writable, clock, secrets.token_bytes),
            list=ListApiKeys(writable),
            get=GetApiKey(writable),
            update=UpdateApiKey(change, clock),
            rotate=RotateApiKey(change, clock, secrets.token_bytes),
            revoke=RevokeApiKey(change, clock),
        )


async def tagged_keys(stores: tuple[KeyStore, ...], custodian: Custodian, store: Store, clock: Clock) -> TaggedKeys:
    """The first store that can be written, of which only what this service wrote is believed; at the first start what is there. Raises
    ``StartError`` where none can be written."""
    keys = TaggedKeys(writable_of(stores), store.api_key_tags, clock)
    if not await is_adopted(custodian):
        await keys.adopt(store.audit)
        await note_adopted(custodian)
    return keys


def with_tagged(stores: tuple[KeyStore, ...], keys: TaggedKeys) -> tuple[KeyStore, ...]:
    """``stores`` with ``keys`` in the place of the store under it."""
    return tuple(keys if one is keys.store else one for one in stores)


def writable_of(stores: tuple[KeyStore, ...]) -> WritableKeyStore:
    """The first store that can be written: the one that the admin operations write. Raises ``StartError``."""
    for one in stores:
        if isinstance(one, WritableKeyStore):
            return one
    raise StartError("no key store can be written: add sql to key_stores")


@dataclass(frozen=True, slots=True)
class OpenKeys:
    """The key store of an installation beside its service, and the audit log that tells what is done to it."""

    administration: ApiKeyAdministration
    keys: TaggedKeys
    audit: AuditLog


@contextlib.asynccontextmanager
async def open_keys(settings: Settings) -> AsyncIterator[OpenKeys]:
    """Opens it, without a server around. Raises ``StartError``."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        plugins = load_plugins(settings, clock)
        stack.push_async_callback(plugins.close)
        stores = plugins.key_stores(settings.key_stores)
        writable_of(stores)
        custodian = plugins.custodian(settings.custodian.backend)
        store = await store_beside(settings, custodian)
        stack.push_async_callback(store.close)
        keys = await tagged_keys(stores, custodian, store, clock)
        yield OpenKeys(ApiKeyAdministration.over(keys, ApiKeyCache(clock), clock), keys, store.audit)


async def has_api_keys(stores: tuple[KeyStore, ...]) -> bool:
    """Whether any store has a key, as far as stores can tell."""
    for store in stores:
        if isinstance(store, WritableKeyStore):
            if await store.list(after=None, limit=1):
                return True
        elif isinstance(store, PreparedKeyStore) and store.configured:
            return True
    return False

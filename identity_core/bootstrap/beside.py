"""Parts that a command opens beside a running service: the ledger, the index, the API keys."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

from identity_codec.values import value_class
from identity_core.bootstrap.ports import SystemClock, fingerprints, make_answers_key, store_beside
from identity_core.ports.clock import Clock
from identity_core.ports.key_store import KeyStore, PreparedKeyStore, WritableKeyStore
from identity_core.settings import Settings, StartError
from identity_core.store import Store
from identity_core.use_cases.api_keys.manage import (
    CreateApiKey,
    GetApiKey,
    ListApiKeys,
    RevokeApiKey,
    RotateApiKey,
    UpdateApiKey,
)
from identity_core.use_cases.api_keys.tagged import ChangeStored, RecordKeyChange, TaggedKeys
from identity_core.use_cases.auth.authenticate import ApiKeyCache
from identity_core.use_cases.record import Record


@value_class
class ApiKeyAdministration:
    """The use cases on API keys, for the admin operations and for the command line."""

    create: CreateApiKey
    list: ListApiKeys
    get: GetApiKey
    update: UpdateApiKey
    rotate: RotateApiKey
    revoke: RevokeApiKey

    @classmethod
    def over(
        cls, keys: TaggedKeys, known: ApiKeyCache, record: Record, fingerprint: Callable[[str], str]
    ) -> ApiKeyAdministration:
        """Return the administration of ``keys``. ``fingerprint``: returns the fingerprint of a digest."""
        clock, change = keys.clock, ChangeStored(keys, known)
        recorded = RecordKeyChange(record, fingerprint, clock)
        return cls(
            create=CreateApiKey(keys, recorded, clock, secrets.token_bytes),
            list=ListApiKeys(keys),
            get=GetApiKey(keys),
            update=UpdateApiKey(change, recorded, clock),
            rotate=RotateApiKey(change, recorded, clock, secrets.token_bytes),
            revoke=RevokeApiKey(change, recorded, clock),
        )


def tagged_keys(stores: tuple[KeyStore, ...], store: Store, clock: Clock) -> TaggedKeys:
    """Return the first writable store. Of its keys only those that this service wrote are accepted.

    Raises ``StartError``: when no store is writable.
    """
    return TaggedKeys(writable_of(stores), store.api_key_tags, clock)


def with_tagged(stores: tuple[KeyStore, ...], keys: TaggedKeys) -> tuple[KeyStore, ...]:
    """Return ``stores`` with ``keys`` instead of the store that it wraps."""
    return tuple(keys if one is keys.store else one for one in stores)


def writable_of(stores: tuple[KeyStore, ...]) -> WritableKeyStore:
    """Return the first writable store, which the admin operations write. Raises ``StartError``: when no store is
    writable."""
    for one in stores:
        if isinstance(one, WritableKeyStore):
            return one
    raise StartError("no key store can be written: add sql to key_stores")


@value_class
class OpenKeys:
    """The key store of an installation, opened beside its service, and the recorder of its changes."""

    administration: ApiKeyAdministration
    keys: TaggedKeys
    record: Record


@contextlib.asynccontextmanager
async def open_keys(settings: Settings) -> AsyncIterator[OpenKeys]:
    """Open the key store without a server. Raises ``StartError``: when it cannot be opened."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        plugins, custodian, store = await store_beside(settings, stack)
        stores = plugins.key_stores(settings.key_stores)
        writable_of(stores)
        # The first key may be made before the first start.
        await make_answers_key(custodian)
        keys, record = tagged_keys(stores, store, clock), Record(store.activity)
        administration = ApiKeyAdministration.over(keys, ApiKeyCache(clock), record, await fingerprints(custodian))
        yield OpenKeys(administration, keys, record)


async def has_api_keys(stores: tuple[KeyStore, ...]) -> bool:
    """Return whether any store has a key, as far as the stores can list them."""
    for store in stores:
        is_prepared = isinstance(store, PreparedKeyStore) and store.configured
        if await store.list(after=None, limit=1) if isinstance(store, WritableKeyStore) else is_prepared:
            return True
    return False

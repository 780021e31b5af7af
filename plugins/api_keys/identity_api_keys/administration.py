"""The key store of an installation, opened beside its service."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from identity_commands.beside import store_beside
from msgspec import Struct

from identity_api_keys.manage import ApiKeyAdministration
from identity_core.bootstrap.ports import SystemClock, fingerprints, make_answers_key
from identity_core.settings import Settings
from identity_core.use_cases.auth.authenticate import ApiKeyCache
from identity_core.use_cases.auth.tagged import TaggedKeys, writable_of
from identity_core.use_cases.record import Record


class OpenKeys(Struct, frozen=True):
    """The key store of an installation, opened beside its service, and the recorder of its changes."""

    administration: ApiKeyAdministration
    keys: TaggedKeys
    record: Record


@contextlib.asynccontextmanager
async def open_keys(settings: Settings) -> AsyncIterator[OpenKeys]:
    """Open the key store without a server. Raises ``StartError``: when it cannot be opened."""
    clock = SystemClock()
    async with store_beside(settings) as (plugins, custodian, store):
        stores = plugins.key_stores(settings.key_stores)
        writable = writable_of(stores)
        # The first key may be made before the first start.
        await make_answers_key(custodian)
        keys, record = TaggedKeys(writable, store.api_key_tags, clock), Record(store.activity)
        administration = ApiKeyAdministration.over(keys, ApiKeyCache(clock), record, await fingerprints(custodian))
        yield OpenKeys(administration, keys, record)

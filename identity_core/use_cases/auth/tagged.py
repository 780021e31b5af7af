"""An untrusted key store with tags: a key is valid only in the state that this service wrote.

If an attacker edits or adds rows of the key store, or restores older ones, these keys are invalid: they are not found, and the log and
``/ready`` report them. Only an operator's ``identity keys accept`` makes such a key valid. The service never accepts keys without tags
automatically, because an attacker could delete the tags.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_core.domain.activity import DONE, OPERATOR, REPLAYED, ApiKeyChanged, Event, RequestContext
from identity_core.domain.callers import ApiKey
from identity_core.errors import ApiKeyNotFound, Overloaded, VersionConflict
from identity_core.ports.clock import Clock
from identity_core.ports.key_store import KeyStore, KeyTags, PreparedKeyStore, WritableKeyStore
from identity_core.settings import StartError
from identity_core.use_cases.background import Repeating
from identity_core.use_cases.record import Record

PAGE: Final = 500
FOREIGN: Final = "was not written by this service as it is"
MISSING: Final = "is missing from the key store"
UNFINISHED: Final = timedelta(minutes=5)
"""The time after which an announced change is either in the key store or will never be."""

log = logging.getLogger("identity")


class TaggedKeys(Struct, frozen=True):
    """A ``WritableKeyStore`` over ``store`` and the tags of its keys."""

    store: WritableKeyStore
    tags: KeyTags
    clock: Clock

    async def find(self, digest: str) -> ApiKey | None:
        key = await self._genuine(await self.store.find(digest))
        return key if key is not None and key.digest == digest else None

    async def get(self, key_id: str) -> ApiKey | None:
        return await self._genuine(await self.store.get(key_id))

    async def list(self, *, after: str | None, limit: int) -> Sequence[ApiKey]:
        good: list[ApiKey] = []
        while len(good) < limit and (page := await self.store.list(after=after, limit=limit)):
            good += [key for one in page if (key := await self._genuine(one)) is not None]
            after = page[-1].id
        return good[:limit]

    async def create(self, key: ApiKey) -> None:
        pending = await self.tags.announce(key, self.clock.now())
        try:
            await self.store.create(key)
        except (VersionConflict, Overloaded):
            await self.tags.withdraw(pending)
            raise
        await self.tags.settle(pending, None)

    async def replace(self, key: ApiKey, *, expected: ApiKey) -> None:
        pending = await self.tags.announce(key, self.clock.now())
        try:
            await self.store.replace(key, expected=expected)
        except (VersionConflict, ApiKeyNotFound, Overloaded):
            await self.tags.withdraw(pending)
            raise
        await self.tags.settle(pending, expected)

    async def accept(self, record: Record) -> None:
        """Accept the present state of the key store, on an operator's command."""
        # The audit line comes first: a crash in between leaves keys that are invalid, and an operator can accept them again.
        await record(RequestContext("acceptApiKeys", OPERATOR), Event(), self.clock.now(), durable=True)
        await self.tags.accept([key async for key in _all(self.store)])

    async def faults(self) -> Sequence[str]:
        """Return the faults of the key store, a line for each key."""
        return (await self.examined())[0]

    async def examined(self) -> tuple[Sequence[str], datetime | None]:
        """Return the faults of the key store, a line for each key; and the earliest expiry of a usable key, if there is
        one."""
        known, found, seen, ends, now = await self.tags.read_key_ids(), [], set(), list[datetime](), self.clock.now()
        async for key in _all(self.store):
            seen.add(key.id)
            if await self._genuine(key) is None:
                found.append(f"{key.id} {FOREIGN}")
            elif key.expires_at is not None and key.revoked_at is None and key.usable(now):
                ends.append(key.expires_at)
        return found + [f"{missing} {MISSING}" for missing in sorted(known - seen)], min(ends, default=None)

    async def tidy(self) -> None:
        """Delete the tags of unfinished changes, so that a key is valid only in its present state."""
        before = self.clock.now() - UNFINISHED
        async for key in _all(self.store):
            if await self.tags.holds(key):
                await self.tags.keep_only(key, before)

    async def _genuine(self, key: ApiKey | None) -> ApiKey | None:
        """Return the key, or its newer state if it changed after the read; None if its state is not one that this service wrote."""
        if key is None or await self.tags.holds(key):
            return key
        newest = await self.store.get(key.id)
        if newest is not None and newest != key and await self.tags.holds(newest):
            return newest
        log.warning("the API key %s %s: it is refused", key.id, FOREIGN)
        return None


@dataclass(slots=True)
class KeyStoreWatch(Repeating):
    """A background task that checks the key store repeatedly; the first step also calls ``tidy``. ``faults`` are the last findings,
    ``next_expiry`` is the earliest expiry of a usable key."""

    complaint = "the key store cannot be looked through"
    interval_seconds = 30.0

    keys: TaggedKeys
    faults: Sequence[str] = field(default=(), init=False)
    next_expiry: datetime | None = field(default=None, init=False)
    _is_tidy: bool = field(default=False, init=False)

    async def step(self) -> None:
        if not self._is_tidy:
            await self.keys.tidy()
            self._is_tidy = True
        found, self.next_expiry = await self.keys.examined()
        for one in found:
            if one not in self.faults:
                log.error("ALARM: API key %s. See `identity doctor`", one)
        self.faults = found


async def _all(store: WritableKeyStore) -> AsyncIterator[ApiKey]:
    after = None
    while page := await store.list(after=after, limit=PAGE):
        for key in page:
            yield key
        after = page[-1].id


class RecordKeyChange(Struct, frozen=True):
    """The audit line of a change. ``fingerprint`` returns the fingerprint for the digest of a key."""

    record: Record
    fingerprint: Callable[[str], str]
    clock: Clock

    async def __call__(self, context: RequestContext, key: ApiKey, **more: JsonValue) -> None:
        """Write the audit line of a change after which the key is ``key``."""
        details: dict[str, JsonValue] = {
            "name": key.name,
            "fingerprint": self.fingerprint(key.digest),
            "admin": key.scopes is None,
            **more,
        }
        outcome = DONE if context.intent is None else REPLAYED
        await self.record(context, ApiKeyChanged(target=key.id, outcome=outcome, details=details), self.clock.now())


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


async def has_api_keys(stores: tuple[KeyStore, ...]) -> bool:
    """Return whether any store has a key, as far as the stores can list them."""
    for store in stores:
        is_prepared = isinstance(store, PreparedKeyStore) and store.configured
        if await store.list(after=None, limit=1) if isinstance(store, WritableKeyStore) else is_prepared:
            return True
    return False

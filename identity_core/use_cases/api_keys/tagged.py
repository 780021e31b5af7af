"""The key store that is not trusted: a key counts only in the state in which this service left it.

Anyone who edits or adds rows of the key store, or puts an older one in its place, gets keys that are none: not found, told in the log and
by ``/ready``. Nothing makes such a key good but an operator's ``identity keys accept``: a service that took keys over by itself where
it finds no tags would take over those of anyone who takes the tags away.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.activity import DONE, OPERATOR, REPLAYED, ApiKeyChanged, Event, RequestAttempt, RequestContext
from identity_core.domain.callers import ApiKey
from identity_core.errors import ApiKeyNotFound, Overloaded, VersionConflict
from identity_core.ports.clock import Clock
from identity_core.ports.key_store import KeyTags, WritableKeyStore
from identity_core.use_cases.auth.authenticate import ApiKeyCache
from identity_core.use_cases.background import Repeating
from identity_core.use_cases.record import Record

PAGE: Final = 500
FOREIGN: Final = "was not written by this service as it is"
MISSING: Final = "is missing from the key store"
UNFINISHED: Final = timedelta(minutes=5)
"""After that a change that was announced is either in the key store or will never be."""

log = logging.getLogger("identity")


@value_class
class TaggedKeys:
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
        """Takes the key store as it is now, because an operator wants that."""
        # The line comes first: what ends the process in between leaves keys that are none, and they can be accepted.
        await record(RequestContext("acceptApiKeys", OPERATOR), Event(), self.clock.now(), durable=True)
        await self.tags.accept([key async for key in _all(self.store)])

    async def faults(self) -> Sequence[str]:
        """Return the faults of the key store, a line for each key."""
        return (await self.examined())[0]

    async def examined(self) -> tuple[Sequence[str], datetime | None]:
        """Return the faults of the key store, a line for each key; and the earliest expiry of a usable key, if there is
        one."""
        known, found, seen, ends, now = await self.tags.known(), [], set(), list[datetime](), self.clock.now()
        async for key in _all(self.store):
            seen.add(key.id)
            if await self._genuine(key) is None:
                found.append(f"{key.id} {FOREIGN}")
            elif key.expires_at is not None and key.revoked_at is None and key.usable(now):
                ends.append(key.expires_at)
        return found + [f"{missing} {MISSING}" for missing in sorted(known - seen)], min(ends, default=None)

    async def tidy(self) -> None:
        """Takes away what changes that never ended have left: a key holds in its present state alone."""
        before = self.clock.now() - UNFINISHED
        async for key in _all(self.store):
            if await self.tags.holds(key):
                await self.tags.keep_only(key, before)

    async def _genuine(self, key: ApiKey | None) -> ApiKey | None:
        """The key, or what it has become since it was read; None for one that is not as this service left it."""
        if key is None or await self.tags.holds(key):
            return key
        newest = await self.store.get(key.id)
        if newest is not None and newest != key and await self.tags.holds(newest):
            return newest
        log.warning("the API key %s %s: it is refused", key.id, FOREIGN)
        return None


@dataclass(slots=True)
class KeyStoreWatch(Repeating):
    """Looks through the key store again and again, the first time to tidy up as well. ``faults`` is what it found last, ``next_expiry``
    when the first usable key expires."""

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


@value_class
class RecordKeyChange:
    """``fingerprint`` makes that of the digest of a key."""

    record: Record
    fingerprint: Callable[[str], str]
    clock: Clock

    async def __call__(self, context: RequestContext, key: ApiKey, **more: JsonValue) -> None:
        """The audit line of a change that left ``key``."""
        details: dict[str, JsonValue] = {
            "name": key.name,
            "fingerprint": self.fingerprint(key.digest),
            "admin": key.scopes is None,
            **more,
        }
        outcome = DONE if context.intent is None else REPLAYED
        await self.record(context, ApiKeyChanged(target=key.id, outcome=outcome, details=details), self.clock.now())


ATTEMPTS = 16


@value_class
class ChangeStored:
    """Reads, decides, and writes if nothing changed in between, else begins again. So an update never undoes a revocation that it did
    not see."""

    store: WritableKeyStore
    known: ApiKeyCache

    async def __call__(
        self, key_id: str, decide: Callable[[ApiKey], ApiKey], attempt: RequestAttempt | None = None
    ) -> ApiKey:
        """The key as ``decide`` changed it; ``attempt`` is told of both states before. Raises ``ApiKeyNotFound``, ``Overloaded`` after
        16 lost races, and what ``decide`` raises."""
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
                # Also after a failure, whose outcome may be unknown: the next look-up asks the store.
                self.known.forget(key.digest)
            return changed
        raise Overloaded


def state_of(key: ApiKey) -> str:
    """Tells states of a stored key apart."""
    sets = [None if each is None else sorted(each) for each in (key.scopes, key.allowed_targets)]
    return repr([*sets, key.name, key.requests_per_second, key.burst, key.expires_at, key.revoked_at])

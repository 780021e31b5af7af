"""The administration of API keys. Every change leaves an audit line, whoever asked for it: an admin key over HTTP, or the operator
at the command line.

The text of a new key is shown once and stored nowhere. Listed are the keys of the writable store, revoked ones included, and not those
of files and of the environment: anyone who may read those places sees them there. Two keys of which one replaces the other are one
caller: they share what the old one created, its bucket and its audit trail (``ApiKey.lineage``). A revoked key stops working at once in
this process, within two seconds in the others, and for good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta

from identity_core.codec.multibase import base64url_encode
from identity_core.codec.structs import UNSET, UnsetType
from identity_core.domain import callers as key_text
from identity_core.domain.activity import Event, RequestContext
from identity_core.domain.callers import ApiKey, require_known, require_targets
from identity_core.errors import ApiKeyNotFound, IdentityError, InvalidRequest, JsonValue, Overloaded, VersionConflict
from identity_core.ports.clock import Clock
from identity_core.ports.key_store import WritableKeyStore
from identity_core.use_cases.api_keys.authenticate import ApiKeyCache
from identity_core.use_cases.record import Record

_ID_BYTES = 12


@dataclass(frozen=True, slots=True)
class NewApiKey:
    """What is asked for, as in ``ApiKey``. ``scopes`` None is an admin-equivalent key."""

    name: str
    scopes: frozenset[str] | None
    allowed_targets: frozenset[str] | None = None
    requests_per_second: float | None = None
    burst: int | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MintedKey:
    """A key and its text, on the one context on which there is one."""

    key: ApiKey
    text: str

    def __repr__(self) -> str:
        return f"MintedKey({self.key.id!r})"


def say_which(admin: bool | None, scopes: Sequence[str] | None) -> frozenset[str] | None:
    """The scopes that a creation means. Raises ``InvalidRequest`` unless it says one of ``admin: true`` and ``scopes``:
    the default must not be the key that may do everything, nor one that may do nothing; and for a scope that is none."""
    if admin and scopes is None:
        return None
    if scopes is not None and not admin:
        require_known(scopes)
        return frozenset(scopes)
    raise InvalidRequest("Say either admin: true or scopes: [...], so that no one makes an admin key by accident.")


@dataclass(frozen=True, slots=True)
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
        await self.record(context, Event(target=key.id, details=details), self.clock.now())


@dataclass(frozen=True, slots=True)
class CreateApiKey:
    """``random`` gives octets of the operating system's random source."""

    store: WritableKeyStore
    record: RecordKeyChange
    clock: Clock
    random: Callable[[int], bytes]

    async def __call__(self, wanted: NewApiKey, context: RequestContext) -> MintedKey:
        """The new key. Raises ``InvalidRequest`` for an expiry that has passed."""
        now = self.clock.now()
        if wanted.expires_at is not None and wanted.expires_at <= now:
            raise InvalidRequest("expiresAt has passed.", details={"field": "expiresAt"})
        minted = mint(wanted, now, self.random, lineage=None)
        await self.store.create(minted.key)
        await self.record(context, minted.key)
        return minted


def mint(wanted: NewApiKey, now: datetime, random: Callable[[int], bytes], *, lineage: str | None) -> MintedKey:
    """A new key that no store knows yet."""
    text = key_text.mint(random(key_text.RANDOM_BYTES))
    key = ApiKey(
        id=f"key_{base64url_encode(random(_ID_BYTES))}",
        name=wanted.name,
        digest=key_text.digest_of(text),
        scopes=wanted.scopes,
        allowed_targets=wanted.allowed_targets,
        requests_per_second=wanted.requests_per_second,
        burst=wanted.burst,
        created_at=now,
        expires_at=wanted.expires_at,
        lineage=lineage,
    )
    return MintedKey(key, text)


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


@dataclass(frozen=True, slots=True)
class ListApiKeys:
    """One page."""

    store: WritableKeyStore

    async def __call__(self, *, after: str | None, limit: int) -> Sequence[ApiKey]:
        """At most ``limit`` keys in order of id, those after ``after`` first."""
        return await self.store.list(after=after, limit=limit)


ATTEMPTS = 16


@dataclass(frozen=True, slots=True)
class ChangeStored:
    """Reads, decides, and writes if nothing changed in between, else begins again. So an update never undoes a revocation that it did
    not see."""

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


@dataclass(frozen=True, slots=True)
class KeyChanges:
    """New values, as in ``ApiKey``; what is ``UNSET`` stays, None clears a limit, an allowlist or an expiry. ``scopes`` None makes the key
    admin-equivalent."""

    name: str | UnsetType = UNSET
    scopes: frozenset[str] | UnsetType | None = UNSET
    allowed_targets: frozenset[str] | UnsetType | None = UNSET
    requests_per_second: float | UnsetType | None = UNSET
    burst: int | UnsetType | None = UNSET
    expires_at: datetime | UnsetType | None = UNSET


@dataclass(frozen=True, slots=True)
class UpdateApiKey:
    """Changes what is named and keeps the rest: text, id and whether it is revoked do not change."""

    change: ChangeStored
    record: RecordKeyChange
    clock: Clock

    async def __call__(self, key_id: str, changes: KeyChanges, context: RequestContext) -> ApiKey:
        """The changed key. Raises ``ApiKeyNotFound``, and ``InvalidRequest`` for an expiry that has passed (revocation
        is there for that), for a scope that is none, and for new scopes to act for DIDs without a word for which."""
        expires_at = changes.expires_at
        if isinstance(expires_at, datetime) and expires_at <= self.clock.now():
            raise InvalidRequest("expiresAt has passed.", details={"field": "expiresAt"})
        values = {field.name: getattr(changes, field.name) for field in fields(changes)}
        changed = {name: value for name, value in values.items() if value is not UNSET}
        scopes = changed.get("scopes")
        if scopes is not None:
            require_known(scopes)

        def decide(key: ApiKey) -> ApiKey:
            if scopes is not None and scopes != key.scopes:
                require_targets(scopes, said="allowed_targets" in changed or key.allowed_targets is not None)
            return replace(key, **changed)

        key = await self.change(key_id, decide)
        await self.record(context, key)
        return key


MAX_GRACE = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class RotatedKey:
    """The successor with its text, and the old key with the end of its life in ``revoked_at``."""

    successor: MintedKey
    predecessor: ApiKey


@dataclass(frozen=True, slots=True)
class RotateApiKey:
    """Makes a successor with the same rights and limits; the old key works until the end of the grace period. ``random`` gives octets
    of the operating system's random source."""

    change: ChangeStored
    record: RecordKeyChange
    clock: Clock
    random: Callable[[int], bytes]

    async def __call__(self, key_id: str, context: RequestContext, *, grace: timedelta) -> RotatedKey:
        """The two keys. Raises ``ApiKeyNotFound``, and ``InvalidRequest`` for a key that is revoked or expired already,
        or a grace period longer than 90 days."""
        if not timedelta(0) <= grace <= MAX_GRACE:
            raise InvalidRequest("A grace period lasts from 0 seconds to 90 days.", details={"field": "graceSeconds"})
        now = self.clock.now()
        old = await self.change(key_id, lambda key: _still_usable(key, now))
        successor = mint(_like(old), now, self.random, lineage=old.lineage or old.id)
        # The successor first: a crash in between leaves a key that no one holds, not a caller without a key.
        await self.change.store.create(successor.key)
        try:
            predecessor = await self.change(key_id, lambda key: _retire(_still_usable(key, now), now + grace))
        except IdentityError:
            await self.change(successor.key.id, lambda key: _retire(key, now))
            raise
        await self.record(context, predecessor, successor=successor.key.id)
        return RotatedKey(successor, predecessor)


def _still_usable(key: ApiKey, now: datetime) -> ApiKey:
    if not key.usable(now):
        raise InvalidRequest("The key is revoked or expired; create a new one.")
    return key


def _like(key: ApiKey) -> NewApiKey:
    return NewApiKey(
        key.name, key.scopes, key.allowed_targets, key.requests_per_second, key.burst, expires_at=key.expires_at
    )


def _retire(key: ApiKey, at: datetime) -> ApiKey:
    """Revoked at ``at``, or earlier if that was said before: the end of a key never moves away."""
    return replace(key, revoked_at=at if key.revoked_at is None else min(key.revoked_at, at))


@dataclass(frozen=True, slots=True)
class RevokeApiKey:
    """Final."""

    change: ChangeStored
    record: RecordKeyChange
    clock: Clock

    async def __call__(self, key_id: str, context: RequestContext) -> ApiKey:
        """The key, revoked now or earlier. Raises ``ApiKeyNotFound``."""
        now = self.clock.now()
        key = await self.change(
            key_id,
            lambda key: key if key.revoked_at is not None and key.revoked_at <= now else replace(key, revoked_at=now),
        )
        await self.record(context, key)
        return key

"""Create, read, update, rotate and revoke API keys. Every change leaves an audit line, for an admin key over HTTP and for the command line.

The text of a new key is shown once and never stored. A key and its successor are one caller: they share the records that the old one
created, its rate limit and its audit trail (``ApiKey.lineage``). A revoked key stops working at once in this process, and within two
seconds in the others.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from identity_api_keys.stored_changes import ChangeStored, state_of
from identity_api_keys.wire import (
    ApiKeyRecord,
    CreateApiKeyRequest,
    ListApiKeysQuery,
    RotateApiKeyRequest,
    UpdateApiKeyRequest,
)
from identity_codec import times
from identity_codec.structs import UNSET, UnsetType, value_or
from identity_codec.times import micros, moment
from identity_codec.values import replace
from identity_core.domain import callers as key_text
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import ACTING, ApiKey, require_known
from identity_core.domain.dids.did import Did
from identity_core.errors import ApiKeyNotFound, InvalidDid, InvalidRequest, Overloaded
from identity_core.ports.clock import Clock
from identity_core.use_cases.auth.authenticate import ApiKeyCache
from identity_core.use_cases.auth.tagged import RecordKeyChange, TaggedKeys
from identity_core.use_cases.record import Record


def scopes_from_request(said: CreateApiKeyRequest | UpdateApiKeyRequest) -> frozenset[str] | None:
    """Return the scopes of a request, None for an admin-equivalent key.

    Raises ``InvalidRequest``: when the request has not exactly one of ``admin: true`` and ``scopes``, so that no client creates an
    admin key by omission; when a scope is unknown."""
    admin, scopes = value_or(said.admin, False), value_or(said.scopes, None)
    if admin and scopes is None:
        return None
    if scopes is not None and not admin:
        require_known(scopes)
        return frozenset(scopes)
    raise InvalidRequest("Give either admin: true or scopes: [...], so that no admin key is made by accident.")


def targets_from_request(dids: tuple[str, ...] | UnsetType | None) -> frozenset[str] | UnsetType | None:
    """Return the allowlist of a request. Raises ``InvalidRequest``: when an entry is not a DID."""
    try:
        return frozenset(str(Did.parse(did)) for did in dids) if isinstance(dids, tuple) else dids
    except InvalidDid as error:
        raise InvalidRequest("allowedTargets holds DIDs.", details={"field": "allowedTargets"}) from error


def expiry_from_request(text: str | UnsetType | None, now: datetime) -> datetime | UnsetType | None:
    """Return the expiry of a request. Raises ``InvalidRequest``: when it is malformed or has passed."""
    if not isinstance(text, str):
        return text
    try:
        expires_at = times.parse(text)
    except ValueError as error:
        raise InvalidRequest(
            "expiresAt is not an RFC 3339 time with a zone.", details={"field": "expiresAt"}
        ) from error
    if expires_at <= now:
        raise InvalidRequest("expiresAt has passed.", details={"field": "expiresAt"})
    return expires_at


def require_current(key: ApiKey, now: datetime) -> ApiKey:
    """Return ``key``. Raises ``InvalidRequest``: when it is revoked, expired, or was rotated before."""
    if key.revoked_at is not None or not key.usable(now):
        raise InvalidRequest("The key is revoked, rotated or expired: rotate its successor, or create a new key.")
    return key


def retire(key: ApiKey, at: datetime) -> ApiKey:
    """Return ``key``, revoked at ``at`` or at its earlier end: the end of a key never moves back."""
    return replace(key, revoked_at=at if key.revoked_at is None else min(key.revoked_at, at))


class MintedKey(Struct, frozen=True):
    """A new key and its text, which is only available here."""

    key: ApiKey
    text: str

    def __repr__(self) -> str:
        return f"MintedKey({self.key.id!r})"


MAX_GRACE = timedelta(days=90)


class RotatedKey(Struct, frozen=True):
    """The successor with its text, and the old key with its end in ``revoked_at``."""

    successor: MintedKey
    predecessor: ApiKey


class ApiKeyAdministration(Struct, frozen=True):
    """The use cases on API keys, for the admin operations and for the command line. ``random`` returns bytes of the operating system's
    random source."""

    change: ChangeStored
    record: RecordKeyChange
    clock: Clock
    random: Callable[[int], bytes] = secrets.token_bytes

    @classmethod
    def over(
        cls, keys: TaggedKeys, known: ApiKeyCache, record: Record, fingerprint: Callable[[str], str]
    ) -> ApiKeyAdministration:
        """Return the administration of ``keys``. ``fingerprint``: returns the fingerprint of a digest."""
        return cls(ChangeStored(keys, known), RecordKeyChange(record, fingerprint, keys.clock), keys.clock)

    async def create(self, wanted: CreateApiKeyRequest, context: RequestContext) -> MintedKey:
        """Create a key.

        Raises ``InvalidRequest``: as ``scopes_from_request``; when a scope to act for DIDs has no ``allowedTargets``; when the expiry
        has passed."""
        now, scopes = self.clock.now(), scopes_from_request(wanted)
        require_targets(scopes, said=wanted.allowed_targets is not UNSET)
        random = self.random if context.attempt is None else context.attempt.random
        key_id, text = key_text.mint_key(random)
        key = ApiKey(
            id=key_id,
            name=wanted.name,
            digest=key_text.digest_of(text),
            scopes=scopes,
            allowed_targets=value_or(targets_from_request(wanted.allowed_targets), None),
            requests_per_second=value_or(wanted.requests_per_second, None),
            burst=value_or(wanted.burst, None),
            created_at=now,
            expires_at=value_or(expiry_from_request(wanted.expires_at, now), None),
        )
        key = await self._created(key, context)
        await self.record(context, key)
        return MintedKey(key, text)

    async def _created(self, key: ApiKey, context: RequestContext) -> ApiKey:
        """Store the key and return it. If an earlier run of the same request has created it, return that one."""
        if context.attempt is not None:
            if context.intent is not None and (made := await self.change.store.get(key.id)) is not None:
                return made
            await context.attempt.intend({})
        await self.change.store.create(key)
        return key

    async def update(self, key_id: str, said: UpdateApiKeyRequest, context: RequestContext) -> ApiKey:
        """Change the members of the request and keep the others. Text, id and revocation do not change. Null clears a limit, an allowlist
        or an expiry. Raises ``ApiKeyNotFound``, and ``InvalidRequest`` as ``create`` does."""
        says_rights = said.admin is not UNSET or said.scopes is not UNSET
        scopes = scopes_from_request(said) if says_rights else UNSET
        targets = targets_from_request(said.allowed_targets)
        expires_at = expiry_from_request(said.expires_at, self.clock.now())

        def decide(key: ApiKey) -> ApiKey:
            if not isinstance(scopes, UnsetType) and scopes != key.scopes:
                require_targets(scopes, said=targets is not UNSET or key.allowed_targets is not None)
            return replace(
                key,
                name=value_or(said.name, key.name),
                scopes=value_or(scopes, key.scopes),
                allowed_targets=value_or(targets, key.allowed_targets),
                requests_per_second=value_or(said.requests_per_second, key.requests_per_second),
                burst=value_or(said.burst, key.burst),
                expires_at=value_or(expires_at, key.expires_at),
            )

        def decide_again(key: ApiKey) -> ApiKey:
            # A change that the earlier run has already made is not counted again.
            changed = decide(key)
            if context.intent is not None and changed != key and state_of(key) != context.intent["before"]:
                raise InvalidRequest(
                    "The first attempt failed, and the key was changed by another request since. Read the key; where the change is still"
                    " wanted, send it with a new Idempotency-Key."
                )
            return changed

        key = await self.change(key_id, decide_again, context.attempt)
        await self.record(context, key)
        return key

    async def rotate(self, key_id: str, wanted: RotateApiKeyRequest, context: RequestContext) -> RotatedKey:
        """Create a successor with the same rights and limits. The old key works until the end of the grace period. Raises
        ``ApiKeyNotFound``. Raises ``InvalidRequest``: when the key is revoked or expired, or the grace period is longer than 90 days."""
        grace = timedelta(seconds=value_or(wanted.grace_seconds, 0))
        if not timedelta(0) <= grace <= MAX_GRACE:
            raise InvalidRequest("A grace period lasts from 0 seconds to 90 days.", details={"field": "graceSeconds"})
        own = context.caller.key
        if not grace and context.attempt is not None and own is not None and own.id == key_id:
            raise InvalidRequest(
                "A key that ends at once cannot fetch a lost answer with its Idempotency-Key.",
                details={"field": "graceSeconds", "remedy": "Send graceSeconds, such as 60, or no Idempotency-Key."},
            )
        intent = context.intent
        random = self.random if context.attempt is None else context.attempt.random
        now = self.clock.now() if intent is None else moment(intent["now"])
        new_id, text = key_text.mint_key(random)
        made = None if intent is None else await self.change.store.get(new_id)
        successor = (
            await self._succeed(key_id, new_id, text, now, context) if made is None else require_current(made, now)
        )
        try:
            predecessor = await self.change(
                key_id, lambda key: retire(require_current(key, now) if made is None else key, now + grace)
            )
        except (ApiKeyNotFound, InvalidRequest, Overloaded):
            # Only failures that certainly changed nothing: after any other failure the old key may be revoked.
            await self.change(successor.id, lambda key: retire(key, now))
            raise
        await self.record(context, predecessor, successor=successor.id)
        return RotatedKey(MintedKey(successor, text), predecessor)

    async def _succeed(self, key_id: str, new_id: str, text: str, now: datetime, context: RequestContext) -> ApiKey:
        """Create the successor first: a crash in between leaves an unused key, not a caller without a key."""
        old = await self.change(key_id, lambda key: require_current(key, now))
        successor = replace(
            old,
            id=new_id,
            digest=key_text.digest_of(text),
            created_at=now,
            revoked_at=None,
            lineage=old.lineage or old.id,
        )
        if context.attempt is not None:
            await context.attempt.intend({"now": micros(now)})
        await self.change.store.create(successor)
        return successor

    async def revoke(self, key_id: str, context: RequestContext) -> ApiKey:
        """Return the key, revoked now or earlier; a revocation is final. Raises ``ApiKeyNotFound``."""
        now = self.clock.now()
        key = await self.change(
            key_id,
            lambda key: key if key.revoked_at is not None and key.revoked_at <= now else replace(key, revoked_at=now),
        )
        await self.record(context, key)
        return key

    async def get(self, key_id: str) -> ApiKey:
        """Return the key. Raises ``ApiKeyNotFound``."""
        key = await self.change.store.get(key_id)
        if key is None:
            raise ApiKeyNotFound(details={"id": key_id})
        return key

    async def list(self, query: ListApiKeysQuery, *, after: str | None) -> Sequence[ApiKey]:
        """Return the keys after ``after`` in order of id; one more than the limit if there is one."""
        return await self.change.store.list(after=after, limit=query.limit + 1)


def require_targets(scopes: Collection[str] | None, *, said: bool) -> None:
    """Require an allowlist for a key that may act for DIDs: the default must not be every DID.

    Raises ``InvalidRequest``: when ``scopes`` contain such a right and the request did not name targets (``said``)."""
    if scopes is not None and not said and not ACTING.isdisjoint(scopes):
        raise InvalidRequest(
            "Say for which DIDs the key may act: allowedTargets with a list, or null for every DID.",
            details={"field": "allowedTargets"},
        )


def record_of(key: ApiKey, fingerprint: str) -> ApiKeyRecord:
    """Return a key as answers show it."""
    return ApiKeyRecord(
        id=key.id,
        name=key.name,
        fingerprint=fingerprint,
        admin=key.scopes is None,
        scopes=None if key.scopes is None else tuple(sorted(key.scopes)),
        allowed_targets=None if key.allowed_targets is None else tuple(sorted(key.allowed_targets)),
        requests_per_second=key.requests_per_second,
        burst=key.burst,
        created_at=times.printed(key.created_at),
        expires_at=times.printed_or_none(key.expires_at),
        revoked_at=times.printed_or_none(key.revoked_at),
        lineage=key.lineage,
        source=key.source,
    )

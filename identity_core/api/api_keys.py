"""The handlers of the tag ``api_keys``: admin keys administer API keys.

The text of a key is in the answers of createApiKey and rotateApiKey and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from identity_core import wire
from identity_core.api.request import NO_STORE, Answer, Request, cursor, page_of, position
from identity_core.codec import times
from identity_core.codec.structs import UNSET, UnsetType, given
from identity_core.codec.times import printed, printed_or_none
from identity_core.domain.callers import ApiKey, require_targets
from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDid, InvalidRequest
from identity_core.use_cases.api_keys.manage import (
    CreateApiKey,
    GetApiKey,
    KeyChanges,
    ListApiKeys,
    NewApiKey,
    RevokeApiKey,
    RotateApiKey,
    UpdateApiKey,
    say_which,
)


@dataclass(frozen=True, slots=True)
class ApiKeyHandlers:
    """createApiKey, listApiKeys, getApiKey, updateApiKey, rotateApiKey, revokeApiKey."""

    create: CreateApiKey
    list: ListApiKeys
    get: GetApiKey
    update: UpdateApiKey
    rotate: RotateApiKey
    revoke: RevokeApiKey
    fingerprint: Callable[[str], str]

    async def create_api_key(self, request: Request) -> Answer:
        request.authenticated.require_admin()
        minted = await self.create(_wanted(request.body), request.context)
        body = wire.IssuedApiKey(api_key=minted.text, record=self._shown(minted.key))
        return _issued(body, minted.key)

    async def list_api_keys(self, request: Request) -> Answer:
        request.authenticated.require_admin()
        query: wire.ListApiKeysQuery = request.query
        keys = await self.list(after=position(query.cursor), limit=query.limit + 1)
        page, end = page_of(keys, query.limit)
        items = tuple(self._shown(key) for key in page)
        body = wire.ApiKeyList(items=items, next_cursor=None if end is None else cursor(end.id))
        return Answer(200, body, headers=[NO_STORE])

    async def get_api_key(self, request: Request) -> Answer:
        request.authenticated.require_admin()
        return Answer(200, self._shown(await self.get(request.path["keyId"])), headers=[NO_STORE])

    async def update_api_key(self, request: Request) -> Answer:
        request.authenticated.require_admin()
        key = await self.update(request.path["keyId"], _changes(request.body), request.context)
        return Answer(200, self._shown(key), headers=[NO_STORE])

    async def rotate_api_key(self, request: Request) -> Answer:
        request.authenticated.require_admin()
        wish: wire.RotateApiKeyRequest = request.body
        grace = timedelta(seconds=given(wish.grace_seconds, 0))
        rotated = await self.rotate(request.path["keyId"], request.context, grace=grace)
        successor = rotated.successor
        body = wire.RotatedApiKey(
            api_key=successor.text,
            record=self._shown(successor.key),
            predecessor=self._shown(rotated.predecessor),
        )
        return _issued(body, successor.key)

    async def revoke_api_key(self, request: Request) -> Answer:
        request.authenticated.require_admin()
        key = await self.revoke(request.path["keyId"], request.context)
        return Answer(200, self._shown(key), headers=[NO_STORE])

    def _shown(self, key: ApiKey) -> wire.ApiKeyRecord:
        return _record(key, self.fingerprint(key.digest))


def _issued(body: wire.IssuedApiKey | wire.RotatedApiKey, key: ApiKey) -> Answer:
    return Answer(201, body, headers=[NO_STORE, ("Location", f"/api/v1/admin/api-keys/{key.id}")])


def _wanted(body: wire.CreateApiKeyRequest) -> NewApiKey:
    scopes = say_which(given(body.admin, None), given(body.scopes, None))
    require_targets(scopes, said=body.allowed_targets is not UNSET)
    return NewApiKey(
        name=body.name,
        scopes=scopes,
        allowed_targets=given(_targets(body.allowed_targets), None),
        requests_per_second=given(body.requests_per_second, None),
        burst=given(body.burst, None),
        expires_at=given(_time(body.expires_at), None),
    )


def _changes(body: wire.UpdateApiKeyRequest) -> KeyChanges:
    """``admin`` and ``scopes`` together say one thing."""
    says_rights = body.admin is not UNSET or body.scopes is not UNSET
    return KeyChanges(
        name=body.name,
        scopes=say_which(given(body.admin, None), given(body.scopes, None)) if says_rights else UNSET,
        allowed_targets=_targets(body.allowed_targets),
        requests_per_second=body.requests_per_second,
        burst=body.burst,
        expires_at=_time(body.expires_at),
    )


def _targets(dids: tuple[str, ...] | UnsetType | None) -> frozenset[str] | UnsetType | None:
    """Raises ``InvalidRequest``: an allowlist with a slip in it would lock out whom it should let in."""
    try:
        return frozenset(str(Did.parse(did)) for did in dids) if isinstance(dids, tuple) else dids
    except InvalidDid as error:
        raise InvalidRequest("allowedTargets holds DIDs.", details={"field": "allowedTargets"}) from error


def _time(text: str | UnsetType | None) -> datetime | UnsetType | None:
    try:
        return times.parse(text) if isinstance(text, str) else text
    except ValueError as error:
        raise InvalidRequest("expiresAt is no RFC 3339 time with a zone.", details={"field": "expiresAt"}) from error


def _record(key: ApiKey, fingerprint: str) -> wire.ApiKeyRecord:
    return wire.ApiKeyRecord(
        id=key.id,
        name=key.name,
        fingerprint=fingerprint,
        admin=key.scopes is None,
        scopes=None if key.scopes is None else tuple(sorted(key.scopes)),
        allowed_targets=None if key.allowed_targets is None else tuple(sorted(key.allowed_targets)),
        requests_per_second=key.requests_per_second,
        burst=key.burst,
        created_at=printed(key.created_at),
        expires_at=printed_or_none(key.expires_at),
        revoked_at=printed_or_none(key.revoked_at),
        lineage=key.lineage,
        source=key.source,
    )

"""The handlers of the tag ``api_keys``, with which admin keys administer API keys, and the form of authors in
answers.

Only the answers of createApiKey and rotateApiKey contain the text of a key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from identity_codec.structs import UNSET
from identity_codec.times import printed, printed_or_none
from identity_codec.values import value_class
from identity_core import wire
from identity_core.api.decode import page_of, position
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.domain.callers import ApiKey, Caller
from identity_core.use_cases.api_keys.manage import (
    CreateApiKey,
    GetApiKey,
    ListApiKeys,
    RevokeApiKey,
    RotateApiKey,
    UpdateApiKey,
)

_ID: Final = "key_[A-Za-z0-9_-]+"


@value_class
class ApiKeyHandlers:
    """Handlers of createApiKey, listApiKeys, getApiKey, updateApiKey, rotateApiKey, revokeApiKey."""

    create: CreateApiKey
    list: ListApiKeys
    get: GetApiKey
    update: UpdateApiKey
    rotate: RotateApiKey
    revoke: RevokeApiKey
    fingerprint: Callable[[str], str]

    async def create_api_key(self, request: Request) -> Answer:
        request.authenticated.require_admin()
        minted = await self.create(request.body, request.context)
        body = wire.IssuedApiKey(api_key=minted.text, record=self._shown(minted.key))
        return _issued(body, minted.key)

    async def list_api_keys(self, request: Request) -> Answer:
        request.authenticated.require_admin()
        query: wire.ListApiKeysQuery = request.query
        keys = await self.list(query, after=position(query.cursor, _ID, "keys "))
        page, following = page_of(keys, query.limit, lambda key: key.id, "keys ")
        body = wire.ApiKeyList(items=tuple(map(self._shown, page)), next_cursor=following)
        return Answer(200, body, headers=[NO_STORE])

    async def get_api_key(self, request: Request) -> Answer:
        request.authenticated.require_admin()
        return Answer(200, self._shown(await self.get(request.path["keyId"])), headers=[NO_STORE])

    async def update_api_key(self, request: Request) -> Answer:
        request.authenticated.require_admin()
        key = await self.update(request.path["keyId"], request.body, request.context)
        return Answer(200, self._shown(key), headers=[NO_STORE])

    async def rotate_api_key(self, request: Request) -> Answer:
        request.authenticated.require_admin()
        rotated = await self.rotate(request.path["keyId"], request.body, request.context)
        successor = rotated.successor
        body = wire.RotatedApiKey(
            api_key=successor.text, record=self._shown(successor.key), predecessor=self._shown(rotated.predecessor)
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


_API_KEY: Final = "apiKey:"


def author(text: str, reader: Caller | None) -> wire.Author:
    """Return the wire form of ``Caller.author`` for ``reader`` (None for an unauthenticated client)."""
    if not text.startswith(_API_KEY):
        return wire.Author(kind="did", did=text)
    return wire.Author(kind="apiKey", fingerprint=text.removeprefix(_API_KEY) if sees_keys(reader) else UNSET)


def revoker(text: str | None, reader: Caller | None) -> wire.Revoker | None:
    """Return the wire form of the author of a revocation for ``reader``, as ``author`` does; None if it was not
    revoked."""
    if text is None:
        return None
    who = author(text, reader)
    return wire.Revoker(kind=who.kind, did=who.did, fingerprint=who.fingerprint)


def sees_keys(reader: Caller | None) -> bool:
    """Return whether answers to ``reader`` contain fingerprints of API keys."""
    return reader is not None and reader.is_admin

"""The handlers of the tag ``api_keys``, with which admin keys administer API keys.

Only the answers of createApiKey and rotateApiKey contain the text of a key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from identity_api_keys import wire
from identity_api_keys.manage import ApiKeyAdministration, record_of
from identity_core.api.decode import page_of, position
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.domain.callers import ApiKey
from identity_core.errors import Forbidden

_ID: Final = "key_[A-Za-z0-9_-]+"


class ApiKeyHandlers(Struct, frozen=True):
    """Handlers of createApiKey, listApiKeys, getApiKey, updateApiKey, rotateApiKey, revokeApiKey."""

    keys: ApiKeyAdministration
    fingerprint: Callable[[str], str]

    async def create_api_key(self, request: Request) -> Answer:
        _require_current_admin(request)
        minted = await self.keys.create(request.body, request.context)
        body = wire.IssuedApiKey(api_key=minted.text, record=self._format_key(minted.key))
        return _issued(body, minted.key)

    async def list_api_keys(self, request: Request) -> Answer:
        request.authenticated.require_admin()
        query: wire.ListApiKeysQuery = request.query
        keys = await self.keys.list(query, after=position(query.cursor, _ID, "keys "))
        page, following = page_of(keys, query.limit, lambda key: key.id, "keys ")
        body = wire.ApiKeyList(items=tuple(map(self._format_key, page)), next_cursor=following)
        return Answer(200, body, headers=[NO_STORE])

    async def get_api_key(self, request: Request) -> Answer:
        request.authenticated.require_admin()
        return Answer(200, self._format_key(await self.keys.get(request.path["keyId"])), headers=[NO_STORE])

    async def update_api_key(self, request: Request) -> Answer:
        _require_current_admin(request)
        key = await self.keys.update(request.path["keyId"], request.body, request.context)
        return Answer(200, self._format_key(key), headers=[NO_STORE])

    async def rotate_api_key(self, request: Request) -> Answer:
        _require_current_admin(request)
        rotated = await self.keys.rotate(request.path["keyId"], request.body, request.context)
        successor, predecessor = rotated.successor, self._format_key(rotated.predecessor)
        record = self._format_key(successor.key)
        body = wire.RotatedApiKey(api_key=successor.text, record=record, predecessor=predecessor)
        return _issued(body, successor.key)

    async def revoke_api_key(self, request: Request) -> Answer:
        _require_current_admin(request)
        key = await self.keys.revoke(request.path["keyId"], request.context)
        return Answer(200, self._format_key(key), headers=[NO_STORE])

    def _format_key(self, key: ApiKey) -> wire.ApiKeyRecord:
        return record_of(key, self.fingerprint(key.digest))


def _require_current_admin(request: Request) -> None:
    """Require an admin key that was not rotated. A rotated one only completes a request that it began before: an old key must not
    get a new one. Raises ``Forbidden``."""
    request.authenticated.require_admin()
    key = request.authenticated.api_key
    if key is not None and key.revoked_at is not None and request.context.intent is None:
        raise Forbidden(
            "A key in its grace period changes no API keys.", details={"remedy": "Call with its successor."}
        )


def _issued(body: wire.IssuedApiKey | wire.RotatedApiKey, key: ApiKey) -> Answer:
    return Answer(201, body, headers=[NO_STORE, ("Location", f"/api/v1/admin/api-keys/{key.id}")])

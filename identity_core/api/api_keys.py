"""The handlers of the tag ``api_keys``: admin keys administer API keys, and every change leaves an audit row.

The text of a key is in the answers of createApiKey and rotateApiKey and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from identity_core.api import did_parse, did_render
from identity_core.api.request import Answer, Request
from identity_core.domain import times
from identity_core.domain.caller import ApiKey, Caller
from identity_core.domain.did import Did
from identity_core.domain.scopes import require_targets
from identity_core.errors import InvalidDid, InvalidRequest, JsonValue
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import AuditLog, AuditRow
from identity_core.use_cases.api_keys.create import CreateApiKey, MintedKey, NewApiKey, say_which
from identity_core.use_cases.api_keys.get import GetApiKey
from identity_core.use_cases.api_keys.list import ListApiKeys
from identity_core.use_cases.api_keys.revoke import RevokeApiKey
from identity_core.use_cases.api_keys.rotate import RotateApiKey
from identity_core.use_cases.api_keys.update import KEPT, KeyChanges, UpdateApiKey

_NO_STORE: Final = ("Cache-Control", "no-store")


@dataclass(frozen=True, slots=True)
class ApiKeyHandlers:
    """createApiKey, listApiKeys, getApiKey, updateApiKey, rotateApiKey, revokeApiKey."""

    create: CreateApiKey
    list: ListApiKeys
    get: GetApiKey
    update: UpdateApiKey
    rotate: RotateApiKey
    revoke: RevokeApiKey
    audit: AuditLog
    clock: Clock
    fingerprint: Callable[[str], str]

    async def create_api_key(self, request: Request) -> Answer:
        admin = _admin(request)
        minted = await self.create(_wanted(request.body))
        await self._record(request, admin, minted.key)
        return self._issued(minted, {})

    async def list_api_keys(self, request: Request) -> Answer:
        _admin(request)
        limit = request.query.get("limit", 50)
        keys = await self.list(after=did_parse.cursor(request.query.get("cursor")), limit=limit + 1)
        page = keys[:limit]
        following = did_render.cursor(page[-1].id) if len(keys) > limit else None
        return Answer(200, {"items": [self._shown(key) for key in page], "nextCursor": following}, headers=[_NO_STORE])

    async def get_api_key(self, request: Request) -> Answer:
        _admin(request)
        return Answer(200, self._shown(await self.get(request.path["keyId"])), headers=[_NO_STORE])

    async def update_api_key(self, request: Request) -> Answer:
        admin = _admin(request)
        key = await self.update(request.path["keyId"], _changes(request.body))
        await self._record(request, admin, key)
        return Answer(200, self._shown(key), headers=[_NO_STORE])

    async def rotate_api_key(self, request: Request) -> Answer:
        admin = _admin(request)
        grace = timedelta(seconds=request.body.get("graceSeconds", 0))
        rotated = await self.rotate(request.path["keyId"], grace=grace)
        await self._record(request, admin, rotated.predecessor, successor=rotated.successor.key.id)
        return self._issued(rotated.successor, {"predecessor": self._shown(rotated.predecessor)})

    async def revoke_api_key(self, request: Request) -> Answer:
        admin = _admin(request)
        key = await self.revoke(request.path["keyId"])
        await self._record(request, admin, key)
        return Answer(200, self._shown(key), headers=[_NO_STORE])

    def _issued(self, minted: MintedKey, more: Mapping[str, Any]) -> Answer:
        body = {"apiKey": minted.text, "record": self._shown(minted.key), **more}
        return Answer(201, body, headers=[_NO_STORE, ("Location", f"/api/v1/admin/api-keys/{minted.key.id}")])

    def _shown(self, key: ApiKey) -> dict[str, JsonValue]:
        return _record(key, self.fingerprint(key.digest))

    async def _record(self, request: Request, admin: Caller, key: ApiKey, **details: JsonValue) -> None:
        await self.audit.write(
            AuditRow(
                at=self.clock.now(),
                request_id=request.request_id,
                operation=request.operation_id,
                caller=admin.identity,
                fingerprint=admin.api_key.fingerprint if admin.api_key else None,
                target=key.id,
                outcome="done",
                details={
                    "name": key.name,
                    "fingerprint": self.fingerprint(key.digest),
                    "admin": key.scopes is None,
                    **details,
                },
            )
        )


def _admin(request: Request) -> Caller:
    """The caller, who is an admin. Raises ``Forbidden``."""
    caller = did_parse.caller(request)
    caller.require_admin()
    return caller


def _wanted(body: Mapping[str, Any]) -> NewApiKey:
    scopes = say_which(body.get("admin"), body.get("scopes"))
    require_targets(scopes, said="allowedTargets" in body)
    return NewApiKey(
        name=body["name"],
        scopes=scopes,
        allowed_targets=_targets(body.get("allowedTargets")),
        requests_per_second=_rate(body.get("requestsPerSecond")),
        burst=body.get("burst"),
        expires_at=_time(body.get("expiresAt")),
    )


def _changes(body: Mapping[str, Any]) -> KeyChanges:
    """Members that are absent are kept; ``admin`` and ``scopes`` together say one thing."""
    says_rights = "admin" in body or "scopes" in body
    return KeyChanges(
        name=body.get("name", KEPT),
        scopes=say_which(body.get("admin"), body.get("scopes")) if says_rights else KEPT,
        allowed_targets=_targets(body["allowedTargets"]) if "allowedTargets" in body else KEPT,
        requests_per_second=_rate(body["requestsPerSecond"]) if "requestsPerSecond" in body else KEPT,
        burst=body.get("burst", KEPT),
        expires_at=_time(body["expiresAt"]) if "expiresAt" in body else KEPT,
    )


def _targets(dids: list[str] | None) -> frozenset[str] | None:
    """Raises ``InvalidRequest``: an allowlist with a slip in it would lock out whom it should let in."""
    try:
        return None if dids is None else frozenset(str(Did.parse(did)) for did in dids)
    except InvalidDid as error:
        raise InvalidRequest("allowedTargets holds DIDs.", details={"field": "allowedTargets"}) from error


def _rate(rate: float | None) -> float | None:
    return None if rate is None else float(rate)


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return times.parse(text)
    except ValueError as error:
        raise InvalidRequest("expiresAt is no RFC 3339 time with a zone.", details={"field": "expiresAt"}) from error


def _record(key: ApiKey, fingerprint: str) -> dict[str, JsonValue]:
    """``ApiKeyRecord`` of the document."""
    return {
        "id": key.id,
        "name": key.name,
        "fingerprint": fingerprint,
        "admin": key.scopes is None,
        "scopes": None if key.scopes is None else [*sorted(key.scopes)],
        "allowedTargets": None if key.allowed_targets is None else [*sorted(key.allowed_targets)],
        "requestsPerSecond": key.requests_per_second,
        "burst": key.burst,
        "createdAt": times.printed(key.created_at),
        "expiresAt": None if key.expires_at is None else times.printed(key.expires_at),
        "revokedAt": None if key.revoked_at is None else times.printed(key.revoked_at),
        "lineage": key.lineage,
        "source": key.source,
    }

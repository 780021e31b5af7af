"""API keys as requests describe them: scopes, allowlists, expiry."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from identity_codec import times
from identity_codec.structs import UnsetType, given
from identity_core.domain.callers import ApiKey, require_known
from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDid, InvalidRequest
from identity_core.wire import CreateApiKeyRequest, UpdateApiKeyRequest


def scopes_from_request(said: CreateApiKeyRequest | UpdateApiKeyRequest) -> frozenset[str] | None:
    """Return the scopes of a request, None for an admin-equivalent key.

    Raises ``InvalidRequest``: when the request has not exactly one of ``admin: true`` and ``scopes``, so that no client creates an
    admin key by omission; when a scope is unknown."""
    admin, scopes = given(said.admin, False), given(said.scopes, None)
    if admin and scopes is None:
        return None
    if scopes is not None and not admin:
        require_known(scopes)
        return frozenset(scopes)
    raise InvalidRequest("Say either admin: true or scopes: [...], so that no one makes an admin key by accident.")


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
        raise InvalidRequest("expiresAt is no RFC 3339 time with a zone.", details={"field": "expiresAt"}) from error
    if expires_at <= now:
        raise InvalidRequest("expiresAt has passed.", details={"field": "expiresAt"})
    return expires_at


def require_usable(key: ApiKey, now: datetime) -> ApiKey:
    """Return ``key``. Raises ``InvalidRequest``: when it is revoked or expired."""
    if not key.usable(now):
        raise InvalidRequest("The key is revoked or expired; create a new one.")
    return key


def retire(key: ApiKey, at: datetime) -> ApiKey:
    """Return ``key``, revoked at ``at`` or at its earlier end: the end of a key never moves back."""
    return replace(key, revoked_at=at if key.revoked_at is None else min(key.revoked_at, at))

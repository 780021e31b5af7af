"""API keys and tokens as requests describe them: scopes, allowlists, expiry."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from identity_core.codec import times
from identity_core.codec.structs import UnsetType, given
from identity_core.domain import tokens as token
from identity_core.domain.callers import ApiKey, require_known
from identity_core.domain.dids.did import Did
from identity_core.errors import Forbidden, InvalidDid, InvalidRequest
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


def granted_scopes(wanted: frozenset[str] | None, held: frozenset[str] | None) -> frozenset[str] | None:
    """Return ``wanted`` if it is among the scopes ``held``; None asks for all that OAuth can write (RFC 6749 §3.3).

    ``held`` is None for a caller with every scope.
    Raises ``Forbidden``: when a scope is not held. Raises ``InvalidRequest``: when a scope is unknown, or the text is too long."""
    if held is None:
        require_known(wanted or (), field="scope")
        return wanted
    if wanted is None:
        wanted = frozenset(scope for scope in held if token.is_scope(scope))
        if len(token.scope_text(wanted)) > token.MAX_SCOPE:
            raise InvalidRequest("The API key has more scopes than a token can carry: ask for fewer in scope.")
    if not wanted <= held:
        raise Forbidden(details={"scope": token.scope_text(wanted - held)})
    return wanted


def narrow_key(key: ApiKey, scopes: frozenset[str] | None) -> ApiKey:
    """Return ``key`` with the scopes of a token; None keeps those of the key."""
    if scopes is None:
        return key
    return replace(key, scopes=scopes if key.scopes is None else scopes & key.scopes)

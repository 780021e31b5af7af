"""updateApiKey: the name, rights and limits of a key. Its text, its id and whether it is revoked do not change."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import Enum
from typing import Final

from identity_core.domain.caller import ApiKey
from identity_core.domain.scopes import require_known, require_targets
from identity_core.errors import InvalidRequest
from identity_core.ports.clock import Clock
from identity_core.use_cases.api_keys.change_stored import ChangeStored


class Kept(Enum):
    """Says that a field stays as it is, where None would say something."""

    KEPT = "kept"


KEPT: Final = Kept.KEPT


@dataclass(frozen=True, slots=True)
class KeyChanges:
    """New values, as in ``ApiKey``; None clears a limit, an allowlist or an expiry. ``scopes`` None makes the key
    admin-equivalent."""

    name: str | Kept = KEPT
    scopes: frozenset[str] | Kept | None = KEPT
    allowed_targets: frozenset[str] | Kept | None = KEPT
    requests_per_second: float | Kept | None = KEPT
    burst: int | Kept | None = KEPT
    expires_at: datetime | Kept | None = KEPT


@dataclass(frozen=True, slots=True)
class UpdateApiKey:
    """Changes what is named and keeps the rest."""

    change: ChangeStored
    clock: Clock

    async def __call__(self, key_id: str, changes: KeyChanges) -> ApiKey:
        """The changed key. Raises ``ApiKeyNotFound``, and ``InvalidRequest`` for an expiry that has passed (revocation
        is there for that), for a scope that is none, and for new scopes to act for DIDs without a word for which."""
        expires_at = changes.expires_at
        if isinstance(expires_at, datetime) and expires_at <= self.clock.now():
            raise InvalidRequest("expiresAt has passed.", details={"field": "expiresAt"})
        values = {field.name: getattr(changes, field.name) for field in fields(changes)}
        changed = {name: value for name, value in values.items() if value is not KEPT}
        scopes = changed.get("scopes")
        if scopes is not None:
            require_known(scopes)

        def decide(key: ApiKey) -> ApiKey:
            if scopes is not None and scopes != key.scopes:
                require_targets(scopes, said="allowed_targets" in changed or key.allowed_targets is not None)
            return replace(key, **changed)

        return await self.change(key_id, decide)

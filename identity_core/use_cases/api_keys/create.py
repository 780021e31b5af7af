"""createApiKey: a new key, whose text is shown once and stored nowhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from identity_core.codec.multibase import base64url_encode
from identity_core.domain import key_text
from identity_core.domain.caller import ApiKey
from identity_core.domain.scopes import require_known
from identity_core.errors import InvalidRequest
from identity_core.ports.clock import Clock
from identity_core.ports.key_store import WritableKeyStore

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
    """A key and its text, on the one occasion on which there is one."""

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
    raise InvalidRequest("Say either admin: true or scopes: [...], so that nobody makes an admin key by accident.")


@dataclass(frozen=True, slots=True)
class CreateApiKey:
    """``random`` gives octets of the operating system's random source."""

    store: WritableKeyStore
    clock: Clock
    random: Callable[[int], bytes]

    async def __call__(self, wanted: NewApiKey) -> MintedKey:
        """The new key. Raises ``InvalidRequest`` for an expiry that has passed."""
        now = self.clock.now()
        if wanted.expires_at is not None and wanted.expires_at <= now:
            raise InvalidRequest("expiresAt has passed.", details={"field": "expiresAt"})
        minted = mint(wanted, now, self.random, lineage=None)
        await self.store.create(minted.key)
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

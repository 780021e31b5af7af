"""The socket for stores of API keys. The raw key never crosses it: only its SHA-256 does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from identity_core.domain.callers import ApiKey


@runtime_checkable
class KeyStore(Protocol):
    """Finds API keys."""

    async def find(self, digest: str) -> ApiKey | None:
        """The key whose SHA-256 is ``digest`` (64 lower-case hex digits), or None. Expired and revoked keys are found
        too: the use case decides what they are worth."""
        ...


@runtime_checkable
class PreparedKeyStore(KeyStore, Protocol):
    """A store whose keys somebody wrote down before the start, in a file or in the environment."""

    @property
    def configured(self) -> bool:
        """Whether there is any key, so that a first start need not make one."""
        ...


@runtime_checkable
class WritableKeyStore(KeyStore, Protocol):
    """A store that the admin operations may write. Every write is durable on return. Of the first one in
    ``key_stores`` only keys count that were written through it."""

    async def create(self, key: ApiKey) -> None:
        """Adds a key. Raises ``VersionConflict`` when its id or its digest is taken."""
        ...

    async def get(self, key_id: str) -> ApiKey | None:
        """The key with this id, or None."""
        ...

    async def list(self, *, after: str | None, limit: int) -> Sequence[ApiKey]:
        """Keys in ascending order of id (by code point), those after ``after`` first."""
        ...

    async def replace(self, key: ApiKey, *, expected: ApiKey) -> None:
        """Writes every field of the key with this id, if it is still as ``expected``.

        Raises ``VersionConflict`` when another write came first, so that an update never undoes a revocation; and
        ``ApiKeyNotFound`` when no key has this id."""
        ...

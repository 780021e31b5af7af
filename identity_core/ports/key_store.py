"""Ports for API keys and bearer tokens. A store never receives the raw key, only its SHA-256."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from msgspec import Struct

from identity_core.domain.callers import ApiKey, Caller


@runtime_checkable
class KeyStore(Protocol):
    """A store of API keys."""

    async def find(self, digest: str) -> ApiKey | None:
        """Return the key whose SHA-256 is ``digest`` (64 lower-case hex digits), or None. Expired and revoked keys are returned
        too: the use case decides about them."""


@runtime_checkable
class PreparedKeyStore(KeyStore, Protocol):
    """A store of keys that were configured before startup, in a file or in the environment."""

    @property
    def configured(self) -> bool:
        """Return whether there is any key, so that a first startup need not create one."""


@runtime_checkable
class WritableKeyStore(KeyStore, Protocol):
    """A store that the admin operations may write. Every write is durable on return. In the first one of
    ``key_stores``, only keys that were written through it are valid."""

    async def create(self, key: ApiKey) -> None:
        """Add a key. Raises ``VersionConflict``: when its id or its digest is taken."""

    async def get(self, key_id: str) -> ApiKey | None:
        """Return the key with this id, or None."""

    async def list(self, *, after: str | None, limit: int) -> Sequence[ApiKey]:
        """Return the keys after ``after``, in ascending order of id (by code point)."""

    async def replace(self, key: ApiKey, *, expected: ApiKey) -> None:
        """Write every field of the key with this id, if the stored key equals ``expected``.

        Raises ``VersionConflict``: when another write came first, so that an update never undoes a revocation. Raises
        ``ApiKeyNotFound``: when no key has this id."""


@runtime_checkable
class BearerVerifier(Protocol):
    """The signature of a plugin's ``identity_verify_bearer``."""

    def __call__(self, token: str, now: datetime) -> Caller | None:
        """Return the caller, or None if the token belongs to another verifier. Raises ``AuthFailed``: when the token belongs to this
        verifier and is invalid."""


class PendingTag(Struct, frozen=True):
    """The tag of the next state of a key, before the key store has it."""

    key_id: str
    number: bytes


class KeyTags(Protocol):
    """Tags over all fields of API keys. An attacker who can write to the databases cannot compute one."""

    async def holds(self, key: ApiKey) -> bool:
        """Return whether this service wrote the key in this state, and has not replaced it since."""

    async def announce(self, key: ApiKey, now: datetime) -> PendingTag:
        """Announce a write of ``key`` to the key store: the old and the new state are both valid until the change is settled or
        withdrawn."""

    async def settle(self, pending: PendingTag, replaced: ApiKey | None) -> None:
        """Record that the key store has the announced state instead of ``replaced``, whose tag is not valid any more."""

    async def withdraw(self, pending: PendingTag) -> None:
        """Withdraw an announced state that the key store did not write."""

    async def accept(self, keys: Sequence[ApiKey]) -> None:
        """Replace all tags with tags of these keys in their present state."""

    async def keep_only(self, key: ApiKey, before: datetime) -> None:
        """Delete the recorded states of this key, except this current one and those announced since ``before``."""

    async def read_key_ids(self) -> frozenset[str]:
        """Return the ids of all keys that the key store has written."""


KEPT: int = 0
"""The ``day`` of the counter of all records that an owner keeps."""


class Charge(Struct, frozen=True):
    """One record of ``byte_count`` bytes against one counter. ``owner`` is a DID or an address; ``day`` counts UTC days from 1970, or is
    ``KEPT``. ``name`` identifies the counter in a refusal. ``most_records`` and ``most_octets``: the limits; None for no limit."""

    name: str
    owner: str
    day: int
    byte_count: int
    most_records: int | None
    most_octets: int | None


class Usage(Protocol):
    """Counters by owner and day."""

    async def charge(self, charges: Sequence[Charge]) -> None:
        """Count all charges or none. Raises ``QuotaExceeded``: when a counter would exceed its limit.

        The counts are committed before this returns, and so before the record is written. A process that dies in between has counted
        too much, never too little. The counts need not survive a loss of power, because an unfinished request does not.
        """

    async def refund(self, charge: Charge) -> None:
        """Undo a charge for a record that was not stored."""

    async def forget(self, before_day: int, *, limit: int) -> int:
        """Delete at most ``limit`` counters of days before this one. Return their number."""

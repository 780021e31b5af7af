"""Ports for API keys and bearer tokens. A store never receives the raw key, only its SHA-256."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from identity_codec.values import value_class
from identity_core.domain.callers import ApiKey, Caller


@runtime_checkable
class KeyStore(Protocol):
    """Finds API keys."""

    async def find(self, digest: str) -> ApiKey | None:
        """The key whose SHA-256 is ``digest`` (64 lower-case hex digits), or None. Expired and revoked keys are found
        too: the use case decides what they are worth."""


@runtime_checkable
class PreparedKeyStore(KeyStore, Protocol):
    """A store of keys that were written before the start, in a file or in the environment."""

    @property
    def configured(self) -> bool:
        """Whether there is any key, so that a first start need not make one."""


@runtime_checkable
class WritableKeyStore(KeyStore, Protocol):
    """A store that the admin operations may write. Every write is durable on return. Of the first one in
    ``key_stores`` only keys count that were written through it."""

    async def create(self, key: ApiKey) -> None:
        """Adds a key. Raises ``VersionConflict`` when its id or its digest is taken."""

    async def get(self, key_id: str) -> ApiKey | None:
        """The key with this id, or None."""

    async def list(self, *, after: str | None, limit: int) -> Sequence[ApiKey]:
        """Keys in ascending order of id (by code point), those after ``after`` first."""

    async def replace(self, key: ApiKey, *, expected: ApiKey) -> None:
        """Writes every field of the key with this id, if it is still as ``expected``.

        Raises ``VersionConflict`` when another write came first, so that an update never undoes a revocation; and
        ``ApiKeyNotFound`` when no key has this id."""


@runtime_checkable
class BearerVerifier(Protocol):
    """The signature of a plugin's ``identity_verify_bearer``."""

    def __call__(self, token: str, now: datetime) -> Caller | None:
        """The caller; None for "not mine, ask the next"; raises ``AuthFailed`` for "mine, and bad"."""


@value_class
class PendingTag:
    """The tag of a state that a key is about to get."""

    key_id: str
    number: bytes


class KeyTags(Protocol):
    """Tags over everything that an API key says. One that a thief who writes to the databases cannot make."""

    async def holds(self, key: ApiKey) -> bool:
        """Whether this service wrote the key as it is, and has not replaced it since."""

    async def announce(self, key: ApiKey, now: datetime) -> PendingTag:
        """The key store is about to get ``key``: both its states hold until the change is settled or withdrawn."""

    async def settle(self, pending: PendingTag, replaced: ApiKey | None) -> None:
        """Record that the key store has the announced state instead of ``replaced``, whose tag is not valid any more."""

    async def withdraw(self, pending: PendingTag) -> None:
        """The key store did not take it."""

    async def accept(self, keys: Sequence[ApiKey]) -> None:
        """Takes these keys as they are, instead of all that was tagged before."""

    async def keep_only(self, key: ApiKey, before: datetime) -> None:
        """Delete the recorded states of this key but this one, which is current, and what was announced since
        ``before``."""

    async def known(self) -> frozenset[str]:
        """The ids of all keys that the key store took."""


KEPT: int = 0
"""The ``day`` under which an owner's kept records are counted in all."""


@value_class
class Charge:
    """One record of ``data`` bytes against one counter. ``owner`` is a DID or an address; ``day`` counts UTC days from 1970, or is
    ``KEPT``. ``name`` is what a refusal calls the counter; ``most_records`` and ``most_octets`` None for no limit."""

    name: str
    owner: str
    day: int
    octets: int
    most_records: int | None
    most_octets: int | None


class Usage(Protocol):
    """Counters by owner and day."""

    async def charge(self, charges: Sequence[Charge]) -> None:
        """Counts all of them or none. Raises ``QuotaExceeded`` when a counter would pass its limit.

        What is counted is committed before this returns and before what it stands for is written: a process that dies in between has
        counted too much, never too little. It need not outlive a loss of power: neither does an unfinished request.
        """

    async def refund(self, charge: Charge) -> None:
        """Takes back one that was charged, for what was not stored after all."""

    async def forget(self, before_day: int, *, limit: int) -> int:
        """Deletes at most ``limit`` counters of days before this one; how many there were."""

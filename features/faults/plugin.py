"""A plugin that breaks on demand: the real ledger, custodian, key store and DID method, until the file that ``IDENTITY_TEST_FAULT``
names says otherwise. The prover (``features.faults.prover_plugin``) is another, because its process imports nothing of all this.

The file holds words such as ``ledger:raise`` or ``plugins:hang``. ``core:raise`` breaks the gate, which no plugin could, and
``index:changed`` makes every row of the document index look as if another program had written it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable
from typing import Any

import identity_custodian_sealed
import identity_did_ids
import identity_keys_sql
import identity_ledger_sql
from identity_bound_credentials.store.holder_secrets import StoredHolderSecrets
from identity_transparency.use_cases.watch import WatchStorage

from features.faults import index_plugin  # noqa: F401 - for what it does
from features.faults.words import Broken, faults, is_hung
from features.formats import BREAKING_FORMAT
from identity_bbs.blind import IssueRequest
from identity_core.api.security import Gate
from identity_core.domain.callers import ApiKey
from identity_core.errors import InvalidCredential
from identity_core.plugin import NoSettings, Provider, hookimpl
from identity_core.ports.ledger import LedgerHead
from identity_core.store.events import StoredEvents
from identity_core.store.requests import StoredIdempotencyKeys


async def strike(kind: str) -> None:
    """Raises or hangs if the file says so."""
    if f"{kind}:raise" in faults():
        raise Broken(kind)
    while is_hung(kind):  # noqa: ASYNC110  (the story is in another process)
        await asyncio.sleep(0.02)


class Ledger:
    """The SQL ledger, until it breaks; it has to be waited for."""

    def __init__(self, real: Any) -> None:
        self._real = real

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Any:
        await strike("ledger")
        return await self._real.append(did, entry, expected_version=expected_version)

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Any:
        await strike("ledger")
        return await self._real.entries(did, after=after, limit=limit)

    async def log_size(self, did: str) -> Any:
        await strike("ledger")
        return await self._real.log_size(did)

    async def entries_after(self, sequence: int, limit: int) -> Any:
        await strike("ledger")
        return await self._real.entries_after(sequence, limit)

    async def newest(self, did: str) -> Any:
        """Of a DID that it has it tells while it is broken, too. Over files it is not asked again; on a server, where others may have
        written, it is asked before each request, which would then be refused before it meets the fault of its story."""
        newest = await self._real.newest(did)
        if newest is None:
            await strike("ledger")
        return newest

    async def head(self) -> Any:
        await strike("ledger")
        head = await self._real.head()
        return LedgerHead(0, head.block_number) if "ledger:rolled-back" in faults() else head

    async def close(self) -> None:
        await self._real.close()


class Custodian:
    """The sealed custodian, until it breaks."""

    def __init__(self, real: Any) -> None:
        self._real = real

    @property
    def capabilities(self) -> frozenset[str]:
        real: frozenset[str] = self._real.capabilities
        return real

    async def sign(self, name: str, message: bytes) -> Any:
        await strike("custodian")
        return await self._real.sign(name, message)

    async def generate(self, name: str, key_type: str, *, did: str, purpose: str) -> Any:
        return await self._real.generate(name, key_type, did=did, purpose=purpose)

    async def import_key(self, name: str, key_type: str, secret: bytes, *, did: str, purpose: str) -> Any:
        return await self._real.import_key(name, key_type, secret, did=did, purpose=purpose)

    async def public_key(self, name: str) -> Any:
        return await self._real.public_key(name)

    async def sign_bbs(self, name: str, header: bytes, messages: Any) -> Any:
        await strike("custodian")
        return await self._real.sign_bbs(name, header, messages)

    async def sign_bbs_blind(self, name: str, messages: Any, commitment: bytes, request: IssueRequest) -> Any:
        await strike("custodian")
        return await self._real.sign_bbs_blind(name, messages, commitment, request)

    async def commit_holder(self, secret: str, credential: str, request: IssueRequest) -> Any:
        await strike("custodian")
        return await self._real.commit_holder(secret, credential, request)

    async def consent(self, secret: str, credentials: Any, message: bytes, pseudonym: str | None) -> Any:
        await strike("custodian")
        return await self._real.consent(secret, credentials, message, pseudonym)

    async def destroy(self, name: str) -> None:
        await self._real.destroy(name)

    async def close(self) -> None:
        await self._real.close()


class KeyStore:
    """Knows no key, and sometimes not even that."""

    async def find(self, digest: str) -> ApiKey | None:
        await strike("keys")
        return None


class SlowKeys:
    """The SQL store, whose writes may take a while."""

    def __init__(self, real: Any) -> None:
        self._real = real

    async def find(self, digest: str) -> Any:
        return await self._real.find(digest)

    async def get(self, key_id: str) -> Any:
        return await self._real.get(key_id)

    async def list(self, *, after: str | None, limit: int) -> Any:
        return await self._real.list(after=after, limit=limit)

    async def create(self, key: ApiKey) -> None:
        await strike("store")
        await self._real.create(key)

    async def replace(self, key: ApiKey, *, expected: ApiKey) -> None:
        await strike("store")
        await self._real.replace(key, expected=expected)

    async def close(self) -> None:
        await self._real.close()


class Securing:
    """A format of which there are no credentials, and sometimes not even that is told."""

    name = BREAKING_FORMAT

    async def read(self, secured: Any) -> Any:
        await strike("securing")
        raise InvalidCredential

    async def verify(self, secured: Any, public_key: str, *, binding: Any = None) -> Any:
        raise InvalidCredential


class Method:
    """did:ids, until it breaks."""

    mutable = True

    def __init__(self, real: Any) -> None:
        self._real = real

    @property
    def name(self) -> str:
        return "ids"

    def check(self, did: Any) -> None:
        if "method:raise" in faults():
            raise Broken("method")
        self._real.check(did)

    def draft(self, state: Any, change: Any, at: Any, *, signer: str) -> Any:
        return self._real.draft(state, change, at, signer=signer)

    def apply(self, state: Any, entry: bytes) -> Any:
        return self._real.apply(state, entry)

    def expand(self, did: Any) -> Any:
        return self._real.expand(did)


def _wrapping(name: str, module: Any, hook: str, wrapper: type[Any]) -> Provider[Any]:
    real = getattr(module, hook)()
    return Provider(name, build=lambda _, context: wrapper(real.build(real.settings(), context)), settings=NoSettings)


@hookimpl
def identity_provide_ledger_backend() -> Provider[Any]:
    return _wrapping("faulty", identity_ledger_sql, "identity_provide_ledger_backend", Ledger)


@hookimpl
def identity_provide_custodian() -> Provider[Any]:
    return _wrapping("faulty", identity_custodian_sealed, "identity_provide_custodian", Custodian)


@hookimpl
def identity_provide_key_store() -> Provider[Any]:
    return Provider("faulty", build=lambda _settings, _context: KeyStore())


@hookimpl(specname="identity_provide_key_store")
def provide_slow_key_store() -> Provider[Any]:
    return _wrapping("slow", identity_keys_sql, "identity_provide_key_store", SlowKeys)


@hookimpl
def identity_provide_securing() -> Provider[Any]:
    return Provider("faulty", build=lambda _settings, _context: Securing())


@hookimpl
def identity_provide_did_method() -> Provider[Any]:
    return _wrapping("ids", identity_did_ids, "identity_provide_did_method", Method)


_write = StoredEvents.write


def _writing(self: StoredEvents, records: Any, *, durable: bool = False) -> Awaitable[None]:
    """What changes a record writes rows of it: where no plugin takes part, that is what can take a while."""

    async def after_a_while() -> None:
        await strike("audit")
        await _write(self, records, durable=durable)

    return after_a_while() if faults() else _write(self, records, durable=durable)


StoredEvents.write = _writing  # type: ignore[method-assign]

_rotate = StoredHolderSecrets.rotate


async def _rotating(self: StoredHolderSecrets, *arguments: Any, **named: Any) -> Any:
    """Delay the change itself: it stores its rows in its own transaction."""
    await strike("secrets")
    return await _rotate(self, *arguments, **named)


StoredHolderSecrets.rotate = _rotating  # type: ignore[method-assign]

_begin = StoredIdempotencyKeys.begin


async def _reserving(self: StoredIdempotencyKeys, *arguments: Any) -> Any:
    """Delay the request before its change, which may be committed with its answer."""
    found = await _begin(self, *arguments)
    if found is None:
        await strike("reserved")
    return found


StoredIdempotencyKeys.begin = _reserving  # type: ignore[method-assign]

if "IDENTITY_TEST_WATCH_SECONDS" in os.environ:
    WatchStorage.interval_seconds = float(os.environ["IDENTITY_TEST_WATCH_SECONDS"])

_admit = Gate.admit


async def _breaking(self: Gate, operation: Any, request: Any) -> Any:
    if "core:raise" in faults():
        raise Broken("core")
    return await _admit(self, operation, request)


Gate.admit = _breaking  # type: ignore[method-assign]

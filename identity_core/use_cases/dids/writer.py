"""The one way to change a DID: read, draft, sign, check, append, index.

An entry is drafted by the rules that every reader applies, and its signature is checked before it is appended, so
nothing reaches the ledger that a stranger's fold would refuse. The index is written after the append and before the
answer; a crash in between is repaired by ``CatchUp``. What the index says is held against the ledger first (``HeadCheck``).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from identity_core.domain import history
from identity_core.domain.caller import Caller
from identity_core.domain.change import Change, Expire
from identity_core.domain.did import Did
from identity_core.domain.history import DidState
from identity_core.errors import (
    InvalidDocument,
    JsonValue,
    Overloaded,
    PluginUnavailable,
    RateLimited,
    VersionConflict,
)
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import Custodian
from identity_core.ports.did_method import DidMethod, UnsignedEntry
from identity_core.ports.ledger import LedgerBackend
from identity_core.ports.repositories import AuditLog, AuditRow, DocumentIndex, IndexedVersion
from identity_core.use_cases.dids.reader import DidReader

LOST_RACES = 16
TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class LogSigner:
    """The key that signs log entries: its name in the custodian and its multikey."""

    custodian: Custodian
    name: str
    multikey: str

    async def sign(self, draft: UnsignedEntry) -> bytes:
        """The signature that ``draft`` waits for."""
        return await self.custodian.sign(self.name, draft.signing_input)


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Who asked for a change, through which operation and request: what the audit row says."""

    operation: str
    caller: Caller
    request_id: str
    note: str | None = None


@dataclass(slots=True)
class DidLocks:
    """A lock for each DID that is being written in this process, dropped when nobody waits."""

    _locks: dict[str, tuple[asyncio.Lock, int]] = field(default_factory=dict)

    @contextlib.asynccontextmanager
    async def of(self, did: str) -> AsyncIterator[None]:
        """Holds the DID's lock; writers of one DID queue in order of arrival."""
        lock, users = self._locks.get(did, (asyncio.Lock(), 0))
        self._locks[did] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[did]
            if users == 1:
                del self._locks[did]
            else:
                self._locks[did] = (lock, users - 1)


@dataclass(frozen=True, slots=True)
class DidWriter:
    """Commits changes."""

    reader: DidReader
    methods: Mapping[str, DidMethod]
    ledger: LedgerBackend
    index: DocumentIndex
    audit: AuditLog
    signer: LogSigner
    clock: Clock
    writes_per_hour: int | None
    locks: DidLocks = field(default_factory=DidLocks)

    async def commit(
        self, did: Did, change: Callable[[DidState], Change], occasion: RequestContext, *, if_match: int | None = None
    ) -> IndexedVersion:
        """Records ``change(state)`` as the next version of an existing DID and returns that version.

        Raises what the rules raise, ``VersionConflict`` when ``if_match`` is not the current version, ``Overloaded`` after
        sixteen lost races, ``LedgerUnavailable``.
        """
        method = self._mutable(did)
        async with self.locks.of(str(did)):
            await self._require_quota(did)
            for _ in range(LOST_RACES):
                standing = await self.reader.active(did)
                version_id = standing.head.state.version_id
                if if_match is not None and if_match != version_id:
                    raise VersionConflict(details={"did": str(did), "versionId": version_id})
                now = self.clock.now()
                try:
                    await self.reader.check.fold(did, standing.recorded)
                    before = await self._write_due(method, standing.recorded, now)
                    at = max(now, before.updated_at + TICK)
                    return await self._append(method, before, change(before), at, occasion)
                except VersionConflict:
                    await self.reader.check.bring_up(did)
        raise Overloaded("Too many writers race for this DID.", details={"did": str(did), "retryAfter": 1})

    async def register(self, draft: UnsignedEntry, occasion: RequestContext, *, owner: str) -> IndexedVersion:
        """Records the first entry of a DID. Raises ``VersionConflict`` when the DID exists."""
        return await self._record(None, draft, occasion, owner=owner)

    def _mutable(self, did: Did) -> DidMethod:
        method = self.methods.get(did.method)
        if method is None or not method.mutable:
            raise InvalidDocument(
                "DIDs of this method cannot be changed.", details={"did": str(did), "method": did.method}
            )
        return method

    async def _require_quota(self, did: Did) -> None:
        """Raises ``RateLimited`` when the DID was changed as often in the last hour as the setting allows."""
        if self.writes_per_hour is None:
            return
        newest = await self.index.versions(str(did), after=0, limit=self.writes_per_hour, descending=True)
        if len(newest) == self.writes_per_hour:
            wait = newest[-1].state.updated_at + timedelta(hours=1) - self.clock.now()
            if wait > timedelta(0):
                raise RateLimited(details={"did": str(did), "retryAfter": int(wait.total_seconds()) + 1})

    async def _write_due(self, method: DidMethod, recorded: IndexedVersion, now: datetime) -> DidState:
        """Writes the grace periods that have ended, in order of time, each at the time that the rotation fixed."""
        state = recorded.state
        # Within one microsecond the next version is a tick ahead of the clock, and a period that ends there is over for it.
        while (due := history.due(state)) is not None and due <= max(now, state.updated_at + TICK):
            occasion = RequestContext("expireKey", Caller(), "-")
            state = (await self._append(method, state, Expire(), due, occasion)).state
        return state

    async def _append(
        self, method: DidMethod, state: DidState, change: Change, at: datetime, occasion: RequestContext
    ) -> IndexedVersion:
        draft = method.draft(state, change, at, signer=self.signer.multikey)
        return await self._record(state, draft, occasion)

    async def _record(
        self, state: DidState | None, draft: UnsignedEntry, occasion: RequestContext, *, owner: str | None = None
    ) -> IndexedVersion:
        signature = await self.signer.sign(draft)
        try:
            after = draft.after(signature)
        except history.LogInvalid as error:
            raise PluginUnavailable("The custodian's signature is not one of the log key.") from error
        did = str(draft.did)
        receipt = await self.ledger.append(did, draft.sealed(signature), expected_version=after.version_id - 1)
        version = IndexedVersion(after, receipt, history.changes(state, after), after.key_id)
        details: dict[str, JsonValue] = {"versionId": after.version_id, "transactionHash": receipt.transaction_hash}
        if occasion.note is not None:
            details["note"] = occasion.note
        row = AuditRow(
            at=receipt.recorded_at,
            request_id=occasion.request_id,
            operation=occasion.operation,
            caller=occasion.caller.identity if occasion.caller != Caller() else None,
            fingerprint=occasion.caller.api_key.fingerprint if occasion.caller.api_key else None,
            target=did,
            outcome="done",
            details=details,
        )
        # The audit row is queued before the index is: both writes join one group of the store's writer.
        audited = self.audit.write(row)
        try:
            await self.index.record((version,), owner=owner)
        finally:
            await audited
        self.reader.check.wrote(version)
        return version

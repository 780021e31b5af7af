"""Writes of DIDs: read, draft, sign, check, append, index.

The rules of every reader apply to the draft of an entry, and its signature is checked before the append. So every entry on the ledger
is valid for other readers. The index is written after the append and before the answer; ``CatchUp`` repairs a crash in between. Before a
decision, the index is compared with the ledger (``HeadCheck``).

``storeSecrets``: the custodian imports the private keys that were made here, all of them or none. Not every custodian supports every key
type (a key token has only Ed25519), so the types are checked before the first import.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from math import ceil
from weakref import WeakValueDictionary

from msgspec import Struct, field

from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.strict_json import JsonValue
from identity_core.domain.activity import DONE, REPLAYED, SERVICE, DidChanged, EventRecord, RequestContext
from identity_core.domain.dids import logs
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import Change, Expire, Recover
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import Key
from identity_core.domain.dids.logs import check_not_retired
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import (
    AuthFailed,
    InvalidDocument,
    LedgerUnavailable,
    Overloaded,
    PluginUnavailable,
    RateLimited,
    VersionConflict,
)
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import Custodian, KeyRefused
from identity_core.ports.did_method import DidMethod
from identity_core.ports.ledger import LedgerBackend, Receipt, require_steady
from identity_core.ports.repositories import DocumentIndex, IndexedVersion
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.dids.log_keys import LogSigner, SignedEntry


async def keep_secrets(custodian: Custodian, did: Did, made: Sequence[Key]) -> None:
    """Import keys that were made here into the custodian, under their absolute ids and with the first purpose of each. Raises
    ``InvalidDocument``: when the custodian does not support a key."""
    refused = sorted({key.type for key in made} - custodian.capabilities)
    if refused:
        raise InvalidDocument(
            "The service's custodian does not keep keys of this type: leave storeSecrets out.",
            details={"types": [*refused], "supported": [*sorted(custodian.capabilities - {"sign_bbs"})]},
        )
    for key in made:
        name, purpose = f"{did}#{key.public}", key.purposes[0]
        try:
            await custodian.import_key(name, key.type, key.secret_raw, did=str(did), purpose=purpose)
        except KeyRefused as error:
            raise InvalidDocument(str(error), details=error.details) from error


LOST_RACES = 16
TICK = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)


class DidWriter(Struct, frozen=True):
    """The writer of DID changes. ``locks``: one for each DID that is being written in this process, dropped when no task holds it or waits
    for it; writers of one DID queue in order of arrival."""

    reader: DidReader
    methods: Mapping[str, DidMethod]
    ledger: LedgerBackend
    index: DocumentIndex
    signer: LogSigner
    clock: Clock
    writes_per_hour: int | None
    locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def commit(
        self, did: Did, change: Change, context: RequestContext, *, if_match: Collection[int] | None = None
    ) -> IndexedVersion:
        """Record ``change`` as the next version of an existing DID and return that version.

        Raises the errors of the rules. Raises ``VersionConflict``: when ``if_match`` lacks the current version. Raises ``Overloaded``:
        after sixteen lost races. Raises ``AuthFailed``: when a former key has no recorded change. Raises ``LedgerUnavailable``.
        """
        method = self._mutable(did)
        async with self.locks.setdefault(str(did), asyncio.Lock()):
            await self._require_current_key(context)
            if (version := await self.resumed(context)) is not None:
                return version
            await self._require_quota(did)
            for _ in range(LOST_RACES):
                standing = await self.reader.active(did)
                version_id = standing.head.state.version_id
                if if_match is not None and version_id not in if_match:
                    raise VersionConflict(details={"did": str(did), "versionId": version_id})
                now = self.clock.now()
                try:
                    await self.reader.check.fold(did, standing.recorded)
                    recorded = standing.recorded
                    if isinstance(change, Recover) and change.restore_version is not None:
                        recorded = await self.reader.check.remembered(did, recorded)
                    before = await self._write_due(method, recorded, now)
                    at = max(now, before.updated_at + TICK)
                    return await self.append(before, await self.signer.signed(method, before, change, at), context)
                except VersionConflict:
                    await self.reader.check.bring_up(did)
        raise Overloaded("Too many writers race for this DID.", details={"did": str(did), "retryAfter": 1})

    def _mutable(self, did: Did) -> DidMethod:
        method = self.methods.get(did.method)
        if method is None or not method.mutable:
            raise InvalidDocument(
                "DIDs of this method cannot be changed.", details={"did": str(did), "method": did.method}
            )
        return method

    async def _require_current_key(self, context: RequestContext) -> None:
        """Require a key that is in force. Raises ``AuthFailed``: when it is not, unless the change of its earlier run is recorded."""
        authorization, intent = context.caller.authorization, context.intent
        if authorization is None or not authorization.is_former:
            return
        if intent is None or not await self._is_recorded(
            Did.parse(intent["did"]), intent["versionId"], base64url_decode(intent["entry"])
        ):
            raise AuthFailed

    async def _require_quota(self, did: Did) -> None:
        """Check the rate limit. Raises ``RateLimited``: when the DID was changed as often in the last hour as the setting allows."""
        if self.writes_per_hour is None:
            return
        newest = await self.index.versions(str(did), after=0, limit=self.writes_per_hour, descending=True)
        if len(newest) == self.writes_per_hour:
            wait = newest[-1].state.updated_at + timedelta(hours=1) - self.clock.now()
            if wait > timedelta(0):
                raise RateLimited(details={"did": str(did), "retryAfter": ceil(wait.total_seconds())})

    async def _write_due(self, method: DidMethod, recorded: IndexedVersion, now: datetime) -> DidState:
        """Write the versions of grace periods that have ended, in order of time, each at the time that the rotation fixed."""
        state = recorded.state
        # Two versions within one microsecond: the second is a tick ahead of the clock, so periods that end at that tick are over too.
        while (due := history.find_grace_end(state)) is not None and due <= max(now, state.updated_at + TICK):
            signed = await self.signer.signed(method, state, Expire(), due)
            state = (await self.append(state, signed, RequestContext("expireKey", SERVICE))).state
        return state

    async def resumed(self, context: RequestContext, *, owner: str | None = None) -> IndexedVersion | None:
        """Return the version that an earlier run of the request intended to record, or None if it recorded none.

        If its entry is not on the ledger, append the same bytes again. A late append of the earlier run then raises
        ``VersionConflict``, so the change is made exactly once. Raises ``LedgerUnavailable``, ``DidQuarantined``.
        """
        if context.intent is None:
            return None
        did, version_id = Did.parse(context.intent["did"]), context.intent["versionId"]
        entry = base64url_decode(context.intent["entry"])
        if not await self._is_recorded(did, version_id, entry):
            await self.reader.check.generations.fresh()
            try:
                check_not_retired(self.reader.check.retired, entry, (await self.ledger.head()).sequence)
                await self.ledger.append(did.text, entry, expected_version=version_id - 1)
            except LogInvalid:
                return None
            except VersionConflict:
                if not await self._is_recorded(did, version_id, entry):
                    return None
        is_known = await self.index.version(did.text, version_id) is not None
        await self.reader.check.bring_up(did)
        version = await self.index.version(did.text, version_id)
        if version is None or version.receipt is None:
            raise self.reader.check.incomplete(did, version_id)
        event = _event(context, version, version.receipt, outcome=REPLAYED if is_known else DONE)
        await self.index.record((version,), owner=owner, event=event)
        return version

    async def _is_recorded(self, did: Did, version_id: int, entry: bytes) -> bool:
        found = await self.ledger.entries(did.text, after=version_id - 1, limit=1)
        return bool(found) and found[0].version == version_id and found[0].entry == entry

    async def append(
        self, state: DidState | None, signed: SignedEntry, context: RequestContext, *, owner: str | None = None
    ) -> IndexedVersion:
        """Record the entry that follows ``state``. For the first entry of a DID ``owner`` is its creator. Raises ``VersionConflict``:
        when the DID has another version by now, or exists. Raises ``LedgerUnavailable``: also when the clock has jumped."""
        draft, signature = signed.entry, signed.signature
        try:
            after = draft.after(signature)
        except LogInvalid as error:
            raise PluginUnavailable("The custodian's signature is not one of the log key.") from error
        did = str(draft.did)
        # An entry at the smallest distance that its method allows may be ahead only because the entry before it is.
        if state is None or after.updated_at > state.updated_at + SECOND:
            require_steady(self.clock, after.updated_at)
        entry = draft.sealed(signature)
        if context.attempt is not None:
            await context.attempt.intend({"did": did, "versionId": after.version_id, "entry": base64url_encode(entry)})
        changes, made = logs.changes(state, after), list[IndexedVersion]()

        def recorded(receipt: Receipt) -> tuple[IndexedVersion, EventRecord]:
            made.append(IndexedVersion(after, receipt, changes))
            return made[-1], _event(context, made[-1], receipt)

        try:
            with ExitStack() as stack:
                if not self.index.is_embedded:
                    stack.enter_context(self.index.recording(recorded, owner=owner))
                    stack.enter_context(context.keeping(lambda _: context.result(made[-1])))
                receipt = await self.ledger.append(did, entry, expected_version=after.version_id - 1)
        except LedgerUnavailable as error:
            # A refusal of one entry (500) does not make the replica unhealthy.
            if error.status == PluginUnavailable.status:
                self.reader.check.refused_at = self.clock.monotonic()
            raise
        version = IndexedVersion(after, receipt, changes)
        if made[-1:] != [version]:
            await self.index.record((version,), owner=owner, event=_event(context, version, receipt))
        self.reader.check.keep(did, version, is_folded=True)
        return version


def _event(context: RequestContext, version: IndexedVersion, receipt: Receipt, *, outcome: str = DONE) -> EventRecord:
    """Return the event of a recorded version."""
    details: dict[str, JsonValue] = {"versionId": version.state.version_id, "transactionHash": receipt.transaction_hash}
    if context.note is not None:
        details["note"] = context.note
    event = DidChanged(target=version.state.did.text, outcome=outcome, details=details)
    return EventRecord(event, context, receipt.recorded_at)

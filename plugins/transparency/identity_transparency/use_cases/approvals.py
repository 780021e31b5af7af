"""The public part of a did:webvh 1.0 log that has witnesses: ``did-witness.json``, and the entries that it approves.

An entry is valid when enough witnesses approved it, and the standard requires their approvals to be published first ("DID
Witnesses"). A reader refuses a whole log with one unapproved entry, so a log is published only as far as it was approved.
`getDidLog` returns all recorded entries, for the witnesses to approve.

getDidApprovals: the versions that wait for approval, and their witnesses.

approveDidVersion: a witness approves a version. Its proof is sufficient; the client that sends it need not be trusted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Final

import orjson
from identity_did_webvh import approvals as witness
from identity_did_webvh.approvals import Witnesses
from msgspec import Struct

from identity_codec.structs import plain
from identity_core.cache import BoundedCache
from identity_core.domain.activity import Event, EventRecord, RequestContext
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import AuthFailed, DidNotFound, Forbidden, InvalidDocument, Overloaded, VersionConflict
from identity_core.ports.clock import Clock
from identity_core.ports.ledger import LedgerBackend
from identity_core.use_cases.dids.read import DidLog, GetDidLog
from identity_core.use_cases.transparency import WITNESS, WitnessApprovals, is_witnessed
from identity_transparency.store import StoredWitnessFiles, WitnessFile
from identity_transparency.wire import ApproveDidVersionRequest, DidApprovals, WaitingVersion

AT_ONCE: Final = 64
MOST_WAITING: Final = 50
MAX_FILE: Final = 1024 * 1024
"""Maximum size of a did-witness.json, in bytes: about 2,000 approvals, more than ``witness.MOST_PENDING``.
Each new approval is inserted into the whole file."""
MAX_RACES: Final = 16
LOGS_KNOWN: Final = 32
"""So many logs are remembered, with some 200 bytes an entry."""


class WitnessedLog(Struct, frozen=True):
    """The versionId, the length in bytes and the required witnesses of each entry of a log. ``said`` has the parameters that
    require them."""

    version_ids: tuple[str, ...]
    byte_counts: tuple[int, ...]
    said: tuple[object, ...]
    required: Sequence[Witnesses | None]

    def count_published(self, kept: WitnessFile | None) -> int:
        """Return the number of entries that a reader accepts: the approved ones, and those behind them that need no approval."""
        count = 0 if kept is None else kept.versions
        while count < len(self.required) and self.required[count] is None:
            count += 1
        return count

    def merged(self, kept: WitnessFile | None, offered: bytes) -> WitnessFile:
        """Return the did-witness.json with the approvals of ``offered``. Raises ``LogInvalid``: for an invalid file. Raises
        ``InvalidDocument``."""
        if not any(self.required):
            raise InvalidDocument("The DID has no witnesses.")
        old = None if kept is None else kept.encoded
        data, versions = witness.merge(self.version_ids, self.required, old, offered)
        if len(data) > MAX_FILE:
            raise InvalidDocument("The did-witness.json would be too large.", details={"max": MAX_FILE})
        return WitnessFile(versions, sum(self.byte_counts[:versions]), data)


class ReadWitnessedLog(Struct, frozen=True):
    """A reader of the recorded entries of a log, without verifying them again. ``known`` caches them: only its last known entry and
    later ones are read. Raises ``DidNotFound``, ``LedgerUnavailable``."""

    ledger: LedgerBackend
    known: BoundedCache[str, WitnessedLog]

    async def __call__(self, did: Did) -> WitnessedLog:
        name = str(did)
        before = self.known.get(name) or WitnessedLog((), (), (), ())
        behind = len(before.byte_counts)
        more = await self._entries(name, max(behind - 1, 0))
        if behind and (not more or more[0][0] != before.version_ids[-1]):
            # The ledger has another story to tell than it had, as after a deep reorganisation of a chain.
            before, more = WitnessedLog((), (), (), ()), await self._entries(name, 0)
        elif behind:
            more = more[1:]
        if not more:
            if not before.byte_counts:
                raise DidNotFound(details={"did": did.safe_text})
            return before
        version_ids, data, said = zip(*more, strict=True)
        asked = (*before.said, *said)
        whole = WitnessedLog(
            (*before.version_ids, *version_ids), (*before.byte_counts, *data), asked, witness.required_by(asked)
        )
        return self.known.store(name, whole)

    async def _entries(self, did: str, after: int) -> list[tuple[str, int, object]]:
        """Return the versionId, the length and the parameter of each entry behind ``after`` ones."""
        found = list[tuple[str, int, object]]()
        while lines := await self.ledger.entries(did, after=after + len(found), limit=AT_ONCE):
            for line in lines:
                entry = orjson.loads(line.entry)
                found.append((entry["versionId"], len(line.entry), entry["parameters"].get(WITNESS)))
        return found


class LogApprovals(WitnessApprovals, Struct, frozen=True):
    """The approvals of logs: as readers fetch them, as witnesses look for them, and as they add to them."""

    recorded: ReadWitnessedLog
    files: StoredWitnessFiles
    clock: Clock

    def require(self) -> None:
        """Accept the request, because this extension supports witnesses."""

    async def published(self, log: GetDidLog, did: Did) -> DidLog:
        whole = await log(did)
        kept = await self.files.find(str(did))
        if (kept is not None and kept.versions >= whole.versions) or not await is_witnessed(log, did):
            return whole
        recorded = await self.recorded(did)
        shown = recorded.count_published(kept)
        if not shown:
            raise DidNotFound(details={"did": str(did), "reason": "unwitnessed"})
        return log.beginning(did, shown, sum(recorded.byte_counts[:shown]))

    async def witness_file(self, log: GetDidLog, did: Did) -> bytes:
        await log(did)
        kept = await self.files.find(str(did))
        if kept is None:
            raise DidNotFound(details={"did": str(did)})
        return kept.encoded

    async def publish(self, did: Did, offered: bytes) -> WitnessFile:
        """Publish approvals in a did-witness.json.

        Raises ``DidNotFound``; ``LogInvalid``: for an invalid file; ``InvalidDocument``: for a DID without witnesses, and for approvals
        without news; ``VersionConflict``: when another process was faster.
        """
        recorded = await self.recorded(did)
        if not await self._add(did, recorded, offered):
            raise InvalidDocument(
                "Nothing in the file approves of anything new in this log.", details={"did": str(did)}
            )
        published = await self.files.find(str(did))
        if published is None:
            raise VersionConflict(details={"did": str(did)})
        return published

    async def _add(self, did: Did, recorded: WitnessedLog, offered: bytes, event: EventRecord | None = None) -> bool:
        """Add the approvals in ``offered`` that are new, together with ``event``. Return whether there were any. Raises as ``publish``
        does."""
        kept = await self.files.find(str(did))
        old, after = None if kept is None else kept.encoded, recorded.merged(kept, offered)
        if after.encoded == (old or witness.NOTHING):
            return False
        if not await self.files.replace(str(did), old, after, event):
            raise VersionConflict(details={"did": str(did)})
        return True

    async def pending(self, did: Did) -> DidApprovals:
        """Return the published length of a log, and the first ``MOST_WAITING`` versions that wait for approvals. Raises ``DidNotFound``,
        ``InvalidDocument``: for a DID that never had witnesses."""
        recorded = await self.recorded(did)
        if not any(recorded.required):
            raise InvalidDocument("The DID has no witnesses.", details={"did": str(did)})
        kept = await self.files.find(str(did))
        unapproved = witness.unapproved(recorded.version_ids, recorded.required, None if kept is None else kept.encoded)
        waiting = (
            waiting_version(recorded.version_ids[place], witnesses, approved)
            for place, approved in unapproved
            if (witnesses := recorded.required[place]) is not None
        )
        return DidApprovals(
            did=str(did),
            versions=len(recorded.version_ids),
            published_versions=recorded.count_published(kept),
            version_id=recorded.version_ids[-1],
            waiting=tuple(itertools.islice(waiting, MOST_WAITING)),
        )

    async def approve(self, did: Did, wish: ApproveDidVersionRequest, context: RequestContext) -> DidApprovals:
        """Store an approval. A repeated proof, or one that a newer one covers, changes nothing.

        Raises ``AuthFailed``: for an invalid proof; ``DidNotFound``: also for a missing version; ``Forbidden``: for a DID that is not a
        witness of the version or an earlier one; ``InvalidDocument``; ``Overloaded``: when too many requests compete.
        """
        proof = plain(wish.proof)
        try:
            # Before anything is read: who has no key at all costs one signature.
            key = witness.check_approval(wish.version_id, proof)
        except LogInvalid as error:
            raise AuthFailed from error
        recorded = await self.recorded(did)
        if not any(recorded.required):
            raise InvalidDocument("The DID has no witnesses.", details={"did": str(did)})
        if wish.version_id not in recorded.version_ids:
            raise DidNotFound("The DID has no such version.", details={"did": str(did), "reason": "version"})
        covered = recorded.required[: recorded.version_ids.index(wish.version_id) + 1]
        if not any(guards is not None and key in guards.keys for guards in covered):
            raise Forbidden("This is no witness of the version.", details={"did": str(did)})
        offered = orjson.dumps([{"versionId": wish.version_id, "proof": [proof]}])
        details = {"versionId": wish.version_id, "witness": f"did:key:{key}"}
        event = EventRecord(Event(target=str(did), details=details), context, self.clock.now())
        for _ in range(MAX_RACES):
            try:
                await self._add(did, recorded, offered, event)
                return await self.pending(did)
            except VersionConflict:
                continue
        raise Overloaded(details={"did": str(did)})


def waiting_version(version_id: str, witnesses: Witnesses, approved: Iterable[str]) -> WaitingVersion:
    """Return a version that lacks approvals of its ``witnesses``, with the keys of those that approved it."""
    return WaitingVersion(
        version_id=version_id,
        threshold=witnesses.threshold,
        witnesses=tuple(f"did:key:{key}" for key in sorted(witnesses.keys)),
        approved_by=tuple(f"did:key:{key}" for key in sorted(approved)),
    )

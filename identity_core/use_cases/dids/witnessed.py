"""What readers of did:webvh 1.0 are shown of a log that has witnesses: ``did-witness.json``, and the entries that it approves.

An entry counts when enough witnesses have approved it, and the standard wants their approvals published before it ("DID Witnesses"): a
reader that finds one entry too many refuses the whole log. So a log is published as far as it was approved. Everything that is
recorded stands in `getDidLog`, where the witnesses find what to approve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from identity_core.domain.dids.did import Did
from identity_core.domain.dids.log import webvh, witness
from identity_core.errors import DidNotFound, InvalidDocument, VersionConflict
from identity_core.ports.ledger import LedgerBackend
from identity_core.ports.repositories import WitnessFile, WitnessFiles
from identity_core.use_cases.dids.read import DidLog, GetDidLog

WITNESS: Final = "witness"
"""The parameter of an entry that says who must approve."""


@dataclass(frozen=True, slots=True)
class GetPublishedLog:
    """The log of a DID as its own place shows it. Raises ``DidNotFound``, also for one of which nothing is approved yet, and as
    ``GetDidLog``."""

    log: GetDidLog
    files: WitnessFiles

    async def __call__(self, did: Did) -> DidLog:
        whole = await self.log(did)
        kept = await self.files.find(str(did))
        approved = 0 if kept is None else kept.versions
        if approved >= whole.versions or not await self._is_witnessed(did):
            return whole
        return await self._as_far_as(did, approved, whole.versions)

    async def _is_witnessed(self, did: Did) -> bool:
        if orjson.loads(await self.log.first(did))["parameters"].get(WITNESS):
            return True
        head = await self.log.reader.index.head(str(did))
        return head is not None and head.state.witness_version is not None

    async def _as_far_as(self, did: Did, approved: int, versions: int) -> DidLog:
        """The log with the versions that are approved, and those behind them that nobody had to approve of."""
        shown, octets, guards = 0, 0, None
        async for line in self.log.lines(did, versions):
            said = orjson.loads(line)["parameters"].get(WITNESS)
            # As ``webvh.required_witnesses``: of a new list, the one before approves; the first one counts at once.
            if shown >= approved and (guards or said):
                break
            shown, octets, guards = shown + 1, octets + len(line), guards if said is None else said
        if not shown:
            raise DidNotFound(details={"did": str(did), "reason": "unwitnessed"})
        return self.log.beginning(did, shown, octets)

    async def witness_file(self, did: Did) -> bytes:
        """The did-witness.json. Raises ``DidNotFound`` where there is none."""
        await self.log(did)
        kept = await self.files.find(str(did))
        if kept is None:
            raise DidNotFound(details={"did": str(did)})
        return kept.octets


@dataclass(frozen=True, slots=True)
class PublishApprovals:
    """Adds the approvals of a did-witness.json to those that are published. Raises ``DidNotFound``, ``LogInvalid`` for a file that is none,
    ``InvalidDocument`` for a DID without witnesses and for approvals that say nothing new, ``VersionConflict`` where another one was
    faster."""

    ledger: LedgerBackend
    files: WitnessFiles

    async def __call__(self, did: Did, offered: bytes) -> WitnessFile:
        lines = [line.entry for line in await self.ledger.entries(str(did))]
        if not lines:
            raise DidNotFound(details={"did": str(did)})
        states = _states(did, lines)
        version_ids, required = [state.version_id for state in states], webvh.required_witnesses(states)
        if not any(required):
            raise InvalidDocument("The DID has no witnesses.", details={"did": str(did)})
        before = await self.files.find(str(did))
        old = None if before is None else before.octets
        octets, versions = witness.merge(version_ids, required, old, offered)
        if octets == (old or witness.NOTHING):
            raise InvalidDocument(
                "Nothing in the file approves of anything new in this log.", details={"did": str(did)}
            )
        after = WitnessFile(versions, sum(map(len, lines[:versions])), octets)
        if not await self.files.replace(str(did), old, after):
            raise VersionConflict(details={"did": str(did)})
        return after


def _states(did: Did, lines: Sequence[bytes]) -> tuple[webvh.WebvhState, ...]:
    if did.method != "webvh":
        raise InvalidDocument("The DID has no witnesses.", details={"did": str(did)})
    return webvh.verify_entries(lines, now=None, witness_file=None, approved=False)

"""Comparison of index and ledger: at startup, on an operator's command, and for repairs.

The fold of the ledger's log, with every signature, is compared with every column of every row. It runs one DID at a time, so that
memory is bounded by the length of one log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from identity_core.domain.activity import OPERATOR, SERVICE, Event, RequestContext
from identity_core.domain.dids.did import Did
from identity_core.errors import Conflict, DidQuarantined, InvalidDid
from identity_core.ports.clock import Clock
from identity_core.ports.ledger import LedgerBackend
from identity_core.ports.repositories import IndexedVersion, IndexRows, Quarantine, Suspicion
from identity_core.use_cases.background import Repeating
from identity_core.use_cases.dids.head_check import LOOKS, HeadCheck
from identity_core.use_cases.record import Record

PAGE = 500
AT_ONCE = 64
TOLD_EVERY = 10_000
LOG_INVALID = "its log on the ledger does not hold"

log = logging.getLogger("identity")


class IndexAudit(Struct, frozen=True):
    """The audit of the index. Only ``seal``, ``release`` and ``repair`` write."""

    check: HeadCheck
    ledger: LedgerBackend
    rows: IndexRows
    quarantine: Quarantine
    record: Record
    clock: Clock

    async def differences(self, did: str) -> Sequence[str]:
        """Return the differences of one DID, a line for each version; one line if its log is invalid. Return none if the method of the
        DID is not loaded."""
        return await self._differing(did, self.rows.compare)

    async def sample(self, count: int, choose: Callable[[int], int]) -> int:
        """Compare the DIDs of ``count`` random entries of the ledger. Return how many differ. ``choose(n)`` is a random number below n."""
        size = (await self.ledger.head()).sequence
        dids = {line.did for _ in range(min(count, size)) for line in await self.ledger.entries_after(choose(size), 1)}
        return sum([await self._seal(did) for did in sorted(dids)])

    async def seal(self) -> int:
        """Tag rows from before tags existed, and rewrite rows of an earlier form, for every DID whose rows match the ledger. The other
        DIDs become suspect. Return the number of DIDs that were compared."""
        done = 0
        async for names in self.rows.unfinished(limit=AT_ONCE):
            await asyncio.gather(*(self._seal(name) for name in names))
            if done // TOLD_EVERY != (done + len(names)) // TOLD_EVERY:
                log.info("the index is compared with the ledger: %s DIDs so far", done + len(names))
            done += len(names)
        return done

    async def _seal(self, did: str) -> bool:
        """Return whether the DID was put under quarantine."""
        if found := await self._differing(did, self.rows.seal):
            self.quarantine.suspect(did, found[0])
        return bool(found)

    async def _differing(
        self, did: str, compare: Callable[[str, Sequence[IndexedVersion]], Awaitable[Sequence[str]]]
    ) -> Sequence[str]:
        """Return the differences that ``compare`` finds. If another process wrote a version between fold and comparison, repeat both.
        If a DID is written to all the time, return none; the next audit compares it."""
        if _method(did) not in self.check.methods:
            return ()
        for _ in range(LOOKS):
            folded = await self._folded(did)
            if folded is None:
                return (LOG_INVALID,)
            found = await compare(did, folded)
            if not found or len(await self.ledger.entries(did)) == len(folded):
                return found
        return ()

    async def is_released(self, did: str) -> bool:
        """Release a DID whose index agrees with the ledger, and rewrite its rows, so that none is of an earlier form. Return whether it
        agrees."""
        if await self.differences(did):
            return False
        if folded := await self._folded(did):
            await self.rows.rebuild(did, folded)
        await self.quarantine.release(did)
        return True

    async def release(self) -> None:
        """Release each withheld DID whose index agrees with the ledger, for any recorded reason."""
        last = ""
        while page := await self.quarantine.list(after=last, limit=PAGE):
            for last in [one.did for one in page]:
                if _method(last) in self.check.methods:
                    await self.is_released(last)

    async def repair(self, did: str) -> int:
        """Rewrite the index of ``did`` from the ledger, on an operator's command. Return the number of its versions. Raises
        ``DidQuarantined``: when its log on the ledger is invalid. Raises ``Conflict``: when this service wrote rows that the ledger
        does not have."""
        folded = await self._folded(did)
        if folded is None:
            raise DidQuarantined("The log of the DID on the ledger does not hold.", details={"did": did})
        if left := await self.rows.rebuild(did, folded):
            raise Conflict(f"The ledger is not the one that the index came from: {left[0]}.", details={"did": did})
        await self.quarantine.release(did)
        event = Event(target=did, details={"versions": len(folded)})
        await self.record(RequestContext("repairDid", OPERATOR), event, self.clock.now(), durable=True)
        return len(folded)

    async def _folded(self, name: str) -> Sequence[IndexedVersion] | None:
        try:
            did = Did.parse(name)
            return await self.check.folded(did) if did.method in self.check.methods else None
        except (DidQuarantined, InvalidDid):
            return None


def _method(did: str) -> str:
    return did.partition(":")[2].partition(":")[0]


@dataclass(slots=True)
class RecordSuspicions(Repeating):
    """A background task that writes suspicions to the table, the log and the audit log. ``withheld`` is the number of suspect DIDs,
    without those that another process has repaired meanwhile. If the task may rest, it counts them only when it is called."""

    complaint = "what is wrong with the index cannot be recorded"

    audit: IndexAudit
    withheld: int = field(default=0, init=False)
    _change: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def step(self) -> float:
        quarantine = self.audit.quarantine
        found = await quarantine.unknown(self.audit.clock.now())
        if found:
            for one in found:
                log.error("ALARM: %s is withheld: %s. See `identity ledger repair`", one.did, one.reason)
            # The audit line comes first: a crash in between causes a second line, not a missing one.
            await asyncio.gather(*(self._record(one) for one in found))
            await quarantine.add([one for one in found if not await self.audit.is_released(one.did)])
        if found or not self.rest_seconds or self._change.is_set():
            change = self.called.next_change()
            self.withheld = await quarantine.count()
            self._change = change
        # A suspicion arises in memory, which does not call.
        return self.interval_seconds / 2

    def _record(self, one: Suspicion) -> Awaitable[None]:
        event = Event(target=one.did, details={"reason": one.reason})
        return self.audit.record(RequestContext("quarantineDid", SERVICE), event, one.since)

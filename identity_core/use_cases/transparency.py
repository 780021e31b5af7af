"""Services of the extension ``transparency`` that the kernel calls, and their defaults without it.

They are the places of entries in cosigned checkpoints, the approvals of the witnesses of DIDs, and the detection of a rollback.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Final

import orjson
from msgspec import Struct

from identity_core.domain.dids.did import Did
from identity_core.errors import DidNotFound, InvalidDocument, StorageMismatch
from identity_core.ports.custodian import Custodian
from identity_core.ports.ledger import LedgerBackend, LedgerEntry
from identity_core.ports.repositories import DocumentIndex
from identity_core.settings import StartError
from identity_core.use_cases.background import Repeating
from identity_core.use_cases.dids.log_keys import SERVICE_KEY, LogSigner, public_key
from identity_core.use_cases.dids.read import DidLog, GetDidLog

WITNESS: Final = "witness"
"""The parameter of an entry that names the witnesses that must approve."""
UNGUARDED: Final = (
    "the extension transparency is missing or off: the end of the ledger is compared with the store alone, so a rollback of all "
    "databases is not detected"
)
LAG_SECONDS: Final = 2.0
POLL_SECONDS: Final = 0.1

log = logging.getLogger("identity")


class LogPlaces(Struct, frozen=True):
    """The places of entries in the log. ``place`` returns, for the index of a leaf, the size of the earliest cosigned checkpoint that
    covers it, and the time at which a quorum had cosigned it. ``size``: the number of cosigned entries. ``witnesses``: name of a witness
    to the reason why it does not cosign, empty if it does, and the size of the log that it cosigned last. ``fault``: the reason why
    witnesses receive no checkpoints. ``prove`` returns the C2SP tlog-proof of the ledger entry with this sequence.

    Without arguments it is that of a service without a log: no answer has a ``logPlace``."""

    place: Callable[[int], Awaitable[tuple[int, datetime] | None]] | None = None
    size: Callable[[], int] = lambda: 0
    witnesses: Callable[[], Mapping[str, tuple[str, int]]] = dict
    fault: Callable[[], str] = str
    prove: Callable[[int], Awaitable[bytes]] | None = None


class WitnessApprovals:
    """The approvals of versions by the witnesses of a DID (did:webvh 1.0), which determine the published part of a log. This one is that
    of a service without witnesses."""

    def require(self) -> None:
        """Raise ``InvalidDocument``: when a DID cannot have witnesses at this service."""
        raise InvalidDocument(
            "This service takes no approvals of witnesses: the extension transparency is off.",
            details={"member": WITNESS},
        )

    async def published(self, log: GetDidLog, did: Did) -> DidLog:
        """Return the published part of the log. Raises ``DidNotFound``: also when nothing of it is approved. Raises the errors of
        ``log``."""
        whole = await log(did)
        if await is_witnessed(log, did):
            raise DidNotFound(details={"did": str(did), "reason": "unwitnessed"})
        return whole

    async def witness_file(self, log: GetDidLog, did: Did) -> bytes:
        """Return the did-witness.json. Raises ``DidNotFound``: when there is none."""
        await log(did)
        raise DidNotFound(details={"did": str(did)})


async def is_witnessed(log: GetDidLog, did: Did) -> bool:
    """Return whether the log has or had witnesses."""
    if orjson.loads(await log.first(did))["parameters"].get(WITNESS):
        return True
    head = await log.reader.recorded(did)
    return head is not None and head.state.witness_version is not None


class StorageWatch:
    """The comparison of the databases with the remembered state, while the service runs. This one compares nothing.

    ``mismatch`` is the difference that the last comparison found.
    """

    mismatch: StorageMismatch | None = None

    def weakness(self) -> str:
        """Return the reason why a rollback might not be detected; empty if it is detected."""
        return UNGUARDED

    def hold_up(self, *others: Repeating | None) -> None:
        """Suspend the steps of jobs that write while no change is allowed."""

    def spare(self, *others: Repeating | None) -> None:
        """Let jobs rest on a server until ledger or audit log have changed, and wake them then."""


class RollbackGuard:
    """The check at startup before anything is opened, by ``Extension.guard``. This one is that of a service without the extension."""

    async def require_key(self, custodian: Custodian) -> None:
        """Raise ``StorageMismatch``: when another custodian signed the remembered state. It is called before any key is made."""
        log.warning("%s", UNGUARDED)

    async def require_ledger(self, ledger: LedgerBackend, store: Any) -> None:
        """Raise ``StorageMismatch``: when the ``store`` is a projection of another ledger."""
        check = ProjectionCheck(ledger, store.documents)
        await check.caught_up()
        await check.index_entries()

    async def follow(self, signer: LogSigner, check: Any, store: Any) -> Repeating | None:
        """Update ``signer`` and the retired keys of ``check`` from the log of the service's own DID. Raises ``StartError``: when the log
        has begun and this service cannot read it."""
        if await public_key(signer.custodian, SERVICE_KEY) is not None:
            raise StartError(
                "keys of the service were replaced, and only the extension transparency reads the log that states them",
                "the extensions",
                "install and enable the extension transparency",
            )
        return None

    def watch(self, follow: Any, store: Any, clock: Any) -> AbstractAsyncContextManager[StorageWatch]:
        """Compare the ``store`` and the ledger with the remembered state, then watch them until the end of the context. Raises
        ``StorageMismatch``."""
        return contextlib.nullcontext(StorageWatch())


class ProjectionCheck(Struct, frozen=True):
    """The comparison of the index with its ledger. ``logged`` is the number of entries of another projection."""

    ledger: LedgerBackend
    index: DocumentIndex

    async def caught_up(self, logged: int = 0) -> None:
        """Wait for a ledger that reads its entries from elsewhere, such as a chain, until it has the entries that are known here, or makes
        no progress for a while."""
        known = max(await self.index.cursor(), logged)
        end, rested = (await self.ledger.head()).sequence, 0.0
        while end < known and rested < LAG_SECONDS:
            await asyncio.sleep(POLL_SECONDS)
            before, end = end, (await self.ledger.head()).sequence
            rested = 0.0 if end > before else rested + POLL_SECONDS

    async def index_entries(self, logged: int = 0) -> None:
        """Raise ``StorageMismatch``: when the newest entry of the index is not on the ledger.

        The index is read first, so that parallel writes do not matter. Rows that are not of this service are withheld elsewhere.
        """
        cursor = await self.index.cursor()
        indexed = await self.index.events(after=cursor - 1, limit=1) if cursor else ()
        end = (await self.ledger.head()).sequence
        if end < max(cursor, logged):
            raise StorageMismatch(
                f"The ledger ends at entry {end}, and entry {max(cursor, logged)} was known: it is older, or empty."
            )
        for known in (version.receipt for version in indexed):
            hash_ = (await self.entry(cursor)).receipt.transaction_hash
            if known is not None and known.sequence == cursor and known.transaction_hash != hash_:
                raise StorageMismatch(
                    f"Entry {cursor} of the ledger is not the one in the index: the two are of different origin."
                )

    async def entry(self, sequence: int) -> LedgerEntry:
        """Return this entry of the ledger. Raises ``StorageMismatch`` without it."""
        lines = await self.ledger.entries_after(sequence - 1, 1)
        if not lines or lines[0].receipt.sequence != sequence:
            raise StorageMismatch(f"The ledger has no entry {sequence}, and later ones.")
        return lines[0]

"""The ledger ``memory``: a list. Everything is gone when the process ends, so it is for tests and for trying things out.

The smallest ledger that passes the conformance kit, and so the place to begin for anyone who writes one. It serves one
process and one event loop; nothing here awaits, which is why nothing here locks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import timedelta

from identity_core.errors import LedgerUnavailable, VersionConflict
from identity_core.plugin import BuildContext, NoSettings, Provider, hookimpl
from identity_core.ports.clock import Clock
from identity_core.ports.ledger import (
    AnchorTransaction,
    LedgerBackend,
    LedgerEntry,
    LedgerHead,
    LogSize,
    NewestEntry,
    Receipt,
    require_steady,
)

TICK = timedelta(microseconds=1)


class MemoryLedger:
    """See ``LedgerBackend`` and ``AnchoringLedger``. Every entry and every anchor is a block of its own."""

    anchor_ledger_name = "memory"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lines: list[LedgerEntry] = []
        self._of_did: dict[str, list[LedgerEntry]] = {}
        self._anchors: dict[tuple[str, bytes], AnchorTransaction] = {}
        self._block = 0
        self._closed = False

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        self._check_open()
        known = self._of_did.get(did, [])
        if len(known) != expected_version:
            raise VersionConflict(details={"did": did, "versionId": len(known)})
        sequence = len(self._lines) + 1
        at = self._clock.now()
        require_steady(self._clock, at)
        if self._lines:
            # Strictly increasing, also when the clock steps back.
            at = max(at, self._lines[-1].receipt.recorded_at + TICK)
        said = b"\n".join((b"identity-ledger-memory v1", did.encode(), b"%d" % (expected_version + 1), entry))
        self._block += 1
        receipt = Receipt(hashlib.sha256(said).hexdigest(), self._block, sequence, at)
        line = LedgerEntry(did, expected_version + 1, bytes(entry), receipt)
        self._lines.append(line)
        self._of_did.setdefault(did, []).append(line)
        return receipt

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        self._check_open()
        return tuple(self._of_did.get(did, [])[after : None if limit is None else after + limit])

    async def log_size(self, did: str) -> LogSize:
        self._check_open()
        lines = self._of_did.get(did, [])
        return LogSize(len(lines), sum(len(line.entry) for line in lines))

    async def newest(self, did: str) -> NewestEntry | None:
        lines = await self.entries(did)
        return NewestEntry(lines[-1].version, lines[-1].receipt.transaction_hash) if lines else None

    async def entries_after(self, sequence: int, limit: int) -> Sequence[LedgerEntry]:
        self._check_open()
        return tuple(self._lines[sequence : sequence + limit])

    async def head(self) -> LedgerHead:
        self._check_open()
        return LedgerHead(len(self._lines), self._block)

    async def submit_anchor(self, root: bytes, size: int) -> AnchorTransaction:
        """See ``AnchoringLedger.submit_anchor``. Confirmed at once."""
        return self._record("anchor", root, b"%d" % size)

    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        self._check_open()
        return self._anchors.get(("anchor", root))

    async def revoke_leaf(self, leaf: bytes) -> AnchorTransaction:
        """See ``AnchoringLedger.revoke_leaf``. Confirmed at once."""
        return self._record("revocation", leaf, b"")

    async def revocation_status(self, leaf: bytes) -> AnchorTransaction | None:
        self._check_open()
        return self._anchors.get(("revocation", leaf))

    def _record(self, kind: str, digest: bytes, size: bytes) -> AnchorTransaction:
        self._check_open()
        known = self._anchors.get((kind, digest))
        if known is not None:
            return known
        said = b"\n".join((b"identity-ledger-memory v1", kind.encode(), size, digest))
        self._block += 1
        made = AnchorTransaction("confirmed", hashlib.sha256(said).hexdigest(), self._block)
        self._anchors[kind, digest] = made
        return made

    async def close(self) -> None:
        """Refuse whatever comes later. A second time is no error."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise LedgerUnavailable("The ledger is closed.")


def build(settings: NoSettings, context: BuildContext) -> MemoryLedger:
    """Return a new, empty ledger."""
    return MemoryLedger(context.clock)


@hookimpl
def identity_provide_ledger_backend() -> Provider[LedgerBackend]:
    """See the hook's specification."""
    return Provider("memory", build, summary="A ledger in memory, gone with the process")

"""getDidLog: the entries of a DID as they were recorded, for anybody who wants to check them alone.

A log is as long as its DID is old, and its readers may be slow: it is read in pages, each when the reader has taken those
before it. So it is read twice, first for its length; what is appended in between is not of this answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from identity_core.domain.did import Did
from identity_core.domain.errors import DidNotFound, LedgerUnavailable
from identity_core.ports.ledger import LedgerBackend, LedgerEntry
from identity_core.use_cases.dids.reader import DidReader

# Of at most 16 KiB each (contract.md §2): what a reader that has stopped makes the service hold.
ENTRIES_OF_A_PAGE: Final = 8


@dataclass(frozen=True, slots=True)
class DidLog:
    """A log as JSON lines, each closed by a newline: its length in octets, and its pages."""

    octets: int
    pages: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class GetDidLog:
    """The log of a DID. Raises ``DidNotFound``; its pages raise ``LedgerUnavailable``."""

    reader: DidReader
    ledger: LedgerBackend
    visible_after_deactivation: bool

    async def __call__(self, did: Did) -> DidLog:
        octets = versions = 0
        async for page in self._read(str(did)):
            octets += sum(len(line.entry) + 1 for line in page)
            versions += len(page)
            # A long log is not measured in one go.
            await asyncio.sleep(0)
        if not versions:
            raise DidNotFound(details={"did": str(did)})
        if not self.visible_after_deactivation:
            await self.reader.active(did)
        return DidLog(octets, self._pages(str(did), versions))

    async def _read(self, did: str) -> AsyncIterator[list[LedgerEntry]]:
        after = 0
        while page := list(await self.ledger.entries(did, after=after, limit=ENTRIES_OF_A_PAGE)):
            if page[0].version != after + 1:
                raise LedgerUnavailable(details={"did": did})
            after += len(page)
            yield page
            if len(page) < ENTRIES_OF_A_PAGE:
                return

    async def _pages(self, did: str, versions: int) -> AsyncIterator[bytes]:
        async for page in self._read(did):
            lines = [line.entry + b"\n" for line in page[:versions]]
            versions -= len(lines)
            yield b"".join(lines)
            if not versions:
                return
        if versions:
            raise LedgerUnavailable(details={"did": did})

"""getDidLog: the entries of a DID as they were recorded, for anybody who wants to check them alone.

A log is as long as its DID is old, and its readers may be slow: it is read in pages, each when the reader has taken those
before it. What is appended meanwhile is not of this answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from identity_core.domain.did import Did
from identity_core.errors import DidNotFound, LedgerUnavailable
from identity_core.ports.ledger import LedgerBackend
from identity_core.use_cases.dids.reader import DidReader

# Of at most 16 KiB each (contract.md §2). A reader that has stopped makes the service hold two or three pages: those that
# the transport has, and one that waits for it.
ENTRIES_OF_A_PAGE: Final = 4


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
        size = await self.ledger.log_size(str(did))
        if not size.entries:
            raise DidNotFound(details={"did": str(did)})
        if not self.visible_after_deactivation:
            await self.reader.active(did)
        return DidLog(size.octets + size.entries, self._pages(str(did), size.entries))

    async def _pages(self, did: str, versions: int) -> AsyncIterator[bytes]:
        for after in range(0, versions, ENTRIES_OF_A_PAGE):
            count = min(ENTRIES_OF_A_PAGE, versions - after)
            page = b"".join(await self._page(did, after, count))
            yield page

    async def _page(self, did: str, after: int, limit: int) -> list[bytes]:
        entries = await self.ledger.entries(did, after=after, limit=limit)
        if [line.version for line in entries] != list(range(after + 1, after + 1 + len(entries))):
            raise LedgerUnavailable(details={"did": did})
        return [line.entry + b"\n" for line in entries]

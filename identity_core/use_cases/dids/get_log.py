"""getDidLog: the entries of a DID as they were recorded, for anybody who wants to check them alone."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain.did import Did
from identity_core.domain.errors import DidNotFound
from identity_core.ports.ledger import LedgerBackend
from identity_core.use_cases.dids.reader import DidReader


@dataclass(frozen=True, slots=True)
class GetDidLog:
    """The log as JSON lines, each closed by a newline. Raises ``DidNotFound``."""

    reader: DidReader
    ledger: LedgerBackend
    visible_after_deactivation: bool

    async def __call__(self, did: Did) -> bytes:
        entries = await self.ledger.entries(str(did))
        if not entries:
            raise DidNotFound(details={"did": str(did)})
        if not self.visible_after_deactivation:
            await self.reader.active(did)
        return b"".join(line.entry + b"\n" for line in entries)

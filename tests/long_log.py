"""A DID with a log of nine megabytes, written past the service into its ledger: no client could make so many versions in
the time of a test."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path

from identity_ledger_sql.ledger import SqlLedger

DID = "did:ids:QmV3jtkLiuNXEp8rr2FAVh3nN2QZ5c1MBp82EXbzbjgpNg"
PATH = f"/api/v1/dids/{DID}/log"
ENTRIES, ENTRY_OCTETS = 600, 15_000


class Clock:
    """The machine's."""

    def now(self) -> datetime:
        """Aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """In seconds."""
        return time.monotonic()


async def write_long_log(data_dir: Path, database_url: str | None) -> bytes:
    """Appends the log of ``DID`` to the ledger of a service, and returns it as it must be answered."""
    ledger = SqlLedger.open(data_dir, database_url, clock=Clock(), processes=2)
    entries = [os.urandom(ENTRY_OCTETS // 2).hex().encode() for _ in range(ENTRIES)]
    try:
        for version, entry in enumerate(entries):
            await ledger.append(DID, entry, expected_version=version)
    finally:
        await ledger.close()
    return b"".join(entry + b"\n" for entry in entries)

"""A process that appends to an embedded ledger until it is killed, and says what was acknowledged.

    python ledger_writer.py FOLDER NAME CALLERS APPENDS

One line an outcome, each written by one system call: ``ack <did> <version> <sequence> <transaction hash>`` or ``refused
<did> <version>``. A refused append is tried again with the version that the ledger then has.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from identity_ledger_sql import SqlLedger

from identity_core.errors import LedgerUnavailable, VersionConflict


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return 0.0


def say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


async def main(folder: Path, name: str, callers: int, appends: int) -> None:
    ledger = SqlLedger.open(folder, None, clock=SystemClock(), processes=2)
    say("ready")

    async def call(caller: int) -> None:
        did, version = f"did:x:{name}.{caller}", len(await ledger.entries(f"did:x:{name}.{caller}"))
        for _ in range(appends):
            try:
                receipt = await ledger.append(did, os.urandom(600), expected_version=version)
            except LedgerUnavailable:
                say(f"refused {did} {version + 1}")
                version = len(await ledger.entries(did))
            except VersionConflict as conflict:
                version = int(str(conflict.details["versionId"]))
            else:
                version += 1
                say(f"ack {did} {version} {receipt.sequence} {receipt.transaction_hash}")

    await asyncio.gather(*(call(caller) for caller in range(callers)))
    await ledger.close()
    say("done")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))

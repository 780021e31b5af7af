"""A process that appends and anchors, and may die before or after the node gets a transaction: run by test_recovery.

``python ledger_process.py FOLDER SETTINGS NAME COUNT [before|after|never]``: SETTINGS is JSON of ``EvmSettings``. It prints a
line for each receipt.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from pathlib import Path

from identity_ledger_evm.chain import Chain
from identity_ledger_evm.ledger import EvmLedger
from identity_ledger_evm.settings import EvmSettings

from identity_core.errors import LedgerUnavailable, VersionConflict
from identity_core.plugin import BuildContext
from tests.evm_site import SystemClock


def die(moment: str) -> None:
    """Makes the first transaction the last."""
    send = Chain.send

    async def deadly(self: Chain, raw: bytes) -> None:
        if moment == "after":
            await send(self, raw)
        os.kill(os.getpid(), signal.SIGKILL)

    Chain.send = deadly  # type: ignore[method-assign]


async def work(ledger: EvmLedger, name: str, count: int) -> None:
    """Own entries and a race for shared ones; every append that fails is tried again."""
    for n in range(count):
        await ledger.submit_anchor(f"{name}:{n}".encode().ljust(32, b"."), 1)
        for did in (f"did:x:{name}", "did:x:shared"):
            await append(ledger, did, f"{name}:{n}".encode())
        print("done", n, flush=True)
    await ledger.close()


async def append(ledger: EvmLedger, did: str, entry: bytes) -> None:
    while True:
        lines = await ledger.entries(did)
        if any(line.entry == entry for line in lines):
            return
        try:
            await ledger.append(did, entry, expected_version=len(lines))
        except (VersionConflict, LedgerUnavailable):
            await asyncio.sleep(0.01)


def main() -> None:
    folder, settings, name, count, moment = sys.argv[1:]
    if moment != "never":
        die(moment)
    context = BuildContext(SystemClock(), logging.getLogger(name), Path(folder), None, workers=2)
    ledger = EvmLedger.open(EvmSettings(**json.loads(settings)), context)
    ledger.prepare()
    asyncio.run(work(ledger, name, int(count)))


if __name__ == "__main__":
    main()

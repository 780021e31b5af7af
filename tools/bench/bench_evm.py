"""The ledger ``evm`` on anvil: appends a second and their gas, and anchors of batches on a chain with one block a second.

    python -m tools.bench.bench_evm [--rounds 3] [--appends 512] [--seconds 20] [--folder .]

Appends: one caller after the other, then many at once, on a chain that makes a block for every transaction; entries are 445
bytes. Anchors: ``--rate`` digests a second arrive evenly, a root is submitted for what arrived within ``--seal`` seconds, and
each digest waits until its root is confirmed. Gas is what the receipts say. The chain runs on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tests.anvil_server import AnvilServer, install_anvil
from tests.evm_site import Site, make_site

POLL_SECONDS = 0.02


def gas(site: Site, transactions: Iterable[str]) -> int:
    """What these transactions used, together."""
    receipts = (site.server.call("eth_getTransactionReceipt", "0x" + one) for one in set(transactions))
    return sum(int(receipt["gasUsed"], 16) for receipt in receipts)


def middle(latencies: Iterable[float]) -> str:
    """p50 and p99 in milliseconds."""
    ordered = sorted(latencies)
    return f"p50 {ordered[len(ordered) // 2] * 1e3:7.1f} ms, p99 {ordered[int(len(ordered) * 0.99)] * 1e3:7.1f} ms"


async def appends(site: Site, name: str, count: int) -> None:
    """Prints a line for one caller and one for many, for first versions and for later ones."""
    ledger = site.open(name, append_seconds=60.0)
    latencies: list[float] = []

    async def append(did: str, version: int) -> str:
        started = time.perf_counter()
        receipt = await ledger.append(did, os.urandom(445), expected_version=version)
        latencies.append(time.perf_counter() - started)
        return receipt.transaction_hash

    await append("did:x:warm", 0)
    latencies.clear()
    began = time.perf_counter()
    hashes = [await append("did:x:one", version) for version in range(count // 16)]
    took = time.perf_counter() - began
    used = gas(site, hashes) / len(hashes)
    print(f"append, 1 caller        {len(hashes) / took:7.0f}/s  {middle(latencies)}  {used:8,.0f} gas an entry")
    for version, label in enumerate(("first versions", "second versions")):
        latencies.clear()
        began = time.perf_counter()
        hashes = await asyncio.gather(*(append(f"did:x:{n}", version) for n in range(count)))
        took = time.perf_counter() - began
        used = gas(site, hashes) / count
        line = f"{count / took:7.0f}/s  {middle(latencies)}  {used:8,.0f} gas an entry"
        print(f"{count} at once, {label:<16}{line}, {len(set(hashes))} transactions")
    await ledger.close()


async def anchors(site: Site, name: str, rate: int, seal: float, seconds: float) -> tuple[float, float]:
    """The median seconds of a digest and the gas that it cost; prints the line."""
    ledger = site.open(name)
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    hashes: list[str] = []

    async def confirm(root: bytes, arrived: list[float]) -> None:
        await ledger.submit_anchor(root, len(arrived))
        while (found := await ledger.anchor_status(root)) is None or found.state != "confirmed":
            await asyncio.sleep(POLL_SECONDS)
        hashes.append(str(found.transaction_hash))
        latencies.extend(loop.time() - at for at in arrived)

    began, sealed, batches = loop.time(), 0, []
    while loop.time() - began < seconds:
        await asyncio.sleep(seal)
        due = int((loop.time() - began) * rate)
        arrived = [began + n / rate for n in range(sealed, due)]
        root = hashlib.sha256(b"%d %d" % (sealed, due) + name.encode()).digest()
        batches.append(asyncio.ensure_future(confirm(root, arrived)))
        sealed = due
    await asyncio.gather(*batches)
    used = gas(site, hashes) / sealed
    print(f"{sealed} digests at {rate}/s, sealed every {seal:g} s  {middle(latencies)}  {used:6.1f} gas a digest")
    await ledger.close()
    return statistics.median(latencies), used


def main() -> None:
    """Runs everything and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--appends", type=int, default=512)
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--seal", type=float, default=0.5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--folder", type=Path, default=Path())
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-evm-", dir=options.folder))
    try:
        (folder / "node").mkdir()
        program = install_anvil(folder / "node")
        for turn in range(options.rounds):
            _round(program, folder, turn, options)
    finally:
        shutil.rmtree(folder)


def _round(program: Path, folder: Path, turn: int, options: argparse.Namespace) -> None:
    for block_time in ((), ("--block-time", "1")):
        site = make_site(AnvilServer(program, block_time).start(), folder)
        try:
            if block_time:
                asyncio.run(anchors(site, f"anchors{turn}", options.rate, options.seal, options.seconds))
            else:
                asyncio.run(appends(site, f"appends{turn}", options.appends))
        finally:
            site.server.stop()


if __name__ == "__main__":
    main()

"""Anchoring from the outbox to the receipt: proofs that come in evenly, on a chain with a block a second, and on the SQL ledger.

    python -m tools.bench.bench_anchoring [--rate 1000] [--seconds 15] [--seal 0.5] [--rounds 3] [--folder .] [--ledger evm sql]

Every proof is a row with its leaf, written in groups as a service under load writes them. A proof's latency is from its own time to that of
its event ``anchor.confirmed``, which is written with its receipt. Gas is what the transactions' receipts say. Chain, worker and the
one that writes share the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import tempfile
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from identity_anchoring.batches import AnchoringPolicy
from identity_anchoring.figures import Figures
from identity_anchoring.follow import FollowBatches, RevokeLeaves
from identity_anchoring.outbox import StoredOutbox
from identity_anchoring.worker import AnchorWorker, SealBatch

from identity_core.store import Store
from identity_core.use_cases.record import Record
from tests.anchoring import add_proofs, some_proof
from tests.anvil_server import AnvilServer, install_anvil
from tests.evm_site import Site, SystemClock, make_site
from tests.transparency import open_ledger
from tools.bench.bench_evm import gas, middle

TURN_SECONDS = 0.05
CONFIRMED = """
SELECT timeline.at - proofs.created_at, anchor_tx_hash FROM timeline JOIN proofs ON proofs.id = proof_id
WHERE kind = 'anchor.confirmed'
"""


def worker_on(store: Store, ledger: Any, seal: float) -> AnchorWorker:
    """As the service builds it, without the ledger's own checkpoint."""
    clock, policy = SystemClock(), AnchoringPolicy(10_000, timedelta(seconds=seal), 3, 1.0)
    record, figures, outbox = Record(store.activity), Figures(), StoredOutbox(store.database, os.urandom)

    async def no_checkpoint() -> bytes | None:
        return None

    return AnchorWorker(
        outbox,
        SealBatch(outbox, ledger.anchor_ledger_name, no_checkpoint, clock, policy.batch_size),
        FollowBatches(outbox, ledger, record, figures, clock, policy),
        RevokeLeaves(outbox, ledger, record, figures, clock, policy.retry_seconds),
        clock,
        policy,
    )


async def measure(folder: Path, ledger: Any, site: Site | None, options: argparse.Namespace) -> None:
    """Prints the line of one round."""
    store = Store.open(folder)
    worker = worker_on(store, ledger, options.seal)
    loop = asyncio.get_running_loop()
    worker.begin()
    sent, began = 0, loop.time()
    while loop.time() - began < options.seconds:
        await asyncio.sleep(TURN_SECONDS)
        due = int((loop.time() - began) * options.rate)
        now = SystemClock().now()
        proofs = [
            some_proof(now - timedelta(seconds=(due - number) / options.rate), salt=os.urandom(32))
            for number in range(sent, due)
        ]
        await add_proofs(store, proofs)
        sent = due
    rows: list[Any] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(60):
            while len(rows) < sent:
                await asyncio.sleep(0.5)
                rows = await store.database.read(lambda reading: reading.execute(CONFIRMED).fetchall())
    await worker.close()
    hashes = {row[1] for row in rows}
    used = "" if site is None else f"  {gas(site, hashes) / sent:6.1f} gas a digest"
    latencies = [row[0] / 1e6 for row in rows]
    name = ledger.anchor_ledger_name.partition(":")[0]
    print(
        f"{name:<4} {len(rows)} of {sent} confirmed at {options.rate}/s, {len(hashes)} roots  {middle(latencies)}{used}"
    )
    await ledger.close()
    await store.close()


def main() -> None:
    """Runs every round and prints its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--seal", type=float, default=0.5)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--ledger", nargs="+", choices=("evm", "sql"), default=["evm", "sql"])
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-anchoring-", dir=options.folder))
    try:
        program = None
        if "evm" in options.ledger:
            (folder / "node").mkdir()
            program = install_anvil(folder / "node")
        for turn in range(options.rounds):
            if program is not None:
                _on_a_chain(program, folder / f"evm{turn}", options)
            if "sql" in options.ledger:
                own = folder / f"sql{turn}"
                own.mkdir()
                asyncio.run(measure(own, open_ledger(own, SystemClock(), None), None, options))  # type: ignore[arg-type]
    finally:
        shutil.rmtree(folder)


def _on_a_chain(program: Path, folder: Path, options: argparse.Namespace) -> None:
    folder.mkdir()
    site = make_site(AnvilServer(program, ("--block-time", "1")).start(), folder)
    try:
        asyncio.run(measure(folder, site.open("anchors"), site, options))
    finally:
        site.server.stop()


if __name__ == "__main__":
    main()

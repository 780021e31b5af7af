"""kill -9 of anchoring workers, two at a time, while proofs come in: every proof is anchored, once, and receipts say what the ledger says.

``IDENTITY_ROUNDS`` sets the number of kills.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from identity_anchoring.outbox import StoredOutbox
from identity_verification.domain.received import proof_commitment
from identity_verification.store import StoredProofs

from identity_core.domain.proofs.stored import StoredProof
from identity_core.store import Store
from identity_tlog.anchored import AnchorPath
from tests import servers
from tests.anchoring import add_proofs, some_proof
from tests.events import open_store
from tests.evm_site import SystemClock
from tests.postgres_server import postgres_server
from tests.transparency import open_ledger

__all__ = ["postgres_server"]

ROUNDS = int(os.environ.get("IDENTITY_ROUNDS") or 2)
PROOFS = 120


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
def url(request: pytest.FixtureRequest) -> str | None:
    if request.param == "sqlite":
        return None
    return request.getfixturevalue("postgres_server").new_database()


class Workers:
    """Processes of ``identity anchor worker`` on one installation."""

    def __init__(self, folder: Path, url: str | None) -> None:
        chosen = {
            "IDENTITY_DATA_DIR": str(folder),
            "IDENTITY_ANCHORING_SEAL_SECONDS": "0.02",
            "IDENTITY_ANCHORING_BATCH_SIZE": "20",
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
        kept["PYTHONPATH"] = str(servers.ROOT)
        self.environment = kept | chosen | ({} if url is None else {"IDENTITY_DATABASE_URL": url})
        self.running: list[servers.Forked] = []

    def start(self) -> None:
        """Starts one more, and returns when it works."""
        with tempfile.TemporaryFile() as said:
            process = servers.popen([*servers.PROGRAM, "anchor", "worker"], env=self.environment, stdout=said)
            self.running.append(process)
            while b"anchoring on" not in os.pread(said.fileno(), 65_536, 0):
                assert process.poll() is None, "a worker did not start"
                time.sleep(0.02)

    def kill(self) -> None:
        victim = self.running.pop(0)
        victim.kill()
        victim.wait(60)


@contextlib.contextmanager
def workers(folder: Path, url: str | None) -> Iterator[Workers]:
    made = Workers(folder, url)
    try:
        yield made
    finally:
        while made.running:
            made.kill()


def test_workers_are_killed(tmp_path: Path, url: str | None) -> None:
    async def story(crew: Workers) -> None:
        store = open_store(tmp_path, url, processes=3)
        proofs: list[StoredProof] = []
        dice = random.Random(7)
        try:
            await asyncio.to_thread(crew.start)
            for _ in range(ROUNDS):
                proofs += await _queue(store)
                await asyncio.to_thread(crew.start)
                proofs += await _queue(store)
                await asyncio.sleep(dice.uniform(0.0, 0.15))
                crew.kill()
            await _until_confirmed(store, proofs)
            await _check(store, tmp_path, url, proofs)
        finally:
            await store.close()

    with workers(tmp_path, url) as crew:
        asyncio.run(story(crew))


async def _queue(store: Store) -> list[StoredProof]:
    proofs = [some_proof(SystemClock().now()) for _ in range(PROOFS)]
    await add_proofs(store, proofs)
    return proofs


async def _until_confirmed(store: Store, proofs: list[StoredProof]) -> None:
    for proof in proofs:
        # For each: how many there are depends on the number of kills.
        deadline = time.monotonic() + 60
        while (
            receipt := await StoredOutbox(store.database, os.urandom).receipt(proof.id)
        ) is None or receipt.status.value != "confirmed":
            assert time.monotonic() < deadline, f"{proof.id} is not confirmed: {receipt}"
            await asyncio.sleep(0.05)


async def _check(store: Store, folder: Path, url: str | None, proofs: list[StoredProof]) -> None:
    ledger = open_ledger(folder, SystemClock(), url)  # type: ignore[arg-type]
    places: set[tuple[bytes, int]] = set()
    try:
        for proof in proofs:
            stored = await StoredProofs.from_store(store).get(proof.id)
            assert stored is not None
            assert stored.anchor is not None
            path = AnchorPath.parse(json.loads(stored.anchor_details or b"null"))
            path.verify(proof_commitment(proof.proof, proof.salt))
            places.add((path.root, path.index))
            told = await ledger.anchor_status(path.root)
            assert told is not None
            assert (told.state, told.transaction_hash, told.block_number) == (
                "confirmed",
                stored.anchor.tx_hash,
                stored.anchor.block_number,
            )
    finally:
        await ledger.close()
    assert len(places) == len(proofs), "two proofs share a place"
    counts = await store.database.read(
        lambda reading: reading.execute(
            "SELECT count(*), count(DISTINCT root), sum(size) FROM anchor_batches"
        ).fetchone()
    )
    assert counts[0] == counts[1], "a root was made twice"
    assert counts[2] == len(proofs), "a leaf is in two batches"

"""Anchoring in one process on a real store: proofs that wait, a worker, and a chain that does what a test says."""

from __future__ import annotations

import asyncio
import hashlib
import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from identity_anchoring.batches import AnchoringPolicy
from identity_anchoring.figures import Figures
from identity_anchoring.follow import FollowBatches, RevokeLeaves
from identity_anchoring.leaves import add_leaf
from identity_anchoring.outbox import StoredOutbox
from identity_anchoring.service import AnchorRows, ProofAnchoring
from identity_anchoring.worker import AnchorWorker, SealBatch
from identity_ledger_memory import MemoryLedger
from identity_records.queries import TimelineQuery
from identity_records.store import StoredTimeline
from identity_verification.store import StoredProofs
from identity_verification.use_cases.stored import REVOKED

from identity_codec.values import replace
from identity_core.domain.activity import OPERATOR, EventRecord, RequestContext, StatusChanged
from identity_core.domain.proofs.proof import ZkProof
from identity_core.domain.proofs.stored import Anchor, AnchorStatus, ProofRevocation, StoredProof
from identity_core.errors import LedgerUnavailable
from identity_core.ports.ledger import AnchorTransaction
from identity_core.store import Store
from identity_core.store.events import OpenSink
from identity_core.store.proofs import add_proof
from identity_core.use_cases.record import Record
from tests.did_use_cases import MovableClock
from tests.events import open_store

PENDING = Anchor(AnchorStatus.PENDING, None, None, None)
CHECKPOINT = b"id.example/api/v1/ledger\n3\n" + b"A" * 43 + b"=\n"


@dataclass
class _Sent:
    digest: bytes
    attempt: int = 1
    block: int | None = None
    failed: str = ""

    @property
    def hash(self) -> str:
        return hashlib.sha256(b"%d" % self.attempt + self.digest).hexdigest()


class ScriptedChain(MemoryLedger):
    """An ``AnchoringLedger`` with blocks: a transaction waits until ``mine``, is confirmed ``depth`` blocks deep, and ``reorg`` undoes the
    newest blocks. ``is_impatient``: every question makes a block. ``trouble`` keeps transactions out of blocks; ``is_down``."""

    anchor_ledger_name = "scripted"

    def __init__(self, *, depth: int = 2, is_impatient: bool = False) -> None:
        super().__init__(MovableClock())
        self.depth, self.is_impatient = depth, is_impatient
        self.height, self.trouble, self.is_down = 0, "", False
        self.sent: dict[tuple[str, bytes], _Sent] = {}
        self.submissions: list[bytes] = []

    def mine(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            self._block += 1
            self.height = self._block
            for one in self.sent.values():
                if one.block is None and not one.failed and not self.trouble:
                    one.block = self.height

    def reorg(self, blocks: int, *, drop: bool = False) -> None:
        """The newest blocks never were; their transactions wait again, or were never sent."""
        for key, one in list(self.sent.items()):
            if one.block is not None and one.block > self.height - blocks:
                one.block, one.attempt = None, one.attempt + 1
                if drop:
                    del self.sent[key]
        self.height = self._block = self.height - blocks

    def fail(self, reason: str) -> None:
        """What waits is reverted."""
        for one in self.sent.values():
            if one.block is None:
                one.failed = reason

    async def submit_anchor(self, root: bytes, size: int) -> AnchorTransaction:
        self._ask()
        self.submissions.append(root)
        return self._send("anchor", root)

    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        return self._find_transaction("anchor", root)

    async def revoke_leaf(self, leaf: bytes) -> AnchorTransaction:
        self._ask()
        return self._send("revocation", leaf)

    async def revocation_status(self, leaf: bytes) -> AnchorTransaction | None:
        return self._find_transaction("revocation", leaf)

    def _ask(self) -> None:
        self._check_open()
        if self.is_down:
            raise LedgerUnavailable

    def _send(self, kind: str, digest: bytes) -> AnchorTransaction:
        known = self.sent.setdefault((kind, digest), _Sent(digest))
        if known.failed:
            known.failed, known.attempt = "", known.attempt + 1
        told = self._find_transaction(kind, digest)
        assert told is not None
        return told

    def _find_transaction(self, kind: str, digest: bytes) -> AnchorTransaction | None:
        self._ask()
        if self.is_impatient:
            self.mine()
        one = self.sent.get((kind, digest))
        if one is None:
            return None
        if one.failed:
            return AnchorTransaction("failed", one.hash, None, one.failed)
        if one.block is None:
            return AnchorTransaction("submitted", one.hash, None, self.trouble)
        is_final = self.height - one.block + 1 >= self.depth
        return AnchorTransaction("confirmed" if is_final else "mined", one.hash, one.block)


def some_proof(at: datetime, *, anchor: Anchor | None = PENDING, **change: Any) -> StoredProof:
    """Return a stored proof with arbitrary values."""
    proof_id = str(uuid.uuid4())
    row: dict[str, Any] = {
        "proof": ZkProof(f"proof of {proof_id}", ("a", "b"), "gte", proof_id),
        "delegation_id": "d",
        "holder": "did:x:hana",
        "agent": "did:x:aki",
        "credential_id": "c",
        "issuer": "did:x:ivo",
        "schema_id": "s",
        "predicate": {"attributeName": "age", "type": "gte", "value": 18},
        "salt": os.urandom(32),
        "ibct_id": "i",
        "nonce": "n",
        "created_at": at,
        "expires_at": at + timedelta(days=1),
        "caller": "test",
        "challenge": None,
        "domain": None,
        "anchor": anchor,
    }
    return StoredProof(**(row | change))


async def add_proofs(store: Store, proofs: Iterable[StoredProof]) -> None:
    """Add the rows of proofs, and the leaves of those that are to be anchored, in one transaction."""

    def add(transaction: Any) -> None:
        for proof in proofs:
            add_proof(transaction, proof)
            if proof.anchor is not None and proof.anchor.status is AnchorStatus.PENDING:
                add_leaf(transaction, proof, proof.created_at)

    await store.database.write(add)


async def revoke_proof(store: Store, proof: StoredProof, at: datetime) -> None:
    """Revoke a proof as the operation does."""
    event = StatusChanged(REVOKED, proof.holder, replace(proof.parties, issuer=None))
    record = EventRecord(event, RequestContext("revokeProof", OPERATOR), at)
    await StoredProofs.from_store(store).revoke(proof.id, ProofRevocation(at, "test", None), record)


AT_ONCE = AnchoringPolicy(100, timedelta(seconds=0), 3, 0.0)


@dataclass
class Anchorage:
    """A store with a worker over ``ledger``."""

    folder: Path
    url: str | None = None
    ledger: Any = field(default_factory=ScriptedChain)
    clock: MovableClock = field(default_factory=MovableClock)
    policy: AnchoringPolicy = AT_ONCE
    checkpoint: bytes | None = None
    store: Store = field(init=False)
    outbox: StoredOutbox = field(init=False)

    def __post_init__(self) -> None:
        self.store = open_store(self.folder, self.url)
        self.store.activity.sinks.append(OpenSink("anchoring", AnchorRows(), is_vital=True))
        self.outbox = StoredOutbox(self.store.database, os.urandom)
        self.worker = self.new_worker()
        self.desk = ProofAnchoring(self.outbox, True, self.worker)

    def new_worker(self, outbox: StoredOutbox | None = None) -> AnchorWorker:
        """Another one on the same store, a holder of its own if it gets its own outbox."""
        outbox = outbox or self.outbox
        record, figures = Record(self.store.activity), Figures()

        async def checkpoint() -> bytes | None:
            return self.checkpoint

        follow = FollowBatches(outbox, self.ledger, record, figures, self.clock, self.policy)
        seal = SealBatch(outbox, self.ledger.anchor_ledger_name, checkpoint, self.clock, self.policy.batch_size)
        revoke = RevokeLeaves(outbox, self.ledger, record, figures, self.clock, self.policy.retry_seconds)
        return AnchorWorker(outbox, seal, follow, revoke, self.clock, self.policy)

    def rival(self) -> AnchorWorker:
        """A worker of another process."""
        return self.new_worker(StoredOutbox(self.store.database, os.urandom))

    async def queue(self, count: int = 1, **change: Any) -> list[StoredProof]:
        proofs = [some_proof(self.clock.now(), **change) for _ in range(count)]
        await self.add(proofs)
        return proofs

    async def add(self, proofs: Iterable[StoredProof]) -> None:
        await add_proofs(self.store, proofs)

    async def anchor(self, proof: StoredProof) -> Anchor:
        stored = await StoredProofs.from_store(self.store).get(proof.id)
        assert stored is not None
        assert stored.anchor is not None
        return stored.anchor

    async def statuses(self, proofs: Iterable[StoredProof]) -> set[str]:
        return {(await self.anchor(proof)).status.value for proof in proofs}

    async def take_back(self, proof: StoredProof) -> None:
        await revoke_proof(self.store, proof, self.clock.now())

    async def kinds(self) -> list[str]:
        """The kinds of the rows about anchors in the holder's timeline, sorted."""
        rows = await StoredTimeline(self.store.database).list(TimelineQuery(frozenset({"did:x:hana"})))
        return sorted(row.entry.kind for row in rows if row.entry.kind.startswith("anchor."))

    async def close(self) -> None:
        await self.worker.close()
        await self.store.close()
        if hasattr(self.ledger, "close"):
            await self.ledger.close()


def tell(anchorage: Anchorage, story: Any) -> None:
    """Tells one story and closes."""

    async def run_story() -> None:
        try:
            await story(anchorage)
        finally:
            await anchorage.close()

    asyncio.run(run_story())

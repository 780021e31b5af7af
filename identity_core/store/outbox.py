"""The outbox of anchoring in the store. README.md says how a batch, a lease and a receipt hang together."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from identity_codec.times import micros, moment
from identity_core.database import Database, Transaction
from identity_core.domain.ledger.anchor_proof import AnchorPath
from identity_core.domain.ledger.anchoring import Anchor, AnchoredCheckpoint, AnchorStatus, Batch, BatchState
from identity_core.ports.anchoring import AnchorLeaf, LeaseLost, RevokedLeaf, Sealing, Work
from identity_core.store import anchor_revocations
from identity_core.store.anchor_revocations import LEAVES
from identity_core.store.proofs import add_leaf, anchors_of, oldest_unanchored
from identity_core.store.records import Repository, Table
from identity_tlog.note import Checkpoint

_NEWEST_CHECKPOINT = """
SELECT checkpoint, checkpoint_details, tx_hash, block FROM anchor_batches
WHERE state = 'confirmed' AND ledger = :ledger AND checkpoint IS NOT NULL ORDER BY id DESC LIMIT 1
"""


def _newest_checkpoint(transaction: Transaction, ledger: str) -> AnchoredCheckpoint | None:
    """That of the newest confirmed batch on ``ledger`` which has one."""
    row = transaction.execute(_NEWEST_CHECKPOINT, {"ledger": ledger}).fetchone()
    if row is None:
        return None
    text, details, tx_hash, block_number = row
    path = AnchorPath.parse(json.loads(bytes(details)))
    return AnchoredCheckpoint(Checkpoint.parse(bytes(text).decode()), path, tx_hash, block_number)


_FAILED = """
SELECT proof_id FROM anchor_leaves JOIN proofs ON id = proof_id
WHERE state = 'batched' AND batch_id IN (SELECT id FROM anchor_batches WHERE state = 'failed') AND revoked_at IS NULL
"""
_SHOW_PENDING = """
UPDATE proofs SET anchor_status = 'pending', anchor_tx_hash = NULL, anchor_block = NULL, anchor_details = NULL
"""
_SHOW_RETRIED = f"{_SHOW_PENDING} WHERE anchor_status = 'failed' AND id IN ({_FAILED})"
_RETRY = f"UPDATE anchor_leaves SET state = 'queued', queued_at = :now, batch_id = NULL WHERE proof_id IN ({_FAILED})"  # noqa: S608
_SHOW_BACKFILLED = f"{_SHOW_PENDING} WHERE id = :id AND anchor_status = 'pre-phase7'"


def _retry(transaction: Transaction, now: datetime) -> int:
    """Queues the leaves of all failed batches again; how many."""
    transaction.execute(_SHOW_RETRIED)
    return transaction.execute(_RETRY, {"now": micros(now)}).rowcount


def _backfill(transaction: Transaction, now: datetime, limit: int) -> int:
    """Queues the oldest proofs from before anchoring existed; how many."""
    proofs = oldest_unanchored(transaction, limit)
    for proof in proofs:
        if transaction.execute(_SHOW_BACKFILLED, {"id": proof.id}).rowcount:
            add_leaf(transaction, proof, now)
    return len(proofs)


LEASE: Final = timedelta(seconds=15)

_OPEN = "state IN ('sealed', 'submitted', 'mined')"
_WORK = f"""
SELECT waiting, oldest, undecided, trouble, revoking
FROM (SELECT count(*) AS waiting, min(queued_at) AS oldest FROM anchor_leaves WHERE state = 'queued') AS queued,
(SELECT count(*) AS undecided, max(reason) AS trouble FROM anchor_batches WHERE {_OPEN} AND ledger = :ledger) AS opened,
(SELECT count(*) AS revoking {anchor_revocations.REVOKING}) AS revoked
"""  # noqa: S608
# A lease that would last longer than leases do is of a clock that was set back since.
_HOLD = """
UPDATE anchor_lease SET holder = :holder, until = :until
WHERE id = 1 AND (holder IS NULL OR holder = :holder OR until <= :now OR until > :longest)
"""
_RELEASE = "UPDATE anchor_lease SET holder = NULL WHERE id = 1 AND holder = :holder"
_HELD = "SELECT holder FROM anchor_lease WHERE id = 1"
_QUEUED = f"{LEAVES.select} WHERE state = 'queued' ORDER BY queued_at, proof_id LIMIT :limit"
_ADD_BATCH = """
INSERT INTO anchor_batches (ledger, root, size, state, attempts, reason, sealed_at, checkpoint, checkpoint_details)
VALUES (:ledger, :root, :size, 'sealed', 0, '', :now, :checkpoint, :checkpoint_details) RETURNING id
"""
# All leaves in one statement: row by row they would hold the writer for too long.
_EACH = {
    "sqlite": ("json_each(:details)", "CAST(each.value AS BLOB)"),
    "postgresql": ("json_each_text(CAST(:details AS json))", "convert_to(each.value, 'UTF8')"),
}
_FILL = "UPDATE anchor_leaves SET state = 'batched', batch_id = :batch FROM {0} AS each WHERE proof_id = each.key AND state = 'queued'"
_DETAIL = "UPDATE proofs SET anchor_details = {1} FROM {0} AS each WHERE proofs.id = each.key"
_TABLE = Table("anchor_batches", Batch, shown={"block_number": "block"})
_BATCH_OF = f"{_TABLE.select} WHERE id = (SELECT batch_id FROM anchor_leaves WHERE proof_id = :proof_id)"  # noqa: S608
_BATCHES = f"{_TABLE.select} WHERE {_OPEN} AND ledger = :ledger ORDER BY id"
_CONFIRMED = f"""
{_TABLE.select} WHERE state = 'confirmed' AND ledger = :ledger AND (block, id) < (:block, :id) ORDER BY block DESC, id DESC LIMIT :limit
"""
_STEP = """
UPDATE anchor_batches SET state = :state, tx_hash = :tx_hash, block = :block, attempts = :attempts, reason = :reason
WHERE id = :id AND state = :before
"""
_LIVE = "SELECT proof_id FROM anchor_leaves WHERE batch_id = :id AND state <> 'revoked'"
_SHOW = (
    f"UPDATE proofs SET anchor_status = :status, anchor_tx_hash = :tx_hash, anchor_block = :block WHERE id IN ({_LIVE})"  # noqa: S608
)
_STAY = "UPDATE anchor_leaves SET state = 'batched' WHERE batch_id = :id AND state = 'revoking'"
_RANDOM = {
    "sqlite": "lower(hex(randomblob(8)))",
    "postgresql": "substr(replace(CAST(gen_random_uuid() AS text), '-', ''), 17)",
}
_EVENT = """
INSERT INTO timeline (id, at, kind, outcome, holder, agent, issuer, delegation_id, credential_id, proof_id)
SELECT :prefix || {random}, :at, :kind, :outcome, holder, agent, issuer, delegation_id, credential_id, id FROM proofs
WHERE id IN ({which})
"""


class StoredOutbox(Repository):
    """See ``AnchorOutbox``. Each object is a holder of its own; ``random`` gives the octets of its name."""

    def __init__(self, database: Database, random: Callable[[int], bytes]) -> None:
        super().__init__(database)
        self._holder = random(16)
        each, octets = _EACH[database.dialect]
        self._fill, self._detail = _FILL.format(each, octets), _DETAIL.format(each, octets)
        self._random = _RANDOM[database.dialect]

    async def work(self, ledger: str) -> Work:
        ((waiting, oldest, undecided, trouble, revoking),) = await self._rows(_WORK, {"ledger": ledger})
        return Work(waiting, None if oldest is None else moment(oldest), undecided, revoking, trouble or "")

    async def hold(self, now: datetime) -> bool:
        longest = micros(now + LEASE)
        row = {"holder": self._holder, "now": micros(now), "until": longest, "longest": longest}
        return await self._change(_HOLD, row, durable=False) == 1

    async def release(self) -> None:
        await self._change(_RELEASE, {"holder": self._holder}, durable=False)

    async def queued(self, limit: int) -> Sequence[AnchorLeaf]:
        return [LEAVES.read(row) for row in await self._rows(_QUEUED, {"limit": limit})]

    async def revoking(self, ledger: str, limit: int) -> Sequence[AnchorLeaf]:
        return await self._database.read(lambda reading: anchor_revocations.revoking(reading, ledger, limit))

    async def seal(self, sealing: Sealing, now: datetime) -> Batch:
        checkpoint, details = sealing.checkpoint or (None, None)
        row = {"ledger": sealing.ledger, "root": sealing.root, "size": sealing.size, "now": micros(now)}
        row |= {"checkpoint": checkpoint, "checkpoint_details": None if details is None else details.encode()}
        paths = orjson.dumps(dict(sealing.details)).decode()

        def seal(transaction: Transaction) -> Batch:
            self._check_lease(transaction)
            number = transaction.execute(_ADD_BATCH, row).fetchone()[0]
            filled = transaction.execute(self._fill, {"batch": number, "details": paths}).rowcount
            if filled != len(sealing.details):
                raise LeaseLost
            transaction.execute(self._detail, {"details": paths})
            return Batch(number, sealing.root, sealing.size, BatchState.SEALED)

        return await self._database.write(seal)

    async def undecided(self, ledger: str) -> Sequence[Batch]:
        return [_TABLE.read(row) for row in await self._rows(_BATCHES, {"ledger": ledger})]

    async def confirmed(self, ledger: str, below: Batch | None, limit: int) -> Sequence[Batch]:
        place = (
            {"block": anchor_revocations.LAST_BLOCK, "id": 0}
            if below is None
            else {"block": below.block_number, "id": below.id}
        )
        rows = await self._rows(_CONFIRMED, {"ledger": ledger, "limit": limit, **place})
        return [_TABLE.read(row) for row in rows]

    async def advance(self, before: Batch, after: Batch, now: datetime) -> None:
        if after.anchor.status is not before.anchor.status:
            before.anchor.status.to(after.anchor.status)
        row = _shown(after) | {"id": after.id, "state": after.state.value, "before": before.state.value}
        row |= {"attempts": after.attempts, "reason": after.reason}

        def advance(transaction: Transaction) -> None:
            self._check_lease(transaction)
            if transaction.execute(_STEP, row).rowcount != 1:
                raise LeaseLost
            self._show(transaction, before, after)
            if after.state is BatchState.FAILED:
                transaction.execute(_STAY, {"id": after.id})
            if after.anchor.status is not before.anchor.status:
                self._tell(transaction, _LIVE, {"id": after.id}, _KINDS[after.anchor.status.value], now)

        await self._database.write(advance)

    async def revoked(self, leaf: AnchorLeaf, block_number: int, now: datetime) -> None:
        def revoked(transaction: Transaction) -> None:
            self._check_lease(transaction)
            anchor_revocations.revoked(transaction, leaf, block_number)
            self._tell(transaction, ":proof_id", {"proof_id": leaf.proof_id}, ("anchor.revoked", "done"), now)

        await self._database.write(revoked)

    async def revoked_leaves(self, ledger: str, below: RevokedLeaf | None, limit: int) -> Sequence[RevokedLeaf]:
        return await self._database.read(lambda reading: anchor_revocations.all_revoked(reading, ledger, below, limit))

    async def revocation_undone(self, before: RevokedLeaf, block_number: int | None, now: datetime) -> None:
        leaf = before.leaf
        which = {"proof_id": leaf.proof_id}

        def undone(transaction: Transaction) -> None:
            self._check_lease(transaction)
            if block_number is not None:
                anchor_revocations.moved(transaction, leaf, block_number)
                return
            batch = _TABLE.read(transaction.execute(_BATCH_OF, which).fetchone())
            anchor_revocations.undone(transaction, leaf, batch)
            self._tell(transaction, ":proof_id", which, _KINDS["pending"], now)

        await self._database.write(undone)

    async def receipt(self, proof_id: str) -> Anchor | None:
        return (await self._database.read(lambda transaction: anchors_of(transaction, [proof_id]))).get(proof_id)

    async def anchored_checkpoint(self, ledger: str) -> AnchoredCheckpoint | None:
        return await self._database.read(lambda reading: _newest_checkpoint(reading, ledger))

    async def retry(self, now: datetime) -> int:
        return await self._database.write(lambda transaction: _retry(transaction, now))

    async def backfill(self, now: datetime, limit: int) -> int:
        return await self._database.write(lambda transaction: _backfill(transaction, now, limit))

    def _show(self, transaction: Transaction, before: Batch, after: Batch) -> None:
        """The receipts of its proofs; those that are pending read their batch."""
        if after.anchor == before.anchor or before.anchor.status is after.anchor.status is AnchorStatus.PENDING:
            return
        shown = _PENDING if after.anchor.status is AnchorStatus.PENDING else _shown(after)
        transaction.execute(_SHOW, {**shown, "id": after.id, "status": after.anchor.status.value})

    def _check_lease(self, transaction: Transaction) -> None:
        held = transaction.execute(_HELD).fetchone()[0]
        if held is None or bytes(held) != self._holder:
            raise LeaseLost

    def _tell(
        self, transaction: Transaction, which: str, parameters: Mapping[str, Any], kind: tuple[str, str], now: datetime
    ) -> None:
        """One event of the timeline for each of those proofs, in one statement."""
        at = micros(now)
        event = {"prefix": f"{at:016x}", "at": at, "kind": kind[0], "outcome": kind[1]}
        transaction.execute(_EVENT.format(random=self._random, which=which), {**parameters, **event})


_KINDS: Final = {
    "confirmed": ("anchor.confirmed", "done"),
    "failed": ("anchor.failed", "refused"),
    "pending": ("anchor.reopened", "done"),
}


_PENDING: Final[Mapping[str, object]] = {"tx_hash": None, "block": None}


def _shown(batch: Batch) -> dict[str, object]:
    return {"tx_hash": batch.tx_hash, "block": batch.block_number}

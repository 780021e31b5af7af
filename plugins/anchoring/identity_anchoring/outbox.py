"""The outbox of anchoring: the commitments for a ledger, from the transaction of the proof until the ledger has them.

Any number of workers may share it; one at a time has its lease, and every change by a worker without the lease is refused. The
receipt of a proof changes in the same transactions. README.md explains batch, lease and receipt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import orjson
from identity_verification.store import anchors_of

from identity_anchoring import leaves
from identity_anchoring.batches import AnchorLeaf, Batch, BatchState, LeaseLost, RevokedLeaf, Sealing, Work, next_status
from identity_anchoring.leaves import LEAVES
from identity_codec.times import micros, moment
from identity_core.database import Database, Transaction
from identity_core.domain.proofs.stored import Anchor, AnchorStatus
from identity_core.store.records import Repository, Table
from identity_tlog.anchored import AnchoredCheckpoint, AnchorPath
from identity_tlog.note import Checkpoint

_NEWEST_CHECKPOINT = """
SELECT checkpoint, checkpoint_details, tx_hash, block FROM anchor_batches
WHERE state = 'confirmed' AND ledger = :ledger AND checkpoint IS NOT NULL ORDER BY id DESC LIMIT 1
"""


def _newest_checkpoint(transaction: Transaction, ledger: str) -> AnchoredCheckpoint | None:
    """Return the checkpoint in the newest confirmed batch on ``ledger`` that has one."""
    row = transaction.execute(_NEWEST_CHECKPOINT, {"ledger": ledger}).fetchone()
    if row is None:
        return None
    text, details, tx_hash, block_number = row
    path = AnchorPath.parse(json.loads(bytes(details)))
    return AnchoredCheckpoint(Checkpoint.parse(bytes(text).decode()), path, tx_hash, block_number)


LEASE: Final = timedelta(seconds=15)

_OPEN = "state IN ('sealed', 'submitted', 'mined')"
_WORK = f"""
SELECT waiting, oldest, undecided, trouble, revoking
FROM (SELECT count(*) AS waiting, min(queued_at) AS oldest FROM anchor_leaves WHERE state = 'queued') AS queued,
(SELECT count(*) AS undecided, max(reason) AS trouble FROM anchor_batches WHERE {_OPEN} AND ledger = :ledger) AS opened,
(SELECT count(*) AS revoking {leaves.REVOKING}) AS revoked
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
    """The outbox on the tables of the store. Each object is a separate holder of the lease; ``random`` returns the bytes of its
    name.

    ``ledger`` is the name of a ledger. Batches of others are not changed.
    """

    def __init__(self, database: Database, random: Callable[[int], bytes]) -> None:
        super().__init__(database)
        self._holder = random(16)
        each, data = _EACH[database.dialect]
        self._fill, self._detail = _FILL.format(each, data), _DETAIL.format(each, data)
        self._random = _RANDOM[database.dialect]

    async def work(self, ledger: str) -> Work:
        ((waiting, oldest, undecided, trouble, revoking),) = await self._rows(_WORK, {"ledger": ledger})
        return Work(waiting, None if oldest is None else moment(oldest), undecided, revoking, trouble or "")

    async def hold(self, now: datetime) -> bool:
        """Take or renew the lease, and return whether this object has it."""
        longest = micros(now + LEASE)
        row = {"holder": self._holder, "now": micros(now), "until": longest, "longest": longest}
        return await self._change(_HOLD, row, durable=False) == 1

    async def release(self) -> None:
        """Release the lease if this object has it."""
        await self._change(_RELEASE, {"holder": self._holder}, durable=False)

    async def queued(self, limit: int) -> Sequence[AnchorLeaf]:
        return [LEAVES.read(row) for row in await self._rows(_QUEUED, {"limit": limit})]

    async def revoking(self, ledger: str, limit: int) -> Sequence[AnchorLeaf]:
        return await self._database.read(lambda reading: leaves.revoking(reading, ledger, limit))

    async def seal(self, sealing: Sealing, now: datetime) -> Batch:
        """Store the batch. Raises ``LeaseLost``: also when one of its leaves was revoked meanwhile."""
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
        """Return the confirmed batches, newest block first; with ``below``, only those after it in that order."""
        block, batch = (leaves.LAST_BLOCK, 0) if below is None else (below.block_number, below.id)
        rows = await self._rows(_CONFIRMED, {"ledger": ledger, "limit": limit, "block": block, "id": batch})
        return [_TABLE.read(row) for row in rows]

    async def advance(self, before: Batch, after: Batch, now: datetime) -> None:
        """Store a step of a batch, with the receipts of its proofs and their events. Raises ``LeaseLost``."""
        if after.anchor.status is not before.anchor.status:
            next_status(before.anchor.status, after.anchor.status)
        row = _columns(after) | {"id": after.id, "state": after.state.value, "before": before.state.value}
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
        """Store that the ledger has the revocation of a leaf. Raises ``LeaseLost``."""

        def revoked(transaction: Transaction) -> None:
            self._check_lease(transaction)
            leaves.revoked(transaction, leaf, block_number)
            self._tell(transaction, ":proof_id", {"proof_id": leaf.proof_id}, ("anchor.revoked", "done"), now)

        await self._database.write(revoked)

    async def revoked_leaves(self, ledger: str, below: RevokedLeaf | None, limit: int) -> Sequence[RevokedLeaf]:
        return await self._database.read(lambda reading: leaves.all_revoked(reading, ledger, below, limit))

    async def revocation_undone(self, before: RevokedLeaf, block_number: int | None, now: datetime) -> None:
        """Store that the revocation is in another block, or in none. In the latter case it begins again, and the receipt is that of
        the batch. Raises ``LeaseLost``."""
        leaf = before.leaf
        which = {"proof_id": leaf.proof_id}

        def undone(transaction: Transaction) -> None:
            self._check_lease(transaction)
            if block_number is not None:
                leaves.moved(transaction, leaf, block_number)
                return
            batch = _TABLE.read(transaction.execute(_BATCH_OF, which).fetchone())
            leaves.undone(transaction, leaf, batch)
            self._tell(transaction, ":proof_id", which, _KINDS["pending"], now)

        await self._database.write(undone)

    async def receipt(self, proof_id: str) -> Anchor | None:
        return (await self._database.read(lambda transaction: anchors_of(transaction, [proof_id]))).get(proof_id)

    async def anchored_checkpoint(self, ledger: str) -> AnchoredCheckpoint | None:
        return await self._database.read(lambda reading: _newest_checkpoint(reading, ledger))

    async def catch_up(self) -> None:
        """Begin the revocations of proofs that were revoked while the extension was off."""
        if await self._rows(f"{leaves.MISSED} LIMIT 1", {}):
            await self._database.write(leaves.withdraw_missed)

    async def retry(self, now: datetime) -> int:
        return await self._database.write(lambda transaction: leaves.retry(transaction, now))

    async def backfill(self, now: datetime, limit: int) -> int:
        """Queue proofs from before anchoring existed (``pre-phase7``), oldest first, and return how many."""
        return await self._database.write(lambda transaction: leaves.backfill(transaction, now, limit))

    def _show(self, transaction: Transaction, before: Batch, after: Batch) -> None:
        """Write the receipts of the batch's proofs. Pending proofs read their batch."""
        if after.anchor == before.anchor or before.anchor.status is after.anchor.status is AnchorStatus.PENDING:
            return
        shown = _PENDING if after.anchor.status is AnchorStatus.PENDING else _columns(after)
        transaction.execute(_SHOW, {**shown, "id": after.id, "status": after.anchor.status.value})

    def _check_lease(self, transaction: Transaction) -> None:
        held = transaction.execute(_HELD).fetchone()[0]
        if held is None or bytes(held) != self._holder:
            raise LeaseLost

    def _tell(
        self, transaction: Transaction, which: str, parameters: Mapping[str, Any], kind: tuple[str, str], now: datetime
    ) -> None:
        """Write one event of the timeline for each of these proofs, in one statement."""
        at = micros(now)
        event = {"prefix": f"{at:016x}", "at": at, "kind": kind[0], "outcome": kind[1]}
        transaction.execute(_EVENT.format(random=self._random, which=which), {**parameters, **event})


_KINDS: Final = {
    "confirmed": ("anchor.confirmed", "done"),
    "failed": ("anchor.failed", "refused"),
    "pending": ("anchor.reopened", "done"),
}


_PENDING: Final[Mapping[str, object]] = {"tx_hash": None, "block": None}


def _columns(batch: Batch) -> dict[str, object]:
    return {"tx_hash": batch.tx_hash, "block": batch.block_number}

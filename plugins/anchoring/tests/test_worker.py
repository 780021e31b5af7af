"""Every row of the table of states (openapi/DECISIONS.md §4.10), on a chain that does what the test says."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest
from identity_anchoring.batches import LeaseLost, Sealing
from identity_ledger_memory import MemoryLedger
from identity_records.audit import audit_of
from identity_verification.domain.received import proof_commitment
from identity_verification.store import StoredProofs

from identity_codec.values import replace
from identity_core.domain.proofs.stored import Anchor, AnchorStatus
from identity_core.errors import LedgerUnavailable
from identity_core.ports.ledger import AnchorTransaction
from identity_tlog.anchored import AnchorPath, checkpoint_commitment
from identity_tlog.tree import Refuted
from tests.anchoring import AT_ONCE, CHECKPOINT, PENDING, Anchorage, ScriptedChain, tell
from tests.did_use_cases import MovableClock
from tests.events import audit_rows
from tests.transparency import open_ledger

S = AnchorStatus


def test_pending_to_confirmed(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        chain = rooms.ledger
        proofs = await rooms.queue(5)
        assert await rooms.worker.round() == 0.2
        root = chain.submissions[0]
        sent = chain.sent["anchor", root]
        assert await rooms.anchor(proofs[0]) == Anchor(S.PENDING, sent.hash, None, None)
        chain.mine()
        await rooms.worker.round()
        assert await rooms.anchor(proofs[0]) == Anchor(S.PENDING, sent.hash, 1, None)
        chain.mine()
        assert await rooms.worker.round() == 1.0
        for proof in proofs:
            assert await rooms.anchor(proof) == Anchor(S.CONFIRMED, sent.hash, 1, None)
        assert chain.submissions == [root]
        assert await rooms.kinds() == ["anchor.confirmed"] * 5
        lines = [row for _, row in await audit_rows(audit_of(rooms.store), after=0, limit=9)]
        assert [(line.operation, line.details["status"], line.details["size"]) for line in lines] == [
            ("anchorBatch", "confirmed", 5)
        ]

    tell(anchorage, story)


def test_paths_are_there_at_sealing_and_lead_to_the_root(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        rooms.checkpoint, rooms.ledger.is_down = CHECKPOINT, True
        proofs = await rooms.queue(6)
        await rooms.worker.round()
        paths = []
        for proof in proofs:
            stored = await StoredProofs.from_store(rooms.store).get(proof.id)
            assert stored is not None
            assert stored.anchor == PENDING
            path = AnchorPath.parse(json.loads(stored.anchor_details or b"null"))
            path.verify(proof_commitment(proof.proof, proof.salt))
            with pytest.raises(Refuted):
                path.verify(proof_commitment(proof.proof, bytes(32)))
            paths.append(path)
        assert sorted(path.index for path in paths) == list(range(6))
        assert {(path.ledger, path.size, path.root) for path in paths} == {("scripted", 7, paths[0].root)}
        [row] = await rooms.store.database.read(
            lambda reading: reading.execute("SELECT checkpoint, checkpoint_details FROM anchor_batches").fetchall()
        )
        own = AnchorPath.parse(json.loads(bytes(row[1])))
        assert (bytes(row[0]), own.root, own.index) == (CHECKPOINT, paths[0].root, 6)
        own.verify(checkpoint_commitment(CHECKPOINT))

    tell(anchorage, story)


def test_a_ledger_that_is_down_is_waited_for(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        rooms.ledger.is_down = True
        [proof] = await rooms.queue()
        for _ in range(5):
            await rooms.worker.round()
        assert await rooms.anchor(proof) == PENDING
        assert "LEDGER_UNAVAILABLE" in rooms.worker.fault or "cannot be asked" in rooms.worker.fault
        rooms.ledger.is_down = False
        rooms.ledger.mine(0)
        await rooms.worker.round()
        rooms.ledger.mine(2)
        await rooms.worker.round()
        assert await rooms.statuses([proof]) == {"confirmed"}
        assert rooms.worker.fault == ""

    tell(anchorage, story)


def test_an_empty_purse_waits_and_alarms(anchorage: Anchorage, caplog: pytest.LogCaptureFixture) -> None:
    async def story(rooms: Anchorage) -> None:
        rooms.ledger.trouble = "insufficient funds"
        [proof] = await rooms.queue()
        for _ in range(4):
            await rooms.worker.round()
            rooms.ledger.mine()
        assert await rooms.statuses([proof]) == {"pending"}
        assert rooms.worker.fault == "insufficient funds"
        assert [record.message for record in caplog.records if "insufficient funds" in record.message] == [
            "anchoring waits: batch 1 is submitted: insufficient funds"
        ]
        rooms.ledger.trouble = ""
        rooms.ledger.mine(2)
        await rooms.worker.round()
        assert await rooms.statuses([proof]) == {"confirmed"}
        assert rooms.worker.fault == ""
        assert len(rooms.ledger.submissions) == 1

    tell(anchorage, story)


def test_pending_to_failed_and_again(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        kept, taken_back = await rooms.queue(2)
        for _ in range(3):
            await rooms.worker.round()
            assert await rooms.statuses([kept]) == {"pending"}
            rooms.ledger.fail("reverted")
            await rooms.worker.round()
        failed = await rooms.anchor(kept)
        assert failed.status is S.FAILED
        assert failed.tx_hash == rooms.ledger.sent["anchor", rooms.ledger.submissions[0]].hash
        assert await rooms.kinds() == ["anchor.failed"] * 2
        await rooms.take_back(taken_back)
        assert await rooms.worker.round() == 1.0
        assert await rooms.outbox.retry(rooms.clock.now()) == 1
        assert await rooms.anchor(kept) == PENDING
        assert (await rooms.anchor(taken_back)).status is S.FAILED
        await rooms.worker.round()
        rooms.ledger.mine(2)
        await rooms.worker.round()
        assert await rooms.statuses([kept]) == {"confirmed"}

    tell(anchorage, story)


def test_a_failure_is_tried_again_after_a_while(tmp_path: Path) -> None:
    async def story(rooms: Anchorage) -> None:
        await rooms.queue()
        await rooms.worker.round()
        rooms.ledger.fail("reverted")
        for _ in range(5):
            await rooms.worker.round()
        assert len(rooms.ledger.submissions) == 1
        rooms.clock.move(seconds=16)
        await rooms.worker.round()
        assert len(rooms.ledger.submissions) == 2
        assert len(set(rooms.ledger.submissions)) == 1

    tell(Anchorage(tmp_path, policy=replace(AT_ONCE, retry_seconds=15.0)), story)


def test_pending_to_revoked_before_sealing(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        revoked, kept = await rooms.queue(2)
        await rooms.take_back(revoked)
        assert await rooms.anchor(revoked) == Anchor(S.REVOKED, None, None, None)
        await rooms.worker.round()
        rooms.ledger.mine(2)
        await rooms.worker.round()
        assert await rooms.anchor(revoked) == Anchor(S.REVOKED, None, None, None)
        assert await rooms.statuses([kept]) == {"confirmed"}
        assert [kind for kind, _ in rooms.ledger.sent] == ["anchor"]

    tell(anchorage, story)


@pytest.mark.parametrize("blocks", [0, 1, 2])
def test_to_revoked_by_a_transaction_of_the_leaf(anchorage: Anchorage, blocks: int) -> None:
    """Submitted, mined or confirmed: the old status stays until the revocation is final, and the others of the batch for ever."""

    async def story(rooms: Anchorage) -> None:
        revoked, kept = await rooms.queue(2)
        await rooms.worker.round()
        rooms.ledger.mine(blocks)
        await rooms.worker.round()
        before = await rooms.anchor(revoked)
        await rooms.take_back(revoked)
        await rooms.take_back(revoked)
        await rooms.worker.round()
        assert await rooms.anchor(revoked) == before
        rooms.ledger.mine(2)
        await rooms.worker.round()
        await rooms.worker.round()
        after = await rooms.anchor(revoked)
        assert (after.status, after.revoked_block) == (S.REVOKED, blocks + 1)
        assert (await rooms.anchor(kept)).status is S.CONFIRMED
        leaf = proof_commitment(revoked.proof, revoked.salt)
        assert [digest for kind, digest in rooms.ledger.sent if kind == "revocation"] == [leaf]
        assert await rooms.worker.round() == 1.0
        assert await rooms.kinds() == ["anchor.confirmed", "anchor.confirmed", "anchor.revoked"]

    tell(anchorage, story)


def test_a_batch_that_fails_ends_its_revocations(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        [proof] = await rooms.queue()
        await rooms.worker.round()
        await rooms.take_back(proof)
        for _ in range(3):
            rooms.ledger.fail("reverted")
            await rooms.worker.round()
            await rooms.worker.round()
        assert await rooms.statuses([proof]) == {"failed"}
        assert await rooms.worker.round() == 1.0

    tell(anchorage, story)


@pytest.mark.parametrize("drop", [False, True])
def test_a_transaction_that_vanishes_is_not_shown_as_confirmed(
    anchorage: Anchorage, caplog: pytest.LogCaptureFixture, *, drop: bool
) -> None:
    """A block is undone beneath what counted as final: pending again, with an alarm, then confirmed where it is now."""

    async def story(rooms: Anchorage) -> None:
        chain = rooms.ledger
        [older] = await rooms.queue()
        await rooms.worker.round()
        chain.mine(2)
        await rooms.worker.round()
        proofs = await rooms.queue(3)
        await rooms.worker.round()
        chain.mine(2)
        await rooms.worker.round()
        before = await rooms.anchor(proofs[0])
        assert before.status is S.CONFIRMED
        untouched = await rooms.anchor(older)
        chain.reorg(2, drop=drop)
        rooms.clock.move(seconds=10)
        await rooms.worker.round()
        pending = await rooms.anchor(proofs[0])
        assert pending.status is S.PENDING
        assert pending.block_number is None
        assert pending.tx_hash != before.tx_hash or drop
        assert any("ALARM" in record.message for record in caplog.records)
        chain.mine(3)
        await rooms.worker.round()
        assert await rooms.statuses(proofs) == {"confirmed"}
        assert await rooms.anchor(older) == untouched
        assert await rooms.kinds() == sorted(["anchor.confirmed"] * 7 + ["anchor.reopened"] * 3)

    tell(anchorage, story)


def test_a_block_that_is_undone_before_it_counts(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        [proof] = await rooms.queue()
        await rooms.worker.round()
        rooms.ledger.mine()
        await rooms.worker.round()
        assert (await rooms.anchor(proof)).block_number == 1
        rooms.ledger.reorg(1)
        await rooms.worker.round()
        assert (await rooms.anchor(proof)).block_number is None
        assert await rooms.kinds() == []

    tell(anchorage, story)


def test_before_anchoring_existed(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        old = Anchor(S.PRE_PHASE7, None, None, None)
        proofs = await rooms.queue(3, anchor=old)
        assert await rooms.worker.round() == 1.0
        await rooms.take_back(proofs[2])
        assert await rooms.anchor(proofs[2]) == old
        assert await rooms.outbox.backfill(rooms.clock.now(), 1) == 1
        assert await rooms.outbox.backfill(rooms.clock.now(), 10) == 1
        assert await rooms.outbox.backfill(rooms.clock.now(), 10) == 0
        assert await rooms.statuses(proofs[:2]) == {"pending"}
        await rooms.worker.round()
        rooms.ledger.mine(2)
        await rooms.worker.round()
        assert await rooms.statuses(proofs[:2]) == {"confirmed"}
        assert await rooms.anchor(proofs[2]) == old

    tell(anchorage, story)


def test_a_ledger_that_anchors_itself(tmp_path: Path) -> None:
    async def story(rooms: Anchorage) -> None:
        proofs = await rooms.queue(3)
        assert await rooms.worker.round() == 1.0
        receipts = [await rooms.anchor(proof) for proof in proofs]
        assert {receipt.status for receipt in receipts} == {S.CONFIRMED}
        assert len({receipt.tx_hash for receipt in receipts}) == 1
        await rooms.take_back(proofs[0])
        await rooms.worker.round()
        revoked = await rooms.anchor(proofs[0])
        assert revoked.status is S.REVOKED
        assert (revoked.revoked_block or 0) > (revoked.block_number or 0)

    tell(Anchorage(tmp_path, ledger=open_ledger(tmp_path, MovableClock(), None)), story)


def test_batches_are_full_or_old(tmp_path: Path) -> None:
    async def story(rooms: Anchorage) -> None:
        await rooms.queue(30)
        assert 0 < await rooms.worker.round() <= 0.2
        assert rooms.ledger.submissions == []
        await rooms.queue(250)
        await rooms.worker.round()
        assert len(rooms.ledger.submissions) == 2
        rooms.clock.move(seconds=11)
        await rooms.worker.round()
        assert len(rooms.ledger.submissions) == 3

    policy = replace(AT_ONCE, seal_after=timedelta(seconds=10))
    tell(Anchorage(tmp_path, policy=policy), story)


def test_a_clock_that_goes_back_an_hour_holds_nothing_up(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        rooms.policy = replace(rooms.policy, seal_after=timedelta(seconds=10))
        dead = rooms.rival()
        assert await dead.outbox.hold(rooms.clock.now())
        [proof] = await rooms.queue()
        rooms.clock.time -= timedelta(hours=1)
        worker = rooms.new_worker()
        await worker.round()
        rooms.ledger.mine(2)
        await worker.round()
        assert await rooms.statuses([proof]) == {"confirmed"}

    tell(anchorage, story)


def test_one_worker_at_a_time(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        first, second = rooms.worker, rooms.rival()
        [proof] = await rooms.queue()
        assert await first.outbox.hold(rooms.clock.now())
        assert await second.round() == 0.2
        assert rooms.ledger.submissions == []
        rooms.clock.move(seconds=20)
        await second.round()
        assert len(rooms.ledger.submissions) == 1
        # The first one wakes up and believes that it still has the lease.
        [batch] = await first.outbox.undecided("scripted")
        with pytest.raises(LeaseLost):
            await first.outbox.advance(batch, replace(batch, reason="x"), rooms.clock.now())
        with pytest.raises(LeaseLost):
            await first.seal.outbox.seal(_anything(), rooms.clock.now())
        assert await rooms.statuses([proof]) == {"pending"}

    tell(anchorage, story)


def _anything() -> Sealing:
    return Sealing("scripted", bytes(32), 1, {"x": "{}"}, None)


def test_a_backlog_drains_once(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        rooms.ledger.is_down = True
        proofs = await rooms.queue(1_050)
        rivals = [rooms.worker, rooms.rival()]
        for _ in range(3):
            for worker in rivals:
                await worker.round()
        rooms.ledger.is_down = False
        for _ in range(3):
            for worker in rivals:
                await worker.round()
            rooms.ledger.mine(1)
        assert await rooms.statuses(proofs) == {"confirmed"}
        roots = rooms.ledger.submissions
        assert len(roots) == len(set(roots)) == 11

    tell(anchorage, story)


def test_anchor_of_another_ledger_is_left_alone(tmp_path: Path) -> None:
    async def story(rooms: Anchorage) -> None:
        [proof] = await rooms.queue()
        await rooms.worker.round()
        rooms.ledger = MemoryLedger(MovableClock())
        other = rooms.new_worker()
        assert await other.round() == 1.0
        assert await rooms.statuses([proof]) == {"pending"}

    tell(Anchorage(tmp_path), story)


def test_the_scripted_chain_is_down_when_it_says_so() -> None:
    async def story() -> None:
        chain = ScriptedChain()
        chain.is_down = True
        with pytest.raises(LedgerUnavailable):
            await chain.submit_anchor(bytes(32), 1)

    asyncio.run(story())


def test_silent_ledger_is_not_queried_for_each_batch(tmp_path: Path) -> None:
    async def story(rooms: Anchorage) -> None:
        asked = 0

        async def hang(root: bytes, size: int) -> AnchorTransaction:
            nonlocal asked
            asked += 1
            raise LedgerUnavailable

        rooms.ledger.submit_anchor = hang
        for _ in range(10):
            await rooms.queue()
            await rooms.worker.seal.outbox.hold(rooms.clock.now())
            await rooms.worker.seal()
        await rooms.worker.round()
        assert asked == 3

    tell(Anchorage(tmp_path), story)

"""Anchors that were final and are final no more: batches and revocations whose blocks a ledger undid after it had
called them confirmed."""

from __future__ import annotations

import json

import pytest
from identity_anchoring import follow
from identity_anchoring.batches import LeaseLost
from identity_records.audit import audit_of
from identity_verification.domain.received import proof_commitment
from identity_verification.store import StoredProofs

from identity_codec.values import replace
from identity_core.domain.proofs.stored import Anchor, AnchorStatus, StoredProof
from identity_core.errors import LedgerUnavailable
from identity_core.ports.ledger import AnchorTransaction
from identity_tlog.anchored import AnchorPath
from tests.anchoring import AT_ONCE, Anchorage, tell
from tests.events import audit_rows

S = AnchorStatus
ALONE = replace(AT_ONCE, batch_size=1)
"""Every proof is a batch of its own."""
SHORT = 5
"""A page that three can be told of in a moment; what they prove does not depend on how long a page is."""


@pytest.fixture
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "PAGE", SHORT)


async def anchored(rooms: Anchorage, count: int) -> list[StoredProof]:
    proofs = await rooms.queue(count)
    await rooms.worker.round()
    rooms.ledger.mine(2)
    await rooms.worker.round()
    assert await rooms.statuses(proofs) == {"confirmed"}
    return proofs


async def taken_back(rooms: Anchorage, *proofs: StoredProof) -> None:
    for proof in proofs:
        await rooms.take_back(proof)
    await rooms.worker.round()
    rooms.ledger.mine(2)
    await rooms.worker.round()
    assert await rooms.statuses(proofs) == {"revoked"}


async def one_by_one(rooms: Anchorage) -> list[StoredProof]:
    """Three pages of batches, each with a block of its own."""
    return [(await anchored(rooms, 1))[0] for _ in range(3 * follow.PAGE)]


async def anchored_root(rooms: Anchorage, proof: StoredProof) -> bytes:
    """The root of the batch that a proof is in."""
    stored = await StoredProofs.from_store(rooms.store).get(proof.id)
    assert stored is not None
    return AnchorPath.parse(json.loads(stored.anchor_details or b"null")).root


async def rechecked(rooms: Anchorage) -> None:
    """The next round asks again about what is final."""
    rooms.clock.move(seconds=6)
    await rooms.worker.round()


@pytest.mark.parametrize("drop", [False, True], ids=["waits again", "is forgotten"])
def test_revocation_that_vanishes_is_told_again_when_it_is_back(
    anchorage: Anchorage, caplog: pytest.LogCaptureFixture, *, drop: bool
) -> None:
    async def story(rooms: Anchorage) -> None:
        gone, kept = await anchored(rooms, 2)
        before = await rooms.anchor(gone)
        await taken_back(rooms, gone)
        assert await rooms.anchor(gone) == replace(before, status=S.REVOKED, revoked_block=3)
        rooms.ledger.reorg(2, drop=drop)
        await rechecked(rooms)
        assert await rooms.anchor(gone) == before
        stored = await StoredProofs.from_store(rooms.store).get(gone.id)
        assert stored is not None
        assert stored.revocation is not None, "the proof is revoked whatever the ledger does"
        [alarm] = [record.message for record in caplog.records if "ALARM" in record.message]
        assert "block 3" in alarm
        assert gone.id in alarm
        # Empty blocks first, so that the number alone shows that it is read anew.
        rooms.ledger.trouble = "blocks of another chain"
        rooms.ledger.mine(4)
        rooms.ledger.trouble = ""
        rooms.ledger.mine(2)
        await rooms.worker.round()
        assert await rooms.anchor(gone) == replace(before, status=S.REVOKED, revoked_block=7)
        assert await rooms.anchor(kept) == before
        assert await rooms.kinds() == ["anchor.confirmed"] * 2 + ["anchor.reopened"] + ["anchor.revoked"] * 2
        lines = [
            row
            for _, row in await audit_rows(audit_of(rooms.store), after=0, limit=9)
            if row.operation == "revokeAnchor"
        ]
        assert [(line.details["revokedBlock"], line.details.get("undoneBlock")) for line in lines] == [
            (3, None),
            (None, 3),
            (7, None),
        ]
        assert await rooms.worker.round() == 1.0

    tell(anchorage, story)


def test_anchor_and_revocation_vanish_together(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        gone, kept = await anchored(rooms, 2)
        before = await rooms.anchor(gone)
        await taken_back(rooms, gone)
        rooms.ledger.reorg(4)
        await rechecked(rooms)
        pending = await rooms.anchor(gone)
        assert (pending.status, pending.block_number, pending.revoked_block) == (S.PENDING, None, None)
        assert await rooms.anchor(kept) == pending
        assert pending.tx_hash != before.tx_hash
        rooms.ledger.mine(9)
        await rooms.worker.round()
        receipt = await rooms.anchor(kept)
        assert receipt == Anchor(S.CONFIRMED, pending.tx_hash, 1, None)
        assert await rooms.anchor(gone) == replace(receipt, status=S.REVOKED, revoked_block=1)

    tell(anchorage, story)


def test_a_revoked_receipt_names_no_transaction_that_vanished(anchorage: Anchorage) -> None:
    """The anchor is undone and the revocation is not: the transaction and the block are those of the batch, as it stands."""

    async def story(rooms: Anchorage) -> None:
        gone, kept = await anchored(rooms, 2)
        await taken_back(rooms, gone)
        anchor = rooms.ledger.sent["anchor", rooms.ledger.submissions[0]]
        vanished, anchor.block, anchor.attempt = anchor.hash, None, 2
        await rechecked(rooms)
        assert await rooms.anchor(kept) == Anchor(S.PENDING, anchor.hash, None, None)
        assert await rooms.anchor(gone) == Anchor(S.REVOKED, anchor.hash, None, 3)
        assert anchor.hash != vanished
        rooms.ledger.mine(2)
        await rooms.worker.round()
        assert await rooms.anchor(gone) == Anchor(S.REVOKED, anchor.hash, 5, 3)

    tell(anchorage, story)


def test_moved_transaction_has_its_new_block(anchorage: Anchorage, caplog: pytest.LogCaptureFixture) -> None:
    """Undone and mined again before anybody asked: nothing is pending, and no receipt keeps the old block."""

    async def story(rooms: Anchorage) -> None:
        gone, kept = await anchored(rooms, 2)
        await taken_back(rooms, gone)
        rooms.ledger.reorg(4)
        rooms.ledger.trouble = "blocks of another chain"
        rooms.ledger.mine(5)
        rooms.ledger.trouble = ""
        rooms.ledger.mine(2)
        await rechecked(rooms)
        sent = rooms.ledger.sent["anchor", rooms.ledger.submissions[0]]
        assert await rooms.anchor(kept) == Anchor(S.CONFIRMED, sent.hash, 6, None)
        assert await rooms.anchor(gone) == Anchor(S.REVOKED, sent.hash, 6, 6)
        assert await rooms.kinds() == ["anchor.confirmed"] * 2 + ["anchor.revoked"]
        assert len([record for record in caplog.records if "ALARM" in record.message]) == 2

    tell(anchorage, story)


@pytest.mark.parametrize("together", [False, True], ids=["a block for each", "one block"])
@pytest.mark.parametrize("place", [0, 3, SHORT + 1, 3 * SHORT - 1])
@pytest.mark.usefixtures("short_pages")
def test_nothing_hides_beneath_what_stands(anchorage: Anchorage, place: int, *, together: bool) -> None:
    """One of many vanishes and the newer ones do not: it is found within one turn through all of them."""

    async def story(rooms: Anchorage) -> None:
        rooms.policy = ALONE
        rooms.worker = rooms.new_worker()
        proofs = await (anchored(rooms, 3 * SHORT) if together else one_by_one(rooms))
        await taken_back(rooms, *proofs)
        lost = await anchored_root(rooms, proofs[place])
        rooms.ledger.sent["anchor", lost].block = None
        leaf = proof_commitment(proofs[place].proof, proofs[place].salt)
        rooms.ledger.sent["revocation", leaf].block = None
        for _ in range(3):
            await rechecked(rooms)
        assert (await rooms.anchor(proofs[place])).status is S.PENDING
        rest = [proof for proof in proofs if proof is not proofs[place]]
        assert await rooms.statuses(rest) == {"revoked"}
        rooms.ledger.mine(2)
        await rooms.worker.round()
        told = await rooms.anchor(proofs[place])
        assert (told.status, told.block_number) == (S.REVOKED, told.revoked_block)
        assert told.block_number == rooms.ledger.height - 1

    tell(anchorage, story)


@pytest.mark.parametrize("turns", [0, 1, 2])
@pytest.mark.usefixtures("short_pages")
def test_a_deep_reorganisation_is_found_whole_at_once(anchorage: Anchorage, turns: int) -> None:
    """Wherever the turn through the older ones is at that time."""

    async def story(rooms: Anchorage) -> None:
        rooms.policy = ALONE
        rooms.worker = rooms.new_worker()
        proofs = await one_by_one(rooms)
        for _ in range(turns):
            await rechecked(rooms)
        rooms.ledger.reorg(rooms.ledger.height)
        await rechecked(rooms)
        assert await rooms.statuses(proofs) == {"pending"}

    tell(anchorage, story)


def test_deep_reorganisation_is_found_despite_silent_ledger(anchorage: Anchorage) -> None:
    """By the next time the newest stand again, in new blocks; those beneath are not forgotten."""

    async def story(rooms: Anchorage) -> None:
        rooms.policy = ALONE
        rooms.worker = rooms.new_worker()
        proofs = await one_by_one(rooms)
        chain, answers = rooms.ledger, follow.PAGE + 2
        top = chain.height
        chain.reorg(top)
        told = chain.anchor_status

        async def silent_after_some(root: bytes) -> AnchorTransaction | None:
            nonlocal answers
            answers -= 1
            if answers < 0:
                raise LedgerUnavailable
            found: AnchorTransaction | None = await told(root)
            return found

        chain.anchor_status = silent_after_some
        await rechecked(rooms)
        states = [(await rooms.anchor(proof)).status for proof in proofs]
        assert states == [S.CONFIRMED] * (2 * follow.PAGE - 2) + [S.PENDING] * (follow.PAGE + 2)
        chain.anchor_status = told
        chain.trouble = "blocks of another chain"
        chain.mine(top)
        chain.trouble = ""
        chain.mine(2)
        await rooms.worker.round()
        assert await rooms.statuses(proofs) == {"confirmed"}
        await rechecked(rooms)
        assert {(await rooms.anchor(proof)).block_number for proof in proofs} == {top + 1}

    tell(anchorage, story)


def test_nothing_is_revoked_of_a_batch_that_failed(anchorage: Anchorage) -> None:
    """Everything is undone and the anchor is then refused for good: nothing of it is on the ledger, and no work is left."""

    async def story(rooms: Anchorage) -> None:
        [gone] = await anchored(rooms, 1)
        await taken_back(rooms, gone)
        anchor = rooms.ledger.sent["anchor", rooms.ledger.submissions[0]]
        anchor.block = None
        for _ in range(rooms.policy.most_attempts + 1):
            rooms.ledger.fail("reverted")
            await rechecked(rooms)
        assert await rooms.anchor(gone) == Anchor(S.REVOKED, anchor.hash, None, 3)
        for sent in rooms.ledger.sent.values():
            sent.block = None
        await rechecked(rooms)
        assert await rooms.anchor(gone) == Anchor(S.FAILED, anchor.hash, None, None)
        states = await rooms.store.database.read(
            lambda reading: reading.execute("SELECT state FROM anchor_leaves").fetchall()
        )
        assert [tuple(row) for row in states] == [("batched",)]
        assert await rooms.worker.round() == 1.0

    tell(anchorage, story)


def test_a_ledger_that_cannot_be_asked_is_no_news(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        gone, _ = await anchored(rooms, 2)
        await taken_back(rooms, gone)
        before = await rooms.anchor(gone)
        rooms.ledger.reorg(2)
        rooms.ledger.is_down = True
        await rechecked(rooms)
        assert await rooms.anchor(gone) == before
        rooms.ledger.is_down = False
        await rechecked(rooms)
        assert (await rooms.anchor(gone)).status is S.CONFIRMED

    tell(anchorage, story)


def test_only_who_holds_the_lease_takes_back(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        gone, kept = await anchored(rooms, 2)
        await taken_back(rooms, gone)
        before = [await rooms.anchor(proof) for proof in (gone, kept)]
        rival = rooms.rival()
        rooms.ledger.reorg(4)
        rooms.clock.move(seconds=6)
        assert await rival.outbox.hold(rooms.clock.now())
        with pytest.raises(LeaseLost):
            await rooms.worker.round()
        assert [await rooms.anchor(proof) for proof in (gone, kept)] == before
        [revoked] = await rooms.outbox.revoked_leaves("scripted", None, 9)
        for block in (None, 8):
            with pytest.raises(LeaseLost):
                await rooms.outbox.revocation_undone(revoked, block, rooms.clock.now())
        await rival.outbox.release()
        await rechecked(rooms)
        assert await rooms.statuses([gone, kept]) == {"pending"}
        # Who read it before that changes nothing any more.
        assert await rooms.outbox.hold(rooms.clock.now())
        for block in (None, 8):
            with pytest.raises(LeaseLost):
                await rooms.outbox.revocation_undone(revoked, block, rooms.clock.now())

    tell(anchorage, story)


def test_the_lease_is_free_when_there_is_no_more_to_do(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        await anchored(rooms, 1)
        rooms.ledger.reorg(2)
        rooms.ledger.mine(3)
        await rechecked(rooms)
        assert await rooms.rival().outbox.hold(rooms.clock.now())

    tell(anchorage, story)


def test_unsubmitted_transaction_is_not_queried(anchorage: Anchorage) -> None:
    async def story(rooms: Anchorage) -> None:
        withdrawn, _ = await rooms.queue(2)
        await rooms.take_back(withdrawn)
        await rooms.worker.round()
        rooms.ledger.mine(2)
        await rooms.worker.round()
        assert await rooms.outbox.revoked_leaves("scripted", None, 9) == []
        rooms.ledger.reorg(2, drop=True)
        await rechecked(rooms)
        assert await rooms.anchor(withdrawn) == Anchor(S.REVOKED, None, None, None)

    tell(anchorage, story)

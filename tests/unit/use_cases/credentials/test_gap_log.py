"""Published lists in the transparency log: recorded once by all processes, proven to strangers, never two lists of one edition."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from identity_bound_credentials.domain import gap_shards, status_gaps
from identity_bound_credentials.domain.gap_log import record_of, verify_recorded
from identity_bound_credentials.domain.gap_shards import Manifest
from identity_bound_credentials.domain.status_gaps import StatusEpoch
from identity_bound_credentials.ports import GapList
from identity_bound_credentials.store.status_gaps import StoredStatusGaps
from identity_bound_credentials.use_cases.gap_log import GetStatusGapsProof, RecordGaps
from identity_bound_credentials.use_cases.status_gaps import PublishStatusGaps
from identity_transparency.domain import gap_record
from identity_transparency.domain.gap_record import GapRecord
from identity_transparency.use_cases.read import LedgerReads

from identity_client.status_list import StatusListRefused
from identity_codec.multibase import base64url_encode
from identity_codec.values import replace
from identity_core.errors import LedgerUnavailable, StatusListNotFound
from identity_core.use_cases.transparency import LogPlaces
from identity_tlog.policy import WitnessPolicy
from tests.did_use_cases import Rooms
from tests.transparency import LoggedLedger, LogKey

LIST = GapList("A" * 22, "did:example:ivo", "did:example:ivo#status", 86_400)
ANY = WitnessPolicy.of_logs_alone()


class Signer:
    """A custodian whose signatures have the right length and are otherwise not checked here."""

    async def sign_bbs(self, name: str, header: bytes, messages: object) -> bytes:
        return hashlib.sha512(header).digest() + bytes(16)


class Room:
    """The job over a real ledger, its log, and the proofs that strangers are given."""

    def __init__(self, folder: Path) -> None:
        self.logged = LoggedLedger(folder)
        self.gaps, self.ledger = StoredStatusGaps(self.logged.store.database), self.logged.ledger
        self.record = RecordGaps(self.gaps, self.ledger)
        self.job = self.process()
        self.proof = GetStatusGapsProof(self.gaps, LogPlaces(prove=LedgerReads(self.logged, lambda: None, True).prove))
        self.epoch = status_gaps.epoch_at(self.logged.clock.now(), LIST.period)

    def process(self) -> PublishStatusGaps:
        return PublishStatusGaps(self.gaps, Signer(), self.logged.clock, None, self.record)  # type: ignore[arg-type]

    async def begin(self) -> None:
        await self.gaps.take(LIST, "urn:uuid:1", 1_000, 60_000)

    async def revoke(self) -> None:
        """As ``Credentials.set_status`` does to the list."""
        sql = "UPDATE gap_handles SET listed = 1 - listed", "UPDATE gap_lists SET version = version + 1"
        for statement in sql:
            await self.logged.store.database.write(lambda transaction, one=statement: transaction.execute(one).rowcount)

    async def manifest(self) -> Manifest:
        published = await self.gaps.published(LIST.id, self.epoch)
        assert published is not None
        return Manifest.from_octets(published.manifest)

    async def records(self) -> list[GapRecord]:
        return [GapRecord.parse(line.entry) for line in await self.ledger.entries(gap_record.subject(LIST.id))]

    async def proven(self, manifest: Manifest) -> bytes:
        return await self.proof(LIST.id, base64url_encode(manifest.digest))


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    asyncio.run(made.logged.close())


def test_every_edition_is_an_entry_and_proven_to_strangers(room: Room) -> None:
    async def story() -> None:
        await room.begin()
        await room.logged.append(5)
        await room.job.step()
        first = await room.manifest()
        await room.revoke()
        await room.job.step()
        await room.job.step()
        second = await room.manifest()
        assert await room.records() == [record_of(first), record_of(second)]
        for manifest in (first, second):
            proven = verify_recorded(manifest, await room.proven(manifest), ANY, logs=[room.logged.key.verifier])
            assert proven.leaf.entry == record_of(manifest).encoded

    asyncio.run(story())


def test_list_is_published_while_ledger_is_down(room: Room) -> None:
    class Down:
        def __getattr__(self, name: str) -> Any:
            raise LedgerUnavailable

    async def story() -> None:
        room.job.record = RecordGaps(room.gaps, Down())  # type: ignore[arg-type]
        await room.begin()
        await room.job.begin_list(LIST)
        manifest = await room.manifest()
        await room.job.guarded()
        assert room.job.fault, "the unrecorded list is not reported"
        with pytest.raises(StatusListNotFound):
            await room.proven(manifest)
        room.job.record = room.record
        await room.job.guarded()
        assert room.job.fault == ""
        verify_recorded(manifest, await room.proven(manifest), ANY, logs=[room.logged.key.verifier])

    asyncio.run(story())


def test_processes_and_lost_rows_make_no_second_entry(room: Room) -> None:
    async def story() -> None:
        await room.begin()
        await asyncio.gather(*(job.step() for job in (room.job, room.process(), room.process())))
        await room.job.step()
        assert len(await room.records()) == 1
        await room.logged.store.database.write(
            lambda transaction: transaction.execute("DELETE FROM gap_records").rowcount
        )
        await room.job.step()
        assert len(await room.records()) == 1
        await room.proven(await room.manifest())

    asyncio.run(story())


def test_restored_store_records_no_second_list(room: Room) -> None:
    async def story() -> None:
        await room.begin()
        # What was recorded after the copy was made, of which the store knows nothing.
        other = replace(GapRecord(LIST.issuer, LIST.id, LIST.period, room.epoch, 3, bytes(32)))
        await room.ledger.append(gap_record.subject(LIST.id), other.encoded, expected_version=0)
        await room.job.step()
        await room.job.step()
        assert [record.edition for record in await room.records()] == [3, 4]
        assert (await room.manifest()).edition == 4
        await room.proven(await room.manifest())

    asyncio.run(story())


def test_records_are_forgotten_with_their_epochs(room: Room) -> None:
    async def story() -> None:
        await room.begin()
        await room.job.step()
        old = await room.manifest()
        room.logged.clock.move(days=4)
        await room.job.step()
        with pytest.raises(StatusListNotFound):
            await room.proven(old)

    asyncio.run(story())


@pytest.mark.parametrize("digest", ["", "AAAA", "A" * 43, "not base64url!"])
def test_unrecorded_gap_is_not_found(room: Room, digest: str) -> None:
    with pytest.raises(StatusListNotFound):
        asyncio.run(room.proof(LIST.id, digest))


# What a holder takes for a proof


def lists(*handles: int) -> Manifest:
    epoch = StatusEpoch(LIST.issuer, LIST.method, LIST.id, 20_780, LIST.period)
    ends = status_gaps.chain(handles)
    return gap_shards.publish(epoch, 1, ends, [bytes(80)] * (len(ends) - 1))[0]


def test_a_proof_is_for_one_list_in_one_log(room: Room) -> None:
    async def story() -> tuple[Manifest, bytes]:
        await room.begin()
        await room.job.step()
        manifest = await room.manifest()
        return manifest, await room.proven(manifest)

    manifest, proof = asyncio.run(story())
    logs = [room.logged.key.verifier]
    verify_recorded(manifest, proof, ANY, logs=logs)
    refused: list[tuple[str, Manifest, bytes, list[Any]]] = [
        ("another list of the edition", lists(7), proof, logs),
        ("another edition", replace(manifest, edition=2), proof, logs),
        ("a log that signs with another key", manifest, proof, [LogKey().verifier]),
        ("no log at all", manifest, proof, []),
        ("another hash", manifest, proof.replace(b"index 0", b"index 1"), logs),
        ("nothing", manifest, b"", logs),
        ("a page", manifest, b"<html>captive portal</html>", logs),
    ]
    for _, shown, data, known in refused:
        with pytest.raises(StatusListRefused):
            verify_recorded(shown, data, ANY, logs=known)


def test_a_record_has_one_form() -> None:
    record = record_of(lists(7))
    assert GapRecord.parse(record.encoded) == record
    data = record.encoded
    for other in (
        b"",
        b"{}",
        b"[]",
        data + b" ",
        data.replace(b'"edition":1', b'"edition":true'),
        data.replace(b'"edition":1', b'"edition":1.0'),
        data.replace(b'"edition":1', b'"edition":"1"'),
        data.replace(b"record-1", b"record-2"),
        data.replace(b'{"digest"', b'{"aside":1,"digest"'),
        data.replace(b'{"digest"', b'{"digest":"AAAA","digest"'),
        b" " * 3_000,
    ):
        with pytest.raises(StatusListRefused):
            GapRecord.parse(other)


def test_a_start_passes_over_the_entries_of_lists(tmp_path: Path) -> None:
    """However many there are of one list, and whatever stands between them and after them."""

    async def story() -> None:
        rooms = Rooms(tmp_path)
        subject = gap_record.subject(LIST.id)
        for version in range(3):
            await rooms.new_did()
            await rooms.ledger.append(subject, b"{}", expected_version=version)
            # The next part begins with a later version of the list, whose first version is unknown.
            await rooms.catch_up()
        await rooms.new_did()
        # As after a crash that took the rows of the index.
        await rooms.store.database.write(lambda transaction: transaction.execute("DELETE FROM did_versions").rowcount)
        for _ in range(2):
            await rooms.catch_up()
            assert await rooms.store.documents.cursor() == 7
        assert await rooms.store.quarantine.count() == 0
        await rooms.close()

    asyncio.run(story())

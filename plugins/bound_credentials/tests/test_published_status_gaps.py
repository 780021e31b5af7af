"""The job that publishes signed gaps: on a real store, with a clock that tests move and a key that can be taken away."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from identity_bound_credentials.domain import status_gaps
from identity_bound_credentials.domain.gap_shards import Manifest
from identity_bound_credentials.domain.status_gaps import HandleListed
from identity_bound_credentials.ports import GapList
from identity_bound_credentials.store.status_gaps import StoredStatusGaps
from identity_bound_credentials.use_cases.status_gaps import EPOCHS_KEPT, PublishStatusGaps, StatusListUnpublished

from identity_bbs import interface
from identity_bbs.bls12381 import keys, select
from identity_bbs.suite import ciphersuite
from identity_core.domain.credentials.credential import Credential, CredentialStatus
from identity_core.ports.credentials import RegisteredSchema
from identity_core.ports.custodian import KeyNotHeld
from identity_core.store import Store
from tests.credentials import ISSUER, NOW, a_credential, a_schema

SECRET = bytes(31) + b"\x07"
PUBLIC = keys.public_key(SECRET)
REVOKED, SUSPENDED, ACTIVE = CredentialStatus.REVOKED, CredentialStatus.SUSPENDED, CredentialStatus.ACTIVE
DAY = timedelta(days=1)
LIST = GapList("A" * 22, str(ISSUER), f"{ISSUER}#status", 86_400)
HOURLY = GapList("B" * 22, str(ISSUER), f"{ISSUER}#hourly", 3_600)


class Clock:
    """A clock that a test sets."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()


class Signer:
    """The part of a custodian that the job uses. ``gone`` are keys that it does not hold."""

    def __init__(self) -> None:
        self.signed: list[tuple[str, bytes, tuple[int, ...]]] = []
        self.gone: set[str] = set()

    async def sign_bbs(self, name: str, header: bytes, messages: Sequence[bytes | int]) -> bytes:
        if name in self.gone:
            raise KeyNotHeld
        self.signed.append((name, header, tuple(int(one) for one in messages)))
        return interface.sign(ciphersuite(select()), SECRET, PUBLIC, header, messages)


class Room:
    """The job, its store, and what a holder does."""

    def __init__(self, folder: Path) -> None:
        self.store = Store.open(folder)
        # The eleventh hour of the day, so that no epoch is near.
        self.clock = Clock(NOW.replace(hour=11, minute=30, second=0, microsecond=0))
        self.signer = Signer()
        self.job = PublishStatusGaps(StoredStatusGaps(self.store.database), self.signer, self.clock)  # type: ignore[arg-type]
        self.day = (self.clock.at - datetime(1970, 1, 1, tzinfo=NOW.tzinfo)).days
        asyncio.run(self.store.credential_schemas.add(RegisteredSchema(a_schema(), NOW, str(ISSUER))))

    def step(self) -> float:
        return asyncio.run(self.job.step())

    def credential(self, gap_list: GapList = LIST, last_day: int = 60_000) -> tuple[Credential, int]:
        made = asyncio.run(
            self.store.credentials.add(a_credential(id=f"urn:uuid:{uuid.uuid4()}"), b"", random=os.urandom)
        )
        assert made is not None
        return made, asyncio.run(
            StoredStatusGaps(self.store.database).give(gap_list, made.id, last_day, random=os.urandom)
        )

    def write(self, statement: str, **parameters: object) -> None:
        """As one who has the database writes."""

        async def write() -> None:
            await self.store.database.write(lambda transaction: transaction.execute(statement, parameters).rowcount)

        asyncio.run(write())

    def set(self, one: Credential, status: CredentialStatus) -> Credential:
        changed = asyncio.run(self.store.credentials.set_status(one, status, None, self.clock.at))
        assert changed is not None
        return changed

    def manifest(self, epoch: int, gap_list: GapList = LIST) -> Manifest | None:
        found = asyncio.run(StoredStatusGaps(self.store.database).published(gap_list.id, epoch))
        return None if found is None else Manifest.from_octets(found.manifest)

    def is_listed(self, handle: int, epoch: int) -> bool:
        """Return whether a holder finds the handle, with all signatures checked."""
        manifest = self.manifest(epoch)
        assert manifest is not None
        number = manifest.shard_of(handle)
        data = asyncio.run(StoredStatusGaps(self.store.database).shard(LIST.id, manifest.digests[number]))
        assert data is not None
        try:
            manifest.find(handle, number, data).check(PUBLIC, handle)
        except HandleListed:
            return True
        return False


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    asyncio.run(made.store.close())


def test_missing_list_is_not_signed(room: Room) -> None:
    assert room.step() == room.job.interval_seconds
    assert room.signer.signed == []


def test_a_list_is_published_once_and_again_when_it_has_changed(room: Room) -> None:
    (one, handle), (_, other) = room.credential(), room.credential()
    room.step()
    assert not room.is_listed(handle, room.day)
    room.step()
    assert len(room.signer.signed) == 1, "one gap, and nothing to do at the second step"
    one = room.set(one, SUSPENDED)
    room.step()
    assert room.is_listed(handle, room.day)
    assert not room.is_listed(other, room.day)
    manifest = room.manifest(room.day)
    assert manifest is not None
    assert manifest.edition == 2
    room.set(one, ACTIVE)
    room.step()
    assert not room.is_listed(handle, room.day)


def test_an_edition_signs_only_the_gaps_that_are_new(room: Room) -> None:
    credentials = [room.credential() for _ in range(20)]
    for one, _ in credentials[:19]:
        room.set(one, REVOKED)
    room.step()
    assert len(room.signer.signed) == 20
    room.set(credentials[19][0], REVOKED)
    room.step()
    assert len(room.signer.signed) == 22, "a gap was split in two"
    assert all(room.is_listed(handle, room.day) for _, handle in credentials)


def test_the_next_epoch_is_there_before_it_begins(room: Room) -> None:
    _, handle = room.credential()
    room.step()
    assert room.manifest(room.day + 1) is None
    room.clock.at = room.clock.at.replace(hour=23, minute=0)
    room.step()
    assert not room.is_listed(handle, room.day + 1)
    # What is revoked between is in the edition of both.
    one, late = room.credential()
    room.set(one, REVOKED)
    room.step()
    assert room.is_listed(late, room.day)
    assert room.is_listed(late, room.day + 1)


def test_an_hourly_list_is_made_ten_minutes_before(room: Room) -> None:
    room.credential(HOURLY)
    hour = room.day * 24 + 11
    room.clock.at = room.clock.at.replace(minute=49)
    room.step()
    assert room.manifest(hour, HOURLY) is not None
    assert room.manifest(hour + 1, HOURLY) is None
    room.clock.at = room.clock.at.replace(minute=50)
    room.step()
    assert room.manifest(hour + 1, HOURLY) is not None


def test_expired_credentials_leave_the_list_after_two_days(room: Room) -> None:
    one, handle = room.credential(last_day=room.day)
    room.set(one, REVOKED)
    room.step()
    assert room.is_listed(handle, room.day)
    for days, there in ((1, True), (2, True), (3, False)):
        room.clock.at += DAY
        room.step()
        assert room.is_listed(handle, room.day + days) == there


def test_three_epochs_are_kept(room: Room) -> None:
    room.credential()
    for _ in range(5):
        room.step()
        room.clock.at += DAY
    kept = [number for number in range(5) if room.manifest(room.day + number) is not None]
    assert kept == [*range(5)][-EPOCHS_KEPT:]


def test_a_list_whose_key_is_gone_holds_up_no_other(room: Room) -> None:
    room.credential(LIST)
    room.credential(HOURLY)
    room.signer.gone = {LIST.method}
    with pytest.raises(KeyNotHeld):
        room.step()
    assert room.manifest(room.day) is None
    assert room.manifest(room.day * 24 + 11, HOURLY) is not None
    room.signer.gone.clear()
    room.step()
    assert room.manifest(room.day) is not None


def test_a_list_that_somebody_else_wrote_holds_up_no_other(room: Room) -> None:
    one, _ = room.credential(LIST)
    room.credential(HOURLY)
    room.step()
    for statement in (
        "UPDATE gap_editions SET manifest = :data WHERE list_id = :list",
        "UPDATE gap_lists SET method = 'did:example:mallory#k' WHERE id = :list",
    ):
        room.set(one, SUSPENDED if "editions" in statement else ACTIVE)
        room.write(statement, data=b"{}", list=LIST.id)
        room.clock.at += timedelta(hours=1)
        with pytest.raises(StatusListUnpublished) as told:
            room.step()
        assert told.value.details["list"] == LIST.id
        assert room.manifest(room.day * 24 + room.clock.at.hour, HOURLY) is not None
        one = asyncio.run(room.store.credentials.get(one.id)) or one


def test_a_list_that_is_too_long_is_told(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        room.set(room.credential()[0], REVOKED)
    monkeypatch.setattr(status_gaps, "MAX_GAPS", 3)
    asyncio.run(room.job.guarded())
    assert "cannot be made" in room.job.fault


@pytest.mark.parametrize("statement", ["UPDATE gap_shards SET octets = :data", "DELETE FROM gap_shards"])
def test_a_shard_that_is_not_as_it_was_published_is_signed_anew(room: Room, statement: str) -> None:
    for _ in range(3):
        room.set(room.credential()[0], REVOKED)
    one, handle = room.credential()
    room.step()
    room.write(statement, data=b"rubbish")
    room.set(one, REVOKED)
    room.step()
    assert len(room.signer.signed) == 4 + 5
    assert room.is_listed(handle, room.day)


def test_a_refusal_is_told_and_tried_again(room: Room) -> None:
    room.credential()
    room.signer.gone = {LIST.method}
    assert asyncio.run(room.job.guarded()) == room.job.interval_seconds
    assert "holds no such key" in room.job.fault
    room.signer.gone.clear()
    asyncio.run(room.job.guarded())
    assert room.job.fault == ""


def test_two_processes_publish_one_edition(room: Room) -> None:
    for _ in range(3):
        room.set(room.credential()[0], REVOKED)
    others = [PublishStatusGaps(StoredStatusGaps(room.store.database), room.signer, room.clock) for _ in range(3)]  # type: ignore[arg-type]

    async def at_once() -> None:
        await asyncio.gather(*(job.step() for job in (room.job, *others)))

    asyncio.run(at_once())
    manifest = room.manifest(room.day)
    assert manifest is not None
    assert (manifest.edition, manifest.gaps) == (1, 4)


def test_others_have_their_turn_while_a_long_list_is_signed(room: Room) -> None:
    for _ in range(40):
        room.set(room.credential()[0], REVOKED)
    seen: list[int] = []

    async def watched() -> None:
        async def look() -> None:
            while True:
                seen.append(len(room.signer.signed))
                await asyncio.sleep(0)

        looking = asyncio.create_task(look())
        await room.job.step()
        looking.cancel()

    asyncio.run(watched())
    assert len(room.signer.signed) == 41
    assert max(after - before for before, after in pairwise(seen)) <= 8


def test_another_key_of_the_list_signs_every_gap_anew(room: Room) -> None:
    one, _ = room.credential()
    room.set(one, REVOKED)
    room.step()
    epochs = {signed[1] for signed in room.signer.signed}
    rotated = GapList(LIST.id, LIST.issuer, f"{ISSUER}#next", LIST.period)
    asyncio.run(StoredStatusGaps(room.store.database).give(rotated, "urn:uuid:2", 60_000, random=os.urandom))
    room.signer.signed.clear()
    room.step()
    assert {name for name, _, _ in room.signer.signed} == {rotated.method}
    assert len({header for _, header, _ in room.signer.signed}) == len(epochs)
    manifest = room.manifest(status_gaps.epoch_at(room.clock.at, LIST.period))
    assert manifest is not None
    assert (manifest.epoch.method, manifest.edition, manifest.gaps) == (rotated.method, 2, 2)


def test_a_list_follows_the_key_that_its_issuer_has_now(room: Room) -> None:
    """Without another credential, and once."""
    room.credential()
    room.step()
    methods = [LIST.method]

    async def key_of(gap_list: GapList) -> str:
        return methods[-1]

    room.job.key_of = key_of
    room.signer.signed.clear()
    room.step()
    assert room.signer.signed == []
    methods.append(f"{ISSUER}#next")
    room.signer.gone.add(LIST.method)
    room.step()
    assert {name for name, _, _ in room.signer.signed} == {methods[-1]}
    manifest = room.manifest(status_gaps.epoch_at(room.clock.at, LIST.period))
    assert manifest is not None
    assert (manifest.epoch.method, manifest.edition) == (methods[-1], 2)
    room.signer.signed.clear()
    room.step()
    assert room.signer.signed == [], "it was signed anew although nothing had changed"
    (kept,) = asyncio.run(StoredStatusGaps(room.store.database).lists())
    assert kept.method == methods[-1]

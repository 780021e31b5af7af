"""Rotation of the service's log key to its next generation, while DIDs are created and changed."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify
from identity_did_ids import service_log
from identity_did_ids.method import DidIds, DidIdsSettings
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.follow import FollowServiceLog
from identity_transparency.use_cases.rotate_log_key import RotateServiceKey
from identity_transparency.use_cases.service_log import ServiceLog

from identity_codec import ed25519, multikey
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import AddService, NewService, Update
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.logs import key_hash, signer_of
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import DidQuarantined, InvalidDocument, InvalidRequest, StorageMismatch
from identity_core.ports.custodian import KeyNotHeld
from identity_core.use_cases.dids.commit import DidWriter
from identity_core.use_cases.dids.create import Created
from identity_core.use_cases.dids.log_keys import LogSigner
from tests.did_use_cases import ORIGIN, Rooms, secret_of, update_of


class Held:
    """A custodian of Ed25519 keys."""

    capabilities = frozenset({multikey.ED25519})

    def __init__(self) -> None:
        self.secrets: dict[str, bytes] = {}

    async def generate(self, name: str, key_type: str, **_: str) -> str:
        self.secrets.setdefault(name, os.urandom(32))
        return await self.public_key(name)

    async def import_key(self, name: str, key_type: str, secret: bytes, **_: str) -> str:
        self.secrets[name] = secret
        return await self.public_key(name)

    async def public_key(self, name: str) -> str:
        return public_of(self._secret(name))

    async def sign(self, name: str, message: bytes) -> bytes:
        return ed25519.sign(self._secret(name), message)

    async def destroy(self, name: str) -> None:
        self.secrets.pop(name, None)

    def _secret(self, name: str) -> bytes:
        if name not in self.secrets:
            raise KeyNotHeld(details={"name": name})
        return self.secrets[name]


def public_of(secret: bytes) -> str:
    return multikey.encode_public(multikey.ED25519, ed25519.generate(secret).public)


class Service:
    """One process of the service, and the command beside it, over the same store, ledger and custodian."""

    def __init__(self, folder: Path, *, pre_rotates: bool = True) -> None:
        self.rooms = Rooms(folder)
        self.custodian = Held()
        self.slept: list[float] = []
        self.pre_rotates = pre_rotates

    async def open(self) -> Service:
        self.rooms.writer.signer.custodian = self.custodian  # type: ignore[assignment]
        if self.pre_rotates:
            await self.begin()
        else:
            public = await self.custodian.generate("log", "")
            self.rooms.writer.signer.name, self.rooms.writer.signer.multikey = "log", public
        return self

    async def begin(self) -> None:
        """A start of the version that pre-rotates."""
        signer = await LogSigner.open(self.custodian)  # type: ignore[arg-type]
        self.signer, self.follow = signer, self.follow_of(signer, self.rooms.check.retired)
        signer.generations = self.follow
        await self.follow.now()
        own = self.rooms.writer.signer
        own.name, own.multikey, own.next_key_hashes, own.older = (
            signer.name,
            signer.multikey,
            signer.next_key_hashes,
            signer.older,
        )
        own.generations = self.follow_of(own, self.rooms.check.retired)

    def follow_of(self, signer: LogSigner, retired: dict[str, int]) -> FollowServiceLog:
        return FollowServiceLog(
            signer, self.rooms.ledger, TransparencyTree(self.rooms.store.database), self.rooms.clock, retired
        )

    async def rotate(self, **how: Any) -> Any:
        """By another process."""
        log = await self.service_log()
        done = await RotateServiceKey(log, self.rooms.store.index_rows, self._sleep, 10.0)(**how)
        self.retired = log.follow.retired
        return done

    async def service_log(self) -> ServiceLog:
        """As a process beside the service has it, which has read it."""
        rooms = self.rooms
        signer = await LogSigner.open(self.custodian)  # type: ignore[arg-type]
        follow = self.follow_of(signer, {})
        await follow.now()
        signer.generations = follow
        writer = DidWriter(
            rooms.reader,
            rooms.methods,
            rooms.ledger,
            rooms.store.documents,
            signer,
            rooms.clock,
            None,
        )
        return ServiceLog(writer, follow, DidIds(DidIdsSettings()), TransparencyTree(rooms.store.database), ORIGIN)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.rooms.clock.move(seconds=seconds)

    async def change(self, created: Created, name: str) -> Any:
        did = created.version.state.did
        authorization = await self.rooms.signed(did, secret_of(created), "update")
        operation = AddService(NewService("A", f"https://{name}.example/", name))
        return await self.rooms.update(
            did, update_of(operation), authorization, self.rooms.context(did, authorization), if_match=None
        )

    async def lines(self, did: Did) -> list[bytes]:
        return (await self.rooms.log(did)).splitlines()

    async def signers(self, created: Created) -> list[str | None]:
        return [signer_of(line) for line in await self.lines(created.version.state.did)]


def run(folder: Path, story: Any, **how: Any) -> None:
    async def whole() -> None:
        service = await Service(folder, **how).open()
        try:
            await story(service)
        finally:
            await service.rooms.close()

    asyncio.run(whole())


def test_each_process_goes_on_to_next_key_and_old_one_is_retired(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        first, second = [await service.custodian.public_key(name) for name in ("log", "log/2")]
        created = await service.rooms.new_did()
        await service.change(created, "a")
        done = await service.rotate()
        await service.change(created, "b")
        later = await service.rooms.new_did()
        assert await service.signers(created) == [first, first, second]
        assert await service.signers(later) == [second]
        assert (done.generation, done.multikey, done.handed_on, done.waiting) == (2, second, 0, 0)
        third = await service.custodian.public_key("log/3")
        assert done.next_key_hashes == (key_hash(third),)
        said = json.loads((await service.lines(created.version.state.did))[-1])["parameters"]
        assert said["nextKeyHashes"] == [key_hash(second), key_hash(third)]
        # What the service log says, and that anybody can check it.
        lines = await service.lines(Did.parse(done.service_did))
        assert verify(b"\n".join(lines)).versions == 3
        history = service_log.read(lines)
        assert (history.generations, history.next_key_hashes) == ((first, second), (key_hash(second), key_hash(third)))
        # 2 entries of the DID, the service's first and its second: those are the entries of before.
        assert history.retired == {first: 4} == service.retired
        assert (done.retired, done.tree_size) == ((first,), 4)
        assert "log" not in service.custodian.secrets
        # Processes have read the log, and what was signed has arrived, before the key is retired.
        assert service.slept == [2.0, 10.0]

    run(tmp_path, story)


def test_uninformed_process_still_writes(tmp_path: Path) -> None:
    """Check that it signs with the old key; where a DID has moved on, or the key is gone, it reads the service log and signs again."""

    async def story(service: Service) -> None:
        created, other = await service.rooms.new_did(), await service.rooms.new_did()
        second = await service.custodian.public_key("log/2")
        stale = service.rooms.writer.signer
        service.rooms.clock.seconds = 100.0
        await stale.generations.fresh()
        real, service._sleep = service._sleep, _no_sleep  # type: ignore[method-assign]
        await service.rotate()
        service._sleep = real  # type: ignore[method-assign]
        assert stale.name == "log"
        for name in ("a", "b"):
            await service.change(created, name)
        assert stale.multikey == second
        await service.change(other, "a")
        assert (await service.signers(other))[-1] == second
        assert (await service.signers(await service.rooms.new_did())) == [second]

    run(tmp_path, story)


async def _no_sleep(_: float) -> None:
    return None


def test_a_did_that_slept_through_two_rotations_is_handed_on(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        created = await service.rooms.new_did()
        first, second = [await service.custodian.public_key(name) for name in ("log", "log/2")]
        await service.rotate()
        third = await service.custodian.public_key("log/3")
        done = await service.rotate()
        assert (done.generation, done.handed_on, done.retired) == (3, 1, (second,))
        await service.change(created, "a")
        assert await service.signers(created) == [first, second, third]
        lines = await service.lines(created.version.state.did)
        assert verify(b"\n".join(lines)).versions == 3
        assert json.loads(lines[1])["parameters"]["change"] == {"operation": "logKeyRotated", "proofBy": "service"}
        await service.rotate()
        await service.change(created, "b")

    run(tmp_path, story)


def test_old_did_keeps_log_key_until_change(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        created, lost = await service.rooms.new_did(), await service.rooms.new_did()
        first = await service.custodian.public_key("log")
        await service.begin()
        done = await service.rotate()
        second = done.multikey
        assert (done.waiting, done.retired, done.tree_size) == (2, (), None)
        assert "log" in service.custodian.secrets
        await service.change(created, "a")
        await service.change(created, "b")
        # Signed by the key of before, and from there on the new one's.
        assert await service.signers(created) == [first, first, second]
        done = await service.rotate(finish=True)
        assert (done.generation, done.waiting, done.retired) == (2, 1, ())
        done = await service.rotate(finish=True, compromised=True)
        assert (done.waiting, done.retired) == (1, (first,))
        with pytest.raises(InvalidDocument, match="None of the keys"):
            await service.change(lost, "a")
        await service.change(created, "c")

    run(tmp_path, story, pre_rotates=False)


def test_the_next_key_can_be_on_paper(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        created, paper = await service.rooms.new_did(), os.urandom(32)
        await service.rotate(next_hash=key_hash(public_of(paper)))
        assert "log/3" not in service.custodian.secrets
        with pytest.raises(InvalidRequest, match="Only the hash"):
            await service.rotate()
        with pytest.raises(InvalidRequest, match="committed"):
            await service.rotate(secret=os.urandom(32))
        assert "log/3" not in service.custodian.secrets
        done = await service.rotate(secret=paper)
        assert done.multikey == public_of(paper)
        await service.change(created, "a")
        assert (await service.signers(created))[-1] == public_of(paper)

    run(tmp_path, story)


def test_requests_that_read_the_service_log_at_once_read_one(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        await service.rooms.new_did()
        done = await service.rotate()
        signer = await LogSigner.open(service.custodian)  # type: ignore[arg-type]
        follow = service.follow_of(signer, {})
        await asyncio.gather(*(follow.now() for _ in range(8)), *(follow.fresh() for _ in range(8)))
        assert len(follow.lines) == 3
        assert signer.multikey == done.multikey
        await asyncio.gather(*(service.rooms.new_did() for _ in range(8)))

    run(tmp_path, story)


def test_signature_after_retirement_is_reported(tmp_path: Path) -> None:
    """A process that slept between the signature and the ledger for longer than a rotation waits."""

    async def story(service: Service) -> None:
        created = await service.rooms.new_did()
        first, did = service.custodian.secrets["log"], created.version.state.did
        authorization = await service.rooms.signed(did, secret_of(created), "update")
        change = Update((AddService(NewService("A", "https://a.example/", "a")),), authorization)
        state, now = created.version.state, service.rooms.clock.now() + timedelta(seconds=1)
        draft = service.rooms.methods["ids"].draft(state, change, now, signer=public_of(first))
        line = draft.sealed(ed25519.sign(first, draft.signing_input))
        head = service.rooms.ledger.head

        async def head_before_it_comes() -> Any:
            found = await head()
            await service.rooms.ledger.append(str(did), line, expected_version=1)
            service.rooms.ledger.head = head
            return found

        async def asleep(seconds: float) -> None:
            if seconds == 10.0:
                service.rooms.ledger.head = head_before_it_comes

        service._sleep = asleep  # type: ignore[method-assign]
        done = await service.rotate(compromised=True)
        assert done.late == (str(did),)
        with pytest.raises(DidQuarantined):
            await service.change(created, "b")

    run(tmp_path, story)


def test_a_did_that_is_withheld_stops_no_rotation(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        created, other = await service.rooms.new_did(), await service.rooms.new_did()
        await service.rotate()
        did = str(created.version.state.did)
        await service.rooms.ledger.append(did, b"{}", expected_version=1)
        done = await service.rotate()
        assert (done.generation, done.handed_on) == (3, 1)
        await service.change(other, "a")
        assert (await service.signers(other))[-1] == done.multikey

    run(tmp_path, story)


def test_a_wrong_key_leaves_the_next_one_as_it_is(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        await service.rooms.new_did()
        before = dict(service.custodian.secrets)
        with pytest.raises(InvalidRequest, match="committed"):
            await service.rotate(secret=os.urandom(32))
        assert {name: service.custodian.secrets[name] for name in before} == before
        assert (await service.rotate()).generation == 2

    run(tmp_path, story)


def test_there_is_nothing_to_finish_before_the_first_rotation(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        with pytest.raises(InvalidRequest):
            await service.rotate(finish=True)

    run(tmp_path, story)


def test_an_entry_of_a_retired_key_is_refused_by_the_service(tmp_path: Path) -> None:
    """A thief of the key and of the database: his entry follows every rule of the log, and stands after the retirement."""

    async def story(service: Service) -> None:
        created, stolen = await service.rooms.new_did(), service.custodian.secrets["log"]
        await service.rotate(compromised=True)
        rooms, did = service.rooms, created.version.state.did
        state = (await rooms.reader.read_current(did)).recorded.state
        authorization = await rooms.signed(did, secret_of(created), "update")
        change = Update((AddService(NewService("T", "https://thief.example/", "t")),), authorization)
        draft = rooms.methods["ids"].draft(state, change, rooms.clock.now(), signer=public_of(stolen))
        line = draft.sealed(ed25519.sign(stolen, draft.signing_input))
        assert verify(b"\n".join([*await service.lines(did), line])).versions == 2, "the log alone cannot tell"
        await rooms.ledger.append(str(did), line, expected_version=1)
        await rooms.writer.signer.generations.now()
        with pytest.raises(DidQuarantined):
            await service.change(created, "a")
        # A start from nothing tells too.
        assert await rooms.catch_up() == 0
        assert rooms.check.quarantine is not None

    run(tmp_path, story)


def test_foreign_service_log_stops_signatures(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        await service.rooms.new_did()
        await service.rotate()
        service.custodian.secrets["log/2"] = os.urandom(32)
        signer = await LogSigner.open(service.custodian)  # type: ignore[arg-type]
        with pytest.raises(StorageMismatch):
            await service.follow_of(signer, {}).now()
        del service.custodian.secrets["log/2"]
        with pytest.raises(StorageMismatch):
            await service.follow_of(signer, {}).now()

    run(tmp_path, story)


def test_a_service_log_that_was_rolled_back_retires_nothing_less(tmp_path: Path) -> None:
    """A process that has read the retirement keeps it, whatever the ledger says later."""

    async def story(service: Service) -> None:
        await service.rooms.new_did()
        done = await service.rotate()
        lines = await service.lines(Did.parse(done.service_did))
        for cut in (1, 2):
            assert service_log.read(lines[:cut]).retired == {}
        follow = service.rooms.writer.signer.generations
        await follow.now()
        assert service.rooms.check.retired == service.retired != {}
        for spoilt in ([], lines[1:], [lines[0], lines[2]], [lines[0], lines[1], lines[1]], [b"{}"], [b"x"]):
            with pytest.raises(LogInvalid):
                service_log.read(spoilt)

    run(tmp_path, story)


def test_a_did_is_no_service_log_because_it_says_so() -> None:
    with pytest.raises(LogInvalid):
        service_log.read([b"null"])
    assert keys.ED25519.name == multikey.ED25519

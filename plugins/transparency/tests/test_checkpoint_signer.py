"""The key of checkpoints is replaced while checkpoints are signed."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from identity_transparency.domain.checkpoint_keys import CheckpointKeys, keys_followed, says_succession
from identity_transparency.remembered import Remembered
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.checkpoint_keys import OVERLAP, ReadCheckpointKeys, SignSuccession, name_of
from identity_transparency.use_cases.project import CheckpointSigner, LedgerFollower
from identity_transparency.use_cases.read import LedgerReads
from identity_transparency.use_cases.replace_key import ReplacedKey, ReplaceServiceKey
from identity_transparency.use_cases.storage import require_signed

from identity_core.errors import PluginUnavailable, StorageMismatch
from identity_core.ports.custodian import KeyNotHeld
from identity_tlog.note import Note, VerifierKey
from identity_tlog.tree import Refuted
from plugins.transparency.tests.test_rotate_log_key import Service, run

LOG = "id.example/log"


class Process:
    """One process of the service, or a command beside it: it signs checkpoints over what the ledger has."""

    def __init__(self, service: Service, signer: CheckpointSigner) -> None:
        self.service, self.signer = service, signer
        self.follower = LedgerFollower(service.rooms.ledger, TransparencyTree(service.rooms.store.database))

    @classmethod
    async def start(cls, service: Service) -> Process:
        custodian: Any = service.custodian
        read = ReadCheckpointKeys(custodian, service.rooms.ledger, TransparencyTree(service.rooms.store.database), LOG)
        return cls(service, CheckpointSigner(custodian, await read.with_first_key(), service.rooms.clock, read))

    async def note(self) -> bytes:
        return await self.signer.signed(await self.follower.now())

    async def signers(self) -> list[VerifierKey]:
        """Which of the keys have signed the next checkpoint, whose log has grown by one entry."""
        await self.service.rooms.ledger.append(f"did:x:{os.urandom(4).hex()}", b"{}", expected_version=0)
        note = Note.parse(await self.note())
        keys = self.signer.keys
        return [key for key in (keys.present, *(one.key for one in keys.earlier)) if note.find_signature(key)]


async def replaced(service: Service, **how: Any) -> ReplacedKey:
    """By the command beside."""
    log, custodian = await service.service_log(), service.custodian
    said: Any = SignSuccession(custodian, LOG)  # type: ignore[arg-type]
    return await ReplaceServiceKey(log, "checkpoint", name_of, 1, 0, OVERLAP, said, os.urandom, service._sleep)(**how)


def test_both_keys_sign_for_thirty_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(service: Service) -> None:
        one, other = await Process.start(service), await Process.start(service)
        first = one.signer.key
        assert await one.signers() == [first]
        before = (await one.follower.now()).size
        done = await replaced(service)
        assert (done.number, done.destroyed, done.tree_size) == (2, (), before + 1)
        # Neither was told: a tree with the entry in it is never signed by the old key alone.
        for process in (one, other, await Process.start(service)):
            note = await process.note()
            assert (process.signer.keys.number, process.signer.keys.earlier[0].tree_size) == (2, before + 1)
            assert [bool(Note.parse(note).find_signature(key)) for key in (process.signer.key, first)] == [True, True]
        service.rooms.clock.move(days=29)
        assert len(await one.signers()) == 2
        service.rooms.clock.move(days=2)
        assert await one.signers() == [one.signer.key]
        assert (await replaced(service)).destroyed == (1,)
        third, second = await one.signers()
        assert {first, second, third} == {one.signer.key, *(each.key for each in one.signer.keys.earlier)}
        assert "checkpoint" not in service.custodian.secrets
        # No start makes the first key anew, on a store that does not know the service log either.
        monkeypatch.setattr(TransparencyTree, "service_did", nothing)
        assert (await Process.start(service)).signer.keys == one.signer.keys
        assert "checkpoint" not in service.custodian.secrets

    run(tmp_path, story)


async def nothing(_: object) -> None:
    return None


def test_compromised_key_counts_up_to_its_size(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        one = await Process.start(service)
        first, old_note = (await one.signers())[0], await one.note()
        stolen = service.custodian.secrets["checkpoint"]
        done = await replaced(service, compromised=True)
        assert (done.destroyed, "checkpoint" in service.custodian.secrets) == ((1,), False)
        assert await one.signers() == [one.signer.key] != [first]
        keys = one.signer.keys
        require_signed(Remembered(old_note, 0, bytes(32)), keys)
        service.custodian.secrets["checkpoint"] = stolen
        thief = CheckpointSigner(service.custodian, CheckpointKeys(first), service.rooms.clock)  # type: ignore[arg-type]
        forged = await thief.signed(await one.follower.now())
        with pytest.raises(Refuted):
            keys.open(forged)
        with pytest.raises(StorageMismatch, match="another key"):
            require_signed(Remembered(forged, 0, bytes(32)), keys)

    run(tmp_path, story)


def test_key_beside_stolen_key_signs_nothing(tmp_path: Path) -> None:
    """Guard against a fault: the key was replaced for no such reason and would sign for thirty days: a thief of the custodian when
    he had its successor has both."""

    async def story(service: Service) -> None:
        one = await Process.start(service)
        first = one.signer.key
        await replaced(service)
        assert set(await one.signers()) == {first, one.signer.key}
        held = dict(service.custodian.secrets)
        assert (await replaced(service, compromised=True)).destroyed == (1, 2)
        assert await one.signers() == [one.signer.key]
        # Not only because the keys are gone.
        service.custodian.secrets = held | service.custodian.secrets
        assert (await one.signers(), one.signer.keys.number) == ([one.signer.key], 3)
        # What comes after the theft signs beside its successor as ever.
        third = one.signer.key
        await replaced(service)
        assert set(await one.signers()) == {third, one.signer.key}

    run(tmp_path, story)


def test_checkpoint_is_signed_during_removal_of_stolen_key(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        one = await Process.start(service)
        await one.signers()
        held, sign = service.custodian, service.custodian.sign
        began = (await one.follower.now()).size

        async def meanwhile(name: str, message: bytes) -> bytes:
            held.sign = sign  # type: ignore[method-assign]
            await replaced(service, compromised=True)
            raise KeyNotHeld(details={"name": name})

        await service.rooms.ledger.append("did:x:more", b"{}", expected_version=0)
        frontier = await one.follower.now()
        held.sign = meanwhile  # type: ignore[method-assign]
        note = await one.signer.signed(frontier)
        assert frontier.size == began + 1
        assert one.signer.keys.number == 2
        assert one.signer.keys.open(note).checkpoint.size == frontier.size

    run(tmp_path, story)


def test_the_answer_lists_the_keys_and_their_successions(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        one = await Process.start(service)
        first = one.signer.key
        await replaced(service)
        await replaced(service)
        await one.signers()
        log = SimpleNamespace(signer=one.signer, tree=TransparencyTree(service.rooms.store.database))
        answer = await LedgerReads(log, lambda: None, True).key()
        assert (answer.verifier_key, answer.service_did) == (
            str(one.signer.key),
            await service.follow.tree.service_did(),
        )
        assert [each.number for each in answer.earlier_keys] == [2, 1]
        assert answer.earlier_keys[1].verifier_key == str(first)
        history = (await service.service_log()).history.replaced
        assert keys_followed(first, history, is_believed=True).present == one.signer.key
        assert says_succession(history[0], first)

    run(tmp_path, story)


def test_crash_before_entry_keeps_old_key(
    tmp_path: Path,
) -> None:
    async def story(service: Service) -> None:
        await replaced(service)
        one = await Process.start(service)
        append = service.rooms.ledger.append

        async def crash(*_: Any, **__: Any) -> Any:
            raise PluginUnavailable("The process is killed here.")

        service.rooms.ledger.append = crash
        with pytest.raises(PluginUnavailable):
            await replaced(service)
        service.rooms.ledger.append = append
        made = await service.custodian.public_key("checkpoint/3")
        assert len(await one.signers()) == 2
        assert one.signer.keys.number == 2
        assert (await replaced(service)).multikey == made

    run(tmp_path, story)


def test_a_custodian_with_another_key_signs_nothing(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        one = await Process.start(service)
        await replaced(service)
        genuine = dict(service.custodian.secrets)
        for name in ("checkpoint", "checkpoint/2"):
            service.custodian.secrets = {**genuine, name: os.urandom(32)}
            with pytest.raises(StorageMismatch, match="keys of checkpoints"):
                await one.signers()
        service.custodian.secrets = genuine
        assert len(await one.signers()) == 2

    run(tmp_path, story)


def test_the_overlap_is_as_long_as_the_command_keeps_the_old_key() -> None:
    assert timedelta(days=30) == OVERLAP

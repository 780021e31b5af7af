"""Everything is sealed anew: running processes go on, a kill leaves the old or the new, and a thief reads nothing that was sealed since."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import sqlite3
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from identity_custodian_sealed import SealedCustodian, SealedSettings, build, data_key, resealing
from identity_custodian_sealed.box_contents import DataKey
from identity_custodian_sealed.custodian import holder_secrets
from identity_custodian_sealed.data_key import stored_seal
from identity_custodian_sealed.held_key import Label
from identity_kit.conformance.custodian import verified
from identity_kit.conformance.custodian_holders import REQUEST

from identity_bbs.bls12381.backend import G1_OCTETS
from identity_codec import multikey, sealing
from identity_codec.values import replace
from identity_core.database import files, sqlite_connection
from identity_core.database.files import FOLDER, FileLock
from identity_core.errors import PluginUnavailable
from identity_core.plugin import BuildContext, PluginError
from identity_core.ports.custodian import KeyNotHeld, KeyRefused
from tests.attack.stranger import rounds
from tests.fault.killed_before_a_line import KilledBeforeALine

DID = "did:ids:x"
NAMES = [f"key-{number}" for number in range(5)]
CHEAP = {"argon2_operations": 1, "argon2_memory_mib": 8}


class Clock:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def open_custodian(folder: Path, passphrase: str | None = None, **settings: Any) -> SealedCustodian:
    context = BuildContext(Clock(), logging.getLogger("identity.sealed"), folder, None)
    return build(SealedSettings(passphrase=passphrase, **(CHEAP | settings)), context)


async def generate_keys(custodian: SealedCustodian, *names: str) -> dict[str, str]:
    return {name: await custodian.generate(name, multikey.ED25519, did=DID, purpose="log") for name in names}


async def check(custodian: SealedCustodian, publics: dict[str, str]) -> None:
    for name, public in publics.items():
        assert await custodian.public_key(name) == public
        await verified(custodian, name, b"message")


def rows(folder: Path) -> list[tuple[str, str, str, str, str, bytes]]:
    with sqlite3.connect(folder / "custodian.sqlite") as connection:
        found = connection.execute(
            "SELECT name, key_type, did, purpose, public_key, box FROM custodian_keys"
        ).fetchall()
    connection.close()
    return found


def data_key_of(custodian: SealedCustodian) -> DataKey:
    return custodian._data_key


@pytest.mark.parametrize("compromised", [False, True])
def test_running_processes_go_on_and_no_key_changes(tmp_path: Path, compromised: bool) -> None:
    async def scenario() -> None:
        running, command = open_custodian(tmp_path), open_custodian(tmp_path)
        publics = await generate_keys(running, *NAMES)
        first = data_key_of(running)
        done = command.reseal_now(compromised=compromised)
        assert (done.generation, done.keys, done.has_new_master_key, done.left_to_do) == (2, 5, compromised, "")
        # The name is new to it: it stores before it has read anything of the new seal.
        publics |= await generate_keys(running, "since")
        await check(running, publics)
        await check(command, publics)
        started = open_custodian(tmp_path)
        await check(started, publics)
        for custodian in (running, command, started):
            assert data_key_of(custodian).key != first.key
            assert data_key_of(custodian).roots[0] == first.key
            assert len(data_key_of(custodian).roots) == (2 if compromised else 1)
            same = holder_secrets(first.key, os.urandom)
            assert (await custodian._holder_secrets("hana")).derive(b"a") == same.derive(b"a")
            await custodian.close()

    asyncio.run(scenario())
    assert [path.name for path in tmp_path.glob("*.key")] == ["custodian.key"]


def test_repr_of_custodian_and_secrets_has_no_root(tmp_path: Path) -> None:
    async def scenario() -> None:
        custodian = open_custodian(tmp_path)
        secrets = await custodian._holder_secrets("hana")
        assert secrets is await custodian._holder_secrets("ivo"), "one value for all secrets of a root"
        (root,) = data_key_of(custodian).roots
        shown = "".join(map(repr, (custodian, secrets, data_key_of(custodian))))
        assert "derive" not in shown
        assert not any(text in shown for text in (root.hex(), repr(root)))
        await custodian.close()

    asyncio.run(scenario())


def test_a_thief_of_the_root_cannot_make_the_secrets_of_after(tmp_path: Path) -> None:
    """Beside a running process: secrets of before stay what they were, new ones follow from another key, after every further rotation."""

    async def committed(custodian: SealedCustodian, name: str) -> bytes:
        data = await custodian.commit_holder(name, "c", REQUEST)
        return data[:G1_OCTETS]

    async def scenario() -> None:
        running, command = open_custodian(tmp_path), open_custodian(tmp_path)
        assert await running.holders_root() == 1
        with pytest.raises(KeyNotHeld):
            await running.commit_holder("hana@2", "c", REQUEST)
        before = await committed(running, "hana")
        stolen = data_key_of(running).roots
        command.reseal_now(compromised=True)
        # It learns of the new key by the name alone, and by the question.
        renewed = await committed(running, "hana@2")
        assert await running.holders_root() == 2
        assert await committed(running, "hana") == before
        thief = holder_secrets(stolen[0], os.urandom).commit("hana@2", "c", REQUEST)[:G1_OCTETS]
        assert thief != renewed, "a secret of after follows from the key of before"
        command.reseal_now(compromised=False)
        command.reseal_now(compromised=True)
        assert await running.holders_root() == 3
        started = open_custodian(tmp_path)
        for custodian in (running, started):
            assert [await committed(custodian, name) for name in ("hana", "hana@2")] == [before, renewed]
            assert await custodian.holders_root() == len(set(data_key_of(custodian).roots)) == 3
            with pytest.raises(KeyNotHeld):
                await custodian.consent("hana@4", ("c",), b"m", None)
            for name in ("hana@02", "hana@-1", "hana@0", "hana@1000000", "hana@2@3", "hana@x"):
                with pytest.raises(KeyRefused):
                    await custodian.consent(name, ("c",), b"m", None)
        for custodian in (running, command, started):
            await custodian.close()

    asyncio.run(scenario())


def test_a_version_of_before_takes_no_other_key_for_the_first(tmp_path: Path) -> None:
    """The old version uses the last 32 bytes of the box as the root of the holders' secrets: a box with several keys is
    bound to another purpose, which does not open there."""

    async def scenario() -> None:
        custodian = open_custodian(tmp_path)
        custodian.reseal_now(compromised=True)
        row = custodian._database.read_now(stored_seal)
        assert row is not None
        with pytest.raises(sealing.BoxInvalid):
            sealing.unseal(
                (tmp_path / "custodian.key").read_bytes(),
                row.box,
                b"identity-service custodian data key v2, generation 2",
            )
        assert row.open_box((tmp_path / "custodian.key").read_bytes()).generation == 2
        await custodian.close()

    asyncio.run(scenario())


def test_concurrent_resealing_keeps_boxes_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        running, command = open_custodian(tmp_path), open_custodian(tmp_path)
        publics, unsealed, opening = await generate_keys(running, *NAMES), data_key.Seal.unsealed, []

        def overtaken(seal: data_key.Seal, stored: Any) -> DataKey:
            if seal is running._seal:
                opening.append(stored.generation)
                if len(opening) == 1:
                    for _ in range(2):
                        command.reseal_now(compromised=True)
            return unsealed(seal, stored)

        command.reseal_now(compromised=True)
        monkeypatch.setattr(data_key.Seal, "unsealed", overtaken)
        await check(running, publics)
        assert opening == [2, 4]
        await asyncio.gather(running.close(), command.close())

    asyncio.run(scenario())


def test_nothing_is_lost_that_is_stored_meanwhile(tmp_path: Path) -> None:
    async def scenario() -> None:
        running, command = open_custodian(tmp_path), open_custodian(tmp_path)
        publics, ended = await generate_keys(running, *NAMES), threading.Event()

        def rotate() -> None:
            for number in range(4):
                command.reseal_now(compromised=number % 2 == 0)
            ended.set()

        rotating = asyncio.create_task(asyncio.to_thread(rotate))
        number = 0
        while not ended.is_set():
            publics |= await generate_keys(running, f"meanwhile-{number}")
            number += 1
            await asyncio.sleep(0)
            if rotating.done():
                break
        await rotating
        started = open_custodian(tmp_path)
        assert data_key_of(started).generation == 5
        await check(started, publics)
        await check(running, publics)
        for custodian in (running, command, started):
            await custodian.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("compromised", [False, True])
def test_a_thief_of_the_old_key_reads_nothing_in_a_later_copy(tmp_path: Path, compromised: bool) -> None:
    """He has the master key file, or the data key itself, of before, and every file of a moment after, with the service running."""
    folder, stolen = tmp_path / "data", tmp_path / "stolen"
    folder.mkdir()

    async def scenario() -> None:
        running, command = open_custodian(folder), open_custodian(folder)
        await generate_keys(running, *NAMES)
        old_key, old = (folder / "custodian.key").read_bytes(), data_key_of(running).key
        seal = running._database.read_now(stored_seal)
        assert seal is not None
        old_boxes = [seal.box, *(bytes(row[-1]) for row in rows(folder))]
        assert command.reseal_now(compromised=compromised).left_to_do == ""
        await generate_keys(running, "since")
        shutil.copytree(folder, stolen)
        for path in stolen.iterdir():
            data = path.read_bytes()
            assert [box for box in old_boxes if box[25:] in data] == [], f"{path.name} still has what the old key opens"
        for name, key_type, did, purpose, public_key, box in rows(stolen):
            with pytest.raises(sealing.BoxInvalid):
                sealing.unseal(old, bytes(box), Label(name, key_type, did, purpose).encode(public_key))
        later = running._database.read_now(stored_seal)
        assert later is not None
        for key in (old, old_key) if compromised else (old,):
            with pytest.raises(sealing.BoxInvalid):
                later.open_box(key)
        if compromised:
            (stolen / "custodian.key").write_bytes(old_key)
            with pytest.raises(PluginError, match="not the master key"):
                open_custodian(stolen)
        await running.close()
        await command.close()

    asyncio.run(scenario())


def test_nothing_that_was_deleted_or_written_over_stays_in_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where SQLite is built without SECURE_DELETE, as it often is, and leaves in a file what it has room for."""
    connect = sqlite_connection._connect

    def forgetful(path: Path, *, seconds: float) -> Any:
        connection = connect(path, seconds=seconds)
        connection.execute("PRAGMA secure_delete = OFF").fetchall()
        return connection

    monkeypatch.setattr(sqlite_connection, "_connect", forgetful)

    def find_left(boxes: list[bytes]) -> list[str]:
        # The first bytes of a free place are SQLite's own.
        return [path.name for path in tmp_path.iterdir() if any(box[25:] in path.read_bytes() for box in boxes)]

    async def scenario() -> None:
        custodian = open_custodian(tmp_path)
        await generate_keys(custodian, *(f"key-{number}" for number in range(60)))
        boxes = [bytes(row[-1]) for row in rows(tmp_path)]
        for number in range(0, 60, 2):
            await custodian.destroy(f"key-{number}")
        await custodian.close()
        custodian = open_custodian(tmp_path)
        destroyed = [box for box in boxes if box not in {bytes(row[-1]) for row in rows(tmp_path)}]
        assert len(destroyed) == 30
        assert find_left(destroyed) == ["custodian.sqlite"]
        assert custodian.reseal_now(compromised=False).left_to_do == ""
        assert find_left(boxes) == []
        await custodian.close()

    asyncio.run(scenario())


def test_a_reader_in_the_way_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resealing, "_PATIENCE_SECONDS", 0.05)
    custodian = open_custodian(tmp_path)
    asyncio.run(generate_keys(custodian, *NAMES))
    with sqlite3.connect(tmp_path / "custodian.sqlite", isolation_level=None) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM custodian_keys").fetchall()
        done = custodian.reseal_now(compromised=False)
        assert (done.generation, "rotate again" in done.left_to_do) == (2, True)
        reader.execute("ROLLBACK")
    reader.close()
    assert custodian.reseal_now(compromised=False).left_to_do == ""
    asyncio.run(custodian.close())


def test_rotated_seal_doesnt_pass_for_one_of_another_generation(tmp_path: Path) -> None:
    """A writer of the database cannot make a process accept the holders' key, or another generation, as the data
    key."""

    async def scenario() -> None:
        custodian = open_custodian(tmp_path)
        custodian.reseal_now(compromised=False)
        await custodian.close()

    asyncio.run(scenario())
    for generation in (1, 3):
        with sqlite3.connect(tmp_path / "custodian.sqlite") as connection:
            connection.execute("UPDATE custodian_seal SET generation = ?", (generation,))
        connection.close()
        with pytest.raises(PluginError, match="not the master key"):
            open_custodian(tmp_path)


def test_a_changed_row_stops_it_and_nothing_is_sealed_anew(tmp_path: Path) -> None:
    async def scenario() -> None:
        custodian = open_custodian(tmp_path)
        publics = await generate_keys(custodian, *NAMES)
        with sqlite3.connect(tmp_path / "custodian.sqlite") as connection:
            connection.execute("UPDATE custodian_keys SET purpose = 'other' WHERE name = 'key-3'")
        connection.close()
        before = rows(tmp_path)
        with pytest.raises(KeyRefused) as refusal:
            custodian.reseal_now(compromised=True)
        assert refusal.value.details == {"key": "key-3"}
        assert rows(tmp_path) == before
        del publics["key-3"]
        await custodian.close()
        again = open_custodian(tmp_path)
        await check(again, publics)
        await again.close()

    asyncio.run(scenario())


def test_it_waits_for_no_backup_and_says_so(tmp_path: Path) -> None:
    custodian = open_custodian(tmp_path)
    with contextlib.closing(FileLock(tmp_path, FOLDER)) as lock:
        assert lock.try_acquire()
        with pytest.raises(KeyRefused, match="at work"):
            custodian.reseal_now(compromised=True)
    assert custodian.reseal_now(compromised=True).generation == 2
    asyncio.run(custodian.close())


def test_new_master_key_that_is_used_is_found_under_either_name(tmp_path: Path) -> None:
    """While a backup has the folder the key is not renamed: every process opens it all the same, and the next rotation keeps it."""
    old = tmp_path / "custodian.key"

    async def scenario() -> None:
        custodian = open_custodian(tmp_path)
        publics, key = await generate_keys(custodian, *NAMES), old.read_bytes()
        custodian.reseal_now(compromised=True)
        # As a kill between the commit and the new name leaves it.
        old.rename(tmp_path / "custodian-next.key")
        old.write_bytes(key)
        with contextlib.closing(FileLock(tmp_path, FOLDER)) as lock:
            assert lock.try_acquire()
            started = open_custodian(tmp_path)
            await check(started, publics)
            await started.close()
        assert old.read_bytes() == key
        assert custodian.reseal_now(compromised=True).generation == 3
        assert not (tmp_path / "custodian-next.key").exists()
        await check(custodian, publics)
        await custodian.close()

    asyncio.run(scenario())


def test_rotation_that_fails_keeps_only_copy_of_new_master_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backup let go of the folder after the rotation had looked: the key in use still has the name of the next one."""
    old = tmp_path / "custodian.key"

    async def scenario() -> None:
        custodian = open_custodian(tmp_path)
        publics, key = await generate_keys(custodian, *NAMES), old.read_bytes()
        custodian.reseal_now(compromised=True)
        old.rename(tmp_path / "custodian-next.key")
        old.write_bytes(key)
        with sqlite3.connect(tmp_path / "custodian.sqlite") as connection:
            connection.execute("UPDATE custodian_keys SET purpose = 'other' WHERE name = 'key-3'")
        connection.close()
        with monkeypatch.context() as patch:
            patch.setattr(data_key.Seal, "open", lambda seal: data_key_of(custodian))
            with pytest.raises(KeyRefused):
                custodian.reseal_now(compromised=True)
        await custodian.close()
        del publics["key-3"]
        again = open_custodian(tmp_path)
        await check(again, publics)
        await again.close()

    asyncio.run(scenario())


# -- Passphrases -------------------------------------------------------------------------------------------------------


def test_under_a_passphrase_it_stays_the_same(tmp_path: Path) -> None:
    async def scenario() -> None:
        running, command = open_custodian(tmp_path, "first"), open_custodian(tmp_path, "first")
        publics = await generate_keys(running, *NAMES)
        assert command.reseal_now(compromised=False).generation == 2
        await check(running, publics)
        await running.close()
        await command.close()
        # A passphrase is changed as before, with what lies in the box.
        changed = open_custodian(tmp_path, "second", previous_passphrase="first")
        await check(changed, publics)
        assert data_key_of(changed).roots == data_key_of(running).roots
        await changed.close()

    asyncio.run(scenario())


def test_a_compromised_passphrase_must_be_another_first(tmp_path: Path) -> None:
    async def scenario() -> None:
        behind = open_custodian(tmp_path, "first")
        publics = await generate_keys(behind, *NAMES)
        with pytest.raises(KeyRefused, match="set another"):
            behind.reseal_now(compromised=True)
        running, command = [open_custodian(tmp_path, "second", previous_passphrase="first") for _ in range(2)]
        before = running._database.read_now(stored_seal)
        assert command.reseal_now(compromised=True).has_new_master_key
        after = running._database.read_now(stored_seal)
        assert before is not None
        assert after is not None
        assert before.salt != after.salt
        await check(running, publics)
        # One that was not started again with the new passphrase says so, and seals nothing under the old data key.
        with pytest.raises(PluginUnavailable):
            await generate_keys(behind, "since")
        with pytest.raises(PluginUnavailable):
            await behind.sign("key-0", b"message")
        assert [row[0] for row in rows(tmp_path)] == NAMES
        for custodian in (behind, running, command):
            await custodian.close()
        with pytest.raises(PluginError, match="the passphrase is wrong"):
            open_custodian(tmp_path, "first")

    asyncio.run(scenario())


@pytest.mark.parametrize("other", ["passphrase", "rotation"])
def test_concurrent_seal_change_is_kept(tmp_path: Path, other: str) -> None:
    """A command with the old passphrase has looked at the seal when another process changes it."""

    async def scenario() -> None:
        command, publics = open_custodian(tmp_path, "first"), dict[str, str]()
        publics = await generate_keys(command, *NAMES)
        others = list[SealedCustodian]()

        def random(size: int) -> bytes:
            if not others and other == "passphrase":
                others.append(open_custodian(tmp_path, "second", previous_passphrase="first"))
            elif not others:
                others.append(open_custodian(tmp_path, "first"))
                resealing._resealed(others[0]._seal, compromised=False)
            return os.urandom(size)

        with pytest.raises(KeyRefused, match="Another process"):
            resealing.reseal(replace(command._seal, random=random), compromised=False)
        await check(others[0], publics)
        started = open_custodian(tmp_path, "second" if other == "passphrase" else "first")
        await check(started, publics)
        for custodian in (*others, command, started):
            await custodian.close()

    asyncio.run(scenario())


# -- Kills -------------------------------------------------------------------------------------------------------------

TRACED = {module.__file__ for module in (data_key, resealing, files)}
STEP = max(1, 9 // rounds(1))


def in_a_child(folder: Path, passphrase: str | None, kill_at: int | None) -> int | None:
    """Forks a process that seals everything anew, and is killed before a line of what does so. How many lines it came by at its end."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        trace = KilledBeforeALine(TRACED, kill_at)
        try:
            custodian = open_custodian(folder, passphrase)
            sys.settrace(trace)
            custodian.reseal_now(compromised=passphrase is None)
            sys.settrace(None)
            os.write(writing, str(trace.seen).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        lines = said.read()
    os.waitpid(child, 0)
    return int(lines) if lines else None


@pytest.mark.parametrize("passphrase", [None, "correct horse"])
def test_a_kill_at_any_line_leaves_the_old_or_the_new(tmp_path: Path, passphrase: str | None) -> None:
    async def scenario() -> None:
        running = open_custodian(tmp_path, passphrase)
        publics = await generate_keys(running, *NAMES)
        lines = in_a_child(tmp_path, passphrase, None)
        assert lines is not None
        generation = 2
        for kill_at in range(1, lines + 1, STEP):
            in_a_child(tmp_path, passphrase, kill_at)
            started = open_custodian(tmp_path, passphrase)
            assert data_key_of(started).generation in (generation, generation + 1)
            generation = data_key_of(started).generation
            await check(started, publics)
            await started.close()
            await check(running, publics)
        # What it left does not block later runs.
        assert running.reseal_now(compromised=passphrase is None).generation == generation + 1
        assert generation > 2
        await check(running, publics)
        await running.close()

    asyncio.run(scenario())

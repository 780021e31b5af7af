"""The sealed custodian: the kit, and attacks on what is at rest."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from identity_custodian_sealed import SealedCustodian, SealedSettings, build
from identity_custodian_sealed.held_key import HeldKey
from identity_kit.conformance.custodian import SECRET, CustodianConformance, verified

from identity_bbs.blind import IssueRequest
from identity_codec import ed25519, multikey
from identity_core.errors import PluginUnavailable
from identity_core.plugin import BuildContext, PluginError
from identity_core.ports.custodian import KeyNotHeld

DID = "did:ids:x"
CHEAP = {"argon2_operations": 1, "argon2_memory_mib": 8}
log = logging.getLogger("identity.sealed")


class Clock:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def open_custodian(folder: Path, passphrase: str | None = None, **settings: Any) -> SealedCustodian:
    context = BuildContext(clock=Clock(), logger=log, data_dir=folder, database_url=None)
    return build(SealedSettings(passphrase=passphrase, **(CHEAP | settings)), context)


async def one_key(custodian: SealedCustodian, name: str = "k") -> str:
    return await custodian.generate(name, multikey.ED25519, did=DID, purpose="log")


def made_once(folder: Path, passphrase: str | None = None) -> str:
    """A key in a custodian that is closed again; its public key."""

    async def scenario() -> str:
        custodian = open_custodian(folder, passphrase)
        public = await one_key(custodian)
        await custodian.close()
        return public

    return asyncio.run(scenario())


def found_again(folder: Path, passphrase: str | None = None, **settings: Any) -> str:
    async def scenario() -> str:
        custodian = open_custodian(folder, passphrase, **settings)
        await verified(custodian, "k", b"message")
        public = await custodian.public_key("k")
        await custodian.close()
        return public

    return asyncio.run(scenario())


def change(folder: Path, sql: str, *parameters: object) -> None:
    """Change the database file as an attacker would."""
    with sqlite3.connect(folder / "custodian.sqlite") as connection:
        assert connection.execute(sql, parameters).rowcount
    connection.close()


class TestSealed(CustodianConformance):
    """Under a master key file."""

    passphrase: str | None = None

    @pytest.fixture
    def custodian(self, tmp_path: Path) -> Iterator[SealedCustodian]:
        custodian = open_custodian(tmp_path, self.passphrase)
        yield custodian
        asyncio.run(custodian.close())

    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Callable[[], SealedCustodian]:
        return lambda: open_custodian(tmp_path, self.passphrase)


class TestSealedUnderAPassphrase(TestSealed):
    """The same under a passphrase."""

    passphrase = "correct horse"


# -- The seal ----------------------------------------------------------------------------------------------------------


def test_the_first_start_makes_a_master_key_and_says_so_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    public = made_once(tmp_path)
    key = tmp_path / "custodian.key"
    assert len(key.read_bytes()) == 32
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".new")] == []
    assert caplog.text.count("made a random master key") == 1
    caplog.clear()
    assert found_again(tmp_path) == public
    assert caplog.text == ""


def test_two_first_starts_at_once_agree_on_one_key(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_custodian_sealed as t
from pathlib import Path
async def main():
    custodian = t.open_custodian(Path(sys.argv[1]))
    print(await t.one_key(custodian))
    await custodian.close()
asyncio.run(main())
"""
    runs = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    keys = [process.communicate(timeout=300)[0] for process in runs]
    assert [process.returncode for process in runs] == [0] * 4
    assert len(set(keys)) == 1
    assert found_again(tmp_path) == keys[0].strip()


def test_with_a_passphrase_there_is_no_key_file(tmp_path: Path) -> None:
    public = made_once(tmp_path, "correct horse")
    assert not (tmp_path / "custodian.key").exists()
    assert found_again(tmp_path, "correct horse") == public


@pytest.mark.parametrize(
    ("first", "settings", "reason"),
    [
        ("correct", {"passphrase": "wrong"}, "the passphrase is wrong"),
        ("correct", {"passphrase": "wrong", "previous_passphrase": "also wrong"}, "neither passphrase nor previous"),
        ("correct", {}, "set IDENTITY_PLUGINS_SEALED_PASSPHRASE"),
    ],
)
def test_a_wrong_passphrase_is_one_clear_line(
    tmp_path: Path, first: str, settings: dict[str, str], reason: str
) -> None:
    made_once(tmp_path, first)
    with pytest.raises(PluginError, match=reason) as refusal:
        open_custodian(tmp_path, **settings)
    assert "\n" not in refusal.value.what
    assert refusal.value.fix.startswith("set the passphrase")
    assert "correct" not in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "cannot be read"), (b"short", "must have 32 bytes"), (bytes(32), "not the master key")],
)
def test_a_lost_or_foreign_master_key_is_one_clear_line(tmp_path: Path, content: bytes | None, reason: str) -> None:
    made_once(tmp_path)
    key = tmp_path / "custodian.key"
    key.unlink()
    if content is not None:
        key.write_bytes(content)
    with pytest.raises(PluginError, match=reason) as refusal:
        open_custodian(tmp_path)
    assert "\n" not in refusal.value.what
    assert refusal.value.fix.startswith(f"put your copy of the master key back as {key} ")


def test_from_the_file_to_a_passphrase_and_to_another(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    public = made_once(tmp_path)
    assert found_again(tmp_path, "first") == public
    assert "remove" in caplog.text
    (tmp_path / "custodian.key").unlink()
    assert found_again(tmp_path, "first") == public
    assert found_again(tmp_path, "second", previous_passphrase="first") == public
    assert found_again(tmp_path, "second") == public
    with pytest.raises(PluginError):
        open_custodian(tmp_path, "first")


def test_others_rights_on_the_master_key_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made_once(tmp_path)
    (tmp_path / "custodian.key").chmod(0o644)
    found_again(tmp_path)
    assert "others may read the master key" in caplog.text


# -- The rows ----------------------------------------------------------------------------------------------------------


def test_no_secret_is_in_the_files(tmp_path: Path) -> None:
    async def scenario() -> None:
        custodian = open_custodian(tmp_path)
        await custodian.import_key("k", multikey.ED25519, SECRET, did=DID, purpose="log")
        await custodian.close()

    asyncio.run(scenario())
    for path in tmp_path.iterdir():
        assert SECRET not in path.read_bytes(), f"{path.name} holds a secret"


@pytest.mark.parametrize("column", ["key_type", "did", "purpose", "public_key", "box"])
def test_a_row_whose_column_was_changed_does_not_open(tmp_path: Path, column: str) -> None:
    """Wrong associated data: every column is authenticated."""

    async def scenario() -> None:
        custodian = open_custodian(tmp_path)
        await one_key(custodian)
        await custodian.close()
        values = {
            "key_type": multikey.X25519,
            "did": "did:ids:mallory",
            "purpose": "assertionMethod",
            "public_key": multikey.encode_public(multikey.ED25519, ed25519.generate(SECRET).public),
            "box": os.urandom(73),
        }
        change(tmp_path, f"UPDATE custodian_keys SET {column} = ? WHERE name = 'k'", values[column])
        custodian = open_custodian(tmp_path)
        for use in (custodian.public_key("k"), custodian.sign("k", b"message"), one_key(custodian)):
            with pytest.raises(PluginUnavailable):
                await use
        await custodian.close()

    asyncio.run(scenario())


def test_swapped_rows_do_not_open(tmp_path: Path) -> None:
    async def scenario() -> None:
        custodian = open_custodian(tmp_path)
        await one_key(custodian, "a")
        await one_key(custodian, "b")
        await custodian.close()
        change(tmp_path, "UPDATE custodian_keys SET name = CASE name WHEN 'a' THEN 'c' ELSE 'a' END")
        custodian = open_custodian(tmp_path)
        for name in ("a", "c"):
            with pytest.raises(PluginUnavailable):
                await custodian.public_key(name)
        with pytest.raises(KeyNotHeld):
            await custodian.public_key("b")
        await custodian.close()

    asyncio.run(scenario())


def test_a_box_of_another_installation_does_not_open(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    made_once(tmp_path / "one")
    made_once(tmp_path / "two")
    with sqlite3.connect(tmp_path / "one" / "custodian.sqlite") as connection:
        (box,) = connection.execute("SELECT box FROM custodian_keys").fetchone()
        (public,) = connection.execute("SELECT public_key FROM custodian_keys").fetchone()
    connection.close()
    change(tmp_path / "two", "UPDATE custodian_keys SET box = ?, public_key = ?", box, public)
    with pytest.raises(PluginUnavailable):
        found_again(tmp_path / "two")


def test_change_of_another_process_is_seen(tmp_path: Path) -> None:
    async def scenario() -> None:
        one, two = open_custodian(tmp_path), open_custodian(tmp_path)
        public = await one_key(one)
        assert await two.public_key("k") == public
        await one.destroy("k")
        with pytest.raises(KeyNotHeld):
            await two.sign("k", b"message")
        again = await one_key(two)
        assert again != public
        assert await one.public_key("k") == again
        await one.close()
        await two.close()

    asyncio.run(scenario())


def test_signatures_of_one_iteration_share_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        one, two = open_custodian(tmp_path), open_custodian(tmp_path)
        await one_key(one)
        asked: list[int | None] = []
        count = one._database.foreign_changes
        monkeypatch.setattr(one._database, "foreign_changes", lambda: asked.append(count()) or asked[-1])
        await asyncio.sleep(0)
        for _ in range(3):
            await one.sign("k", b"message")
        assert len(asked) == 1
        await two.destroy("k")
        with pytest.raises(KeyNotHeld):
            await one.sign("k", b"message")
        assert len(asked) == 2
        await one.close()
        await two.close()

    asyncio.run(scenario())


def test_a_loop_that_died_in_its_turn_leaves_nothing_believed(tmp_path: Path) -> None:
    custodian, other = open_custodian(tmp_path), open_custodian(tmp_path)

    async def sign() -> bytes:
        return await custodian.sign("k", b"message")

    asyncio.run(one_key(custodian))
    died: Any = asyncio.new_event_loop()
    ends, soon = custodian._end_turn, died.call_soon
    # The turn never ends.
    died.call_soon = lambda callback, *given, **more: None if callback == ends else soon(callback, *given, **more)
    died.run_until_complete(sign())
    died.close()
    assert custodian._looked_in is died
    asyncio.run(other.destroy("k"))
    with pytest.raises(KeyNotHeld):
        asyncio.run(sign())
    asyncio.run(custodian.close())
    asyncio.run(other.close())


@pytest.mark.parametrize(("messages", "is_on_loop"), [(1, True), (16, True), (17, False), (128, False)])
def test_many_messages_are_signed_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, messages: int, is_on_loop: bool
) -> None:
    """A credential of 64 numbers has 128 messages; its signature held up every other request for 65 ms."""
    threads: list[threading.Thread] = []

    def sign(self: HeldKey, *_: object) -> bytes:
        threads.append(threading.current_thread())
        return b"signature"

    async def scenario() -> None:
        custodian = open_custodian(tmp_path)
        await custodian.generate("k", "Bls12381G2Key2020", did="did:ids:x", purpose="assertionMethod")
        request = IssueRequest("did:ids:x#k", b"h", "did:ids:h", bytes(32))
        values = [b"x"] * messages
        for made in (
            await custodian.sign_bbs("k", b"h", values),
            await custodian.sign_bbs_blind("k", values, b"c", request),
        ):
            assert made == b"signature"
        await custodian.close()

    monkeypatch.setattr(HeldKey, "sign_bbs", sign)
    monkeypatch.setattr(HeldKey, "sign_bbs_blind", sign)
    asyncio.run(scenario())
    assert [one is threading.main_thread() for one in threads] == [is_on_loop] * 2


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import identity_custodian_sealed.custodian as module

    monkeypatch.setattr(module, "MOST_IN_MEMORY", 3)

    async def scenario() -> None:
        custodian = open_custodian(tmp_path)
        keys = {name: await one_key(custodian, name) for name in "abcdefgh"}
        assert len(custodian._held.values()) == 3
        assert {name: await custodian.public_key(name) for name in keys} == keys
        await custodian.close()
        assert len(custodian._held.values()) == 0

    asyncio.run(scenario())


def test_a_killed_process_leaves_whole_keys(tmp_path: Path) -> None:
    """Ten kills in the middle of generating: every key that was answered is there and signs, no key is half."""
    program = f"""
import asyncio, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_custodian_sealed as t
from pathlib import Path
async def main():
    custodian = t.open_custodian(Path(sys.argv[1]))
    n = 0
    while True:
        name = sys.argv[2] + "-" + str(n)
        print(name, await t.one_key(custodian, name), flush=True)
        n += 1
asyncio.run(main())
"""
    answered: dict[str, str] = {}
    for number in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path), str(number)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3 + number)]
        process.kill()
        lines += process.stdout.readlines()
        process.wait(30)
        process.stdout.close()
        answered.update(line.split() for line in lines if line.endswith("\n"))
    assert len(answered) >= 20

    async def scenario() -> None:
        custodian = open_custodian(tmp_path)
        for name, public in answered.items():
            assert await custodian.public_key(name) == public
            await verified(custodian, name, b"message")
        await custodian.close()

    asyncio.run(scenario())

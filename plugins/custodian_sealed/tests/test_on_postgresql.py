"""The kit once more, with the tables on a PostgreSQL server and a passphrase over them; and replicas whose keys are sealed anew."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from identity_custodian_sealed import SealedCustodian, SealedSettings, build, processes, resealing
from identity_kit.conformance.custodian import CustodianConformance, verified

from identity_codec import multikey
from identity_core.database import Transaction
from identity_core.plugin import BuildContext
from identity_core.ports.custodian import KeyRefused
from tests.postgres_server import postgres_server, postgres_url  # noqa: F401


class Clock:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    def monotonic(self) -> float:
        return time.monotonic()


@pytest.mark.nightly
class TestSealedOnPostgresql(CustodianConformance):
    @pytest.fixture
    def reopen(self, tmp_path: Path, postgres_url: str) -> Callable[[], SealedCustodian]:  # noqa: F811
        settings = SealedSettings("correct horse", argon2_operations=1, argon2_memory_mib=8)
        context = BuildContext(Clock(), logging.getLogger("identity.sealed"), tmp_path, postgres_url)
        return lambda: build(settings, context)

    @pytest.fixture
    def custodian(self, reopen: Callable[[], SealedCustodian]) -> Iterator[SealedCustodian]:
        custodian = reopen()
        yield custodian
        asyncio.run(custodian.close())


async def generated(custodian: SealedCustodian, *names: str) -> dict[str, str]:
    return {name: await custodian.generate(name, multikey.ED25519, did="did:ids:x", purpose="log") for name in names}


async def check(custodian: SealedCustodian, publics: dict[str, str]) -> None:
    for name, public in publics.items():
        assert await custodian.public_key(name) == public
        await verified(custodian, name, b"message")


@pytest.fixture
def replicas(tmp_path: Path, postgres_url: str) -> Iterator[list[SealedCustodian]]:  # noqa: F811
    """Two, each with its own copy of the master key file, and what a command beside the first opens."""
    folders = [tmp_path / "one", tmp_path / "two"]
    found = []
    for folder in folders:
        folder.mkdir()
        if found:
            shutil.copyfile(folders[0] / "custodian.key", folder / "custodian.key")
        context = BuildContext(Clock(), logging.getLogger("identity.sealed"), folder, postgres_url)
        found.append(build(SealedSettings(), context))
    context = BuildContext(Clock(), logging.getLogger("identity.sealed"), folders[0], postgres_url)
    found.append(build(SealedSettings(), context))
    yield found
    for custodian in found:
        asyncio.run(custodian.close())


def test_replicas_store_on_while_everything_is_sealed_anew(replicas: list[SealedCustodian]) -> None:
    """A row that a replica stores during the rotation is neither refused nor sealed under the old data key."""
    one, two, command = replicas

    async def scenario() -> None:
        publics, ended = await generated(one, "before"), threading.Event()

        def rotate() -> None:
            try:
                for _ in range(5):
                    command.reseal_now(compromised=False)
            finally:
                ended.set()

        rotating, number = asyncio.create_task(asyncio.to_thread(rotate)), 0
        while not ended.is_set():
            both = await asyncio.gather(generated(one, f"one-{number}"), generated(two, f"two-{number}"))
            await two.destroy(f"one-{number}")
            publics |= both[1]
            number += 1
        await rotating
        for custodian in replicas:
            await check(custodian, publics)

    asyncio.run(scenario())


def test_new_master_key_is_with_every_replica_before_it_is_used(
    replicas: list[SealedCustodian], tmp_path: Path
) -> None:
    one, two, command = replicas
    publics = asyncio.run(generated(one, "a", "b"))
    old = (tmp_path / "one" / "custodian.key").read_bytes()
    with pytest.raises(KeyRefused, match="copy it into the data directory of every replica"):
        command.reseal_now(compromised=True)
    asyncio.run(check(two, publics))
    shutil.copyfile(tmp_path / "one" / "custodian-next.key", tmp_path / "two" / "custodian-next.key")
    done = command.reseal_now(compromised=True)
    assert (done.generation, done.has_new_master_key) == (2, True)
    assert "VACUUM FULL custodian_keys, custodian_seal" in done.left_to_do
    for custodian in replicas:
        publics |= asyncio.run(generated(custodian, f"since-{id(custodian)}"))
        asyncio.run(check(custodian, publics))
    for folder in ("one", "two"):
        assert [path.name for path in (tmp_path / folder).glob("*.key")] == ["custodian.key"]
        assert (tmp_path / folder / "custodian.key").read_bytes() != old


@contextlib.contextmanager
def attending(*custodians: SealedCustodian) -> Iterator[None]:
    """Serve within it: each tells that it is there as often as it can, on a loop of its own."""
    stop, told = threading.Event(), threading.Semaphore(0)

    def serve(custodian: SealedCustodian) -> None:
        async def tell() -> None:
            while not stop.is_set():
                await custodian.attend()
                told.release()
                await asyncio.sleep(0.01)

        asyncio.run(tell())

    with ThreadPoolExecutor(len(custodians)) as pool:
        serving = [pool.submit(serve, custodian) for custodian in custodians]
        try:
            for _ in range(2 * len(custodians)):
                assert told.acquire(timeout=30)
            yield
        finally:
            stop.set()
    for one in serving:
        one.result()


def fetch_rows(custodian: SealedCustodian, statement: str) -> list[Any]:
    return custodian._database.read_now(lambda transaction: transaction.execute(statement).fetchall())


@pytest.mark.parametrize("compromised", [False, True])
def test_nothing_is_sealed_anew_while_replica_would_not_open_it(
    replicas: list[SealedCustodian], tmp_path: Path, compromised: bool
) -> None:
    one, two, command = replicas
    publics = asyncio.run(generated(one, "a", "b"))
    next_key, theirs = tmp_path / "one" / "custodian-next.key", tmp_path / "two" / "custodian.key"
    if compromised:
        with pytest.raises(KeyRefused, match="copy it into the data directory"):
            command.reseal_now(compromised=True)
    else:
        # Its disk was exchanged: the key that it works with is in its memory alone.
        kept = theirs.read_bytes()
        theirs.unlink()
    before = (
        fetch_rows(one, "SELECT box FROM custodian_seal"),
        fetch_rows(one, "SELECT name, box FROM custodian_keys ORDER BY name"),
    )
    with attending(one, two):
        assert fetch_rows(one, "SELECT count(*) FROM custodian_processes") == [(2,)]
        with pytest.raises(KeyRefused, match=f"process {os.getpid()} of .* \\(cannot open it\\)") as refusal:
            command.reseal_now(compromised=compromised)
        assert len(refusal.value.details["processes"]) == 1
        assert "copy custodian" in str(refusal.value)
        assert fetch_rows(one, "SELECT count(*) FROM custodian_offer") == [(0,)]
        after = (
            fetch_rows(one, "SELECT box FROM custodian_seal"),
            fetch_rows(one, "SELECT name, box FROM custodian_keys ORDER BY name"),
        )
        assert after == before
        for custodian in replicas:
            asyncio.run(check(custodian, publics))
        if compromised:
            assert next_key.exists()
            shutil.copyfile(next_key, tmp_path / "two" / "custodian-next.key")
        else:
            theirs.write_bytes(kept)
        assert command.reseal_now(compromised=compromised).generation == 2
    for custodian in replicas:
        asyncio.run(check(custodian, publics))


def test_replica_with_old_passphrase_is_named(
    tmp_path: Path,
    postgres_url: str,  # noqa: F811
) -> None:
    def open_custodian(passphrase: str, previous: str | None = None) -> SealedCustodian:
        settings = SealedSettings(passphrase, previous, argon2_operations=1, argon2_memory_mib=8)
        return build(settings, BuildContext(Clock(), logging.getLogger("identity.sealed"), tmp_path, postgres_url))

    behind = open_custodian("first")
    publics = asyncio.run(generated(behind, "a"))
    started, command = open_custodian("second", "first"), open_custodian("second", "first")
    with attending(started):
        with attending(behind), pytest.raises(KeyRefused, match="start each again with the passphrase"):
            command.reseal_now(compromised=True)
        asyncio.run(behind.close())
        assert command.reseal_now(compromised=True).generation == 2
    asyncio.run(check(started, publics))
    for custodian in (started, command):
        asyncio.run(custodian.close())


def test_a_process_that_crashed_counts_until_its_row_is_old(
    replicas: list[SealedCustodian], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, command = replicas
    asyncio.run(generated(one, "a"))
    with attending(two):
        pass
    monkeypatch.setattr(processes, "PATIENCE_SECONDS", 0.2)
    with pytest.raises(KeyRefused, match=r"has not answered.*crashed counts for 30 seconds"):
        command.reseal_now(compromised=False)
    age = "UPDATE custodian_processes SET seen_at = seen_at - 31"
    command._database.write_now(lambda transaction: transaction.execute(age).rowcount)
    assert command.reseal_now(compromised=False).generation == 2
    with attending(one):
        assert fetch_rows(one, "SELECT id FROM custodian_processes") == [(one._attendance.id,)]
    asyncio.run(one.close())
    assert fetch_rows(command, "SELECT count(*) FROM custodian_processes") == [(0,)]


def test_a_process_that_comes_while_it_is_asked_is_asked_too(replicas: list[SealedCustodian], tmp_path: Path) -> None:
    """The new process has its row after the others have answered: the transaction that seals everything anew looks once
    more."""
    one, two, command = replicas
    asyncio.run(generated(one, "a"))

    def late(transaction: Transaction, *of: Any) -> None:
        asyncio.run(two.attend())
        require_opened(transaction, *of)

    require_opened = processes.require_opened
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resealing, "require_opened", late)
        (tmp_path / "two" / "custodian.key").unlink()
        with pytest.raises(KeyRefused, match="cannot open it"):
            command.reseal_now(compromised=False)
    assert fetch_rows(one, "SELECT generation FROM custodian_seal") == [(1,)]
